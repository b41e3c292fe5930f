//! A GPU device and the kernels compiled for it.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use wgpu::BufferUsages;

use super::completion;
use super::faults::Faults;
use super::pack::{Pack, PackKey};
use super::program::{Access, Profile};
use super::simulation::Simulation;
use super::tile::Tile;
use crate::error::{Error, ErrorKind, Result};

/// A GPU device.
#[derive(Debug, Clone)]
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    pub(super) faults: Faults,
    pipelines: Arc<Mutex<Vec<Pipeline>>>,
    pub(super) completion: wgpu::ComputePipeline,
    tile: Tile,
    pub(super) simulation: Simulation,
}

/// A pack of kernels, compiled with some constants.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    key: PackKey,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) pipeline: wgpu::ComputePipeline,
}

impl Gpu {
    /// Opens the fastest adapter available.
    pub async fn open() -> Result<Self> {
        Self::simulated(Simulation::default()).await
    }

    /// Opens the fastest adapter, or simulates another device for tests.
    #[doc(hidden)]
    pub async fn simulated(simulation: Simulation) -> Result<Self> {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        let instance = wgpu::Instance::new(descriptor);
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = instance.request_adapter(&options).await.map_err(|error| {
            // In a page, the error only lists native drivers, which no page has.
            let message = if cfg!(target_arch = "wasm32") {
                "This browser offers no WebGPU adapter".to_owned()
            } else {
                format!("No GPU adapter: {error}")
            };
            Error::new(
                ErrorKind::NoAdapter,
                message,
                "Use the CPU engine, which computes the same numbers, or a browser with WebGPU",
            )
        })?;
        let available = adapter.limits();
        let required_limits = wgpu::Limits {
            max_buffer_size: available.max_buffer_size,
            max_storage_buffer_binding_size: available.max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        let mut required_limits = required_limits.or_worse_values_from(&available);
        if let Some(limits) = &simulation.limits {
            required_limits = required_limits.or_worse_values_from(limits);
        }
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("hidden-gaussian"),
            required_limits,
            ..Default::default()
        };
        let (device, queue) = adapter.request_device(&descriptor).await.map_err(|error| {
            Error::new(
                ErrorKind::NoAdapter,
                format!("The GPU adapter provided no device: {error}"),
                "Reload the page, or use the CPU engine",
            )
        })?;
        let faults = Faults::default();
        let uncaptured = faults.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            uncaptured.report(gpu_error(&error));
        }));
        let lost = faults.clone();
        device.set_device_lost_callback(move |_, message| {
            lost.report(Error::new(
                ErrorKind::DeviceLost,
                format!("The GPU device was lost: {message}"),
                "Resume from the last checkpoint on a new device or on the CPU engine",
            ));
        });
        let info = adapter.get_info();
        let pipelines = Arc::default();
        let completion = completion::pipeline(&device);
        let tile = Tile::default();
        Ok(Self { device, queue, info, faults, pipelines, completion, tile, simulation })
    }

    /// Returns the same device with another tile for matrix multiplies.
    #[must_use]
    pub fn with_tile(self, tile: Tile) -> Self {
        Self { tile, ..self }
    }

    /// The adapter's name, if the browser or driver reports it.
    #[must_use]
    pub fn adapter(&self) -> String {
        let wgpu::AdapterInfo { name, backend, .. } = &self.info;
        let backend = match backend {
            wgpu::Backend::BrowserWebGpu => "WebGPU".to_owned(),
            other => other.to_string(),
        };
        if name.is_empty() { backend } else { format!("{name} ({backend})") }
    }

    /// Whether the adapter computes on the CPU, so that our own CPU engine is likely faster.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu && !self.simulation.hardware
    }

    /// The limits of the device, and the kernel variants that suit it.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let limits = self.device.limits();
        let in_software = self.tile == Tile::SOFTWARE;
        Profile {
            max_buffer_bytes: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            max_threads: limits.max_compute_invocations_per_workgroup,
            tile: self.tile,
            // In software, a waiting thread is a stack that is put aside, so a row gets only one vector of
            // threads.
            row_threads: if in_software { 4 } else { 64 },
            sharers: if in_software { 1 } else { 4 },
            hardware: !in_software,
            packs: !in_software,
            // Two members keep its threads busy. Eight members of the larger networks at once cost 8.5 times
            // as much as one, because no weights are still in the cache when they are needed.
            members_at_once: if in_software { 2 } else { usize::MAX },
            ..Profile::default()
        }
    }

    /// The wgpu device, for code that shares it. Errors of that code are reported by our calls.
    #[must_use]
    pub const fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Destroys the device, as a driver reset would: everything on it is lost.
    pub fn destroy(&self) {
        self.device.destroy();
    }

    pub(super) fn pipeline(&self, pack: &Pack<'_>) -> Pipeline {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        let key = pack.key();
        // There are a few dozen: searching is faster than hashing.
        if let Some(known) = pipelines.iter().find(|pipeline| pipeline.key == key) {
            return known.clone();
        }
        let compiled = self.compile(pack, key);
        pipelines.push(compiled.clone());
        compiled
    }

    /// Forgets the pipelines of `packs`, one of which is invalid, so that they are created anew.
    pub(super) fn forget_pipelines<'a>(&self, packs: impl Iterator<Item = &'a Pack<'a>>) {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        for pack in packs {
            let key = pack.key();
            pipelines.retain(|pipeline| pipeline.key != key);
        }
    }

    fn compile(&self, pack: &Pack<'_>, key: PackKey) -> Pipeline {
        let name = pack.name();
        let label = Some(name.as_str());
        let rewrite = self.simulation.rewrite.unwrap_or(|_, source| source);
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(pack.source(rewrite).into()),
        });
        let uniforms = (0..pack.uniform_buffers()).map(|_| wgpu::BufferBindingType::Uniform);
        let buffers = pack.buffers();
        let storage = buffers.iter().map(|(_, access)| wgpu::BufferBindingType::Storage {
            read_only: *access == Access::Read,
        });
        let entries: Vec<_> = uniforms
            .chain(storage)
            .enumerate()
            .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
                binding: binding as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label,
            entries: &entries,
        });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Pipeline { key, layout, pipeline }
    }
}

pub(super) fn gpu_error(error: &wgpu::Error) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::new(
            ErrorKind::Gpu,
            "The GPU is out of memory",
            "Use fewer images, fewer members or a smaller batch",
        ),
        other => Error::new(
            ErrorKind::Gpu,
            format!("The GPU reported an error: {other}"),
            "Use the CPU engine",
        ),
    }
}

/// A buffer whose memory is released when it is dropped. In a browser, wgpu leaves that to the garbage
/// collector, which does not see how much GPU memory such a small object holds.
#[derive(Debug)]
pub(super) struct OwnBuffer(wgpu::Buffer);

impl OwnBuffer {
    pub(super) fn new(device: &wgpu::Device, label: &str, size: u64, usage: BufferUsages) -> Self {
        let (label, mapped_at_creation) = (Some(label), false);
        let descriptor = wgpu::BufferDescriptor { label, size, usage, mapped_at_creation };
        Self(device.create_buffer(&descriptor))
    }
}

impl Deref for OwnBuffer {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.0
    }
}

impl Drop for OwnBuffer {
    fn drop(&mut self) {
        // Work submitted before is still done.
        self.0.destroy();
    }
}
