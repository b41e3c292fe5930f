//! The GPU engine: a loaded program is pipelines, bind groups and buffers, all made once; running it
//! encodes dispatches and nothing else.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wgpu::BufferUsages;

use super::control::Control;
use super::faults::Faults;
use super::program::{
    Access, Buffer, Kernel, MAX_BINDINGS, MAX_PARAMS, Profile, Program, Routine, Scope, Stage,
};
use super::readback;
use super::tile::Tile;
use crate::error::{Error, ErrorKind, Result};

/// Uniform bindings start at multiples of this: WebGPU's portable alignment.
const UNIFORM_ALIGN: usize = 256;

/// Most dispatches in one submit; a driver's watchdog and the reader's desktop both mind long ones.
const DISPATCHES_PER_SUBMIT: usize = 4096;

/// A GPU device.
#[derive(Debug, Clone)]
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    faults: Faults,
    pipelines: Arc<Mutex<Vec<Pipeline>>>,
    tile: Tile,
}

/// A kernel, compiled with some constants.
#[derive(Debug, Clone)]
struct Pipeline {
    kernel: &'static str,
    constants: Vec<(&'static str, u32)>,
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl Pipeline {
    fn is_of(&self, stage: &Stage) -> bool {
        self.kernel == stage.kernel.name && self.constants == stage.constants
    }
}

impl Gpu {
    /// Opens the fastest adapter that there is.
    pub async fn open() -> Result<Self> {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        let instance = wgpu::Instance::new(descriptor);
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = instance.request_adapter(&options).await.map_err(|error| {
            // In a page the error only lists the native drivers that a page never has.
            let message = if cfg!(target_arch = "wasm32") {
                "This browser offers no WebGPU adapter".to_owned()
            } else {
                format!("No GPU adapter: {error}")
            };
            Error::new(
                ErrorKind::NoAdapter,
                message,
                "The CPU engine computes the same numbers; for the GPU use a browser with WebGPU",
            )
        })?;
        let available = adapter.limits();
        let required_limits = wgpu::Limits {
            max_buffer_size: available.max_buffer_size,
            max_storage_buffer_binding_size: available.max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("hidden-gaussian"),
            required_limits: required_limits.or_worse_values_from(&available),
            ..Default::default()
        };
        let (device, queue) = adapter.request_device(&descriptor).await.map_err(|error| {
            Error::new(
                ErrorKind::NoAdapter,
                format!("The GPU adapter gave no device: {error}"),
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
        Ok(Self { device, queue, info, faults, pipelines, tile: Tile::default() })
    }

    /// The same device with another matrix multiply tile.
    #[must_use]
    pub fn with_tile(self, tile: Tile) -> Self {
        Self { tile, ..self }
    }

    /// The adapter's name, as far as the browser or driver tells it.
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
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// What the device can take.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let limits = self.device.limits();
        let in_software = self.tile == Tile::SOFTWARE;
        Profile {
            max_buffer_bytes: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            tile: self.tile,
            // In software a thread that waits is a stack that is put aside: one vector of threads
            // has to do.
            row_threads: if in_software { 4 } else { 64 },
            // Two are enough to keep its threads busy. All at once, eight of the larger networks
            // cost 8.5 times as much as one: no weights would be in the cache when they are needed.
            members_at_once: if in_software { 2 } else { usize::MAX },
            ..Profile::default()
        }
    }

    /// The device itself, for those who share it. Its errors come out of our calls.
    #[must_use]
    pub const fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Destroys the device, as a driver reset would: everything on it is lost.
    pub fn destroy(&self) {
        self.device.destroy();
    }

    fn pipeline(&self, stage: &Stage) -> Pipeline {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        // There are some dozens: searched faster than hashed.
        if let Some(known) = pipelines.iter().find(|pipeline| pipeline.is_of(stage)) {
            return known.clone();
        }
        let compiled = self.compile(stage.kernel, &stage.constants);
        pipelines.push(compiled.clone());
        compiled
    }

    /// Makes the pipelines of `program` anew when they are next asked for: one of them is invalid.
    fn forget_pipelines(&self, program: &Program) {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        let stages = || program.routines().flat_map(|(_, stages)| stages);
        pipelines.retain(|pipeline| !stages().any(|stage| pipeline.is_of(stage)));
    }

    fn compile(&self, kernel: &'static Kernel, constants: &[(&'static str, u32)]) -> Pipeline {
        let label = Some(kernel.name);
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(kernel.source(constants).into()),
        });
        let uniforms = [wgpu::BufferBindingType::Uniform; 2].into_iter();
        let storage = kernel.bindings.iter().map(|(_, access)| wgpu::BufferBindingType::Storage {
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
        Pipeline { kernel: kernel.name, constants: constants.to_vec(), layout, pipeline }
    }
}

fn gpu_error(error: &wgpu::Error) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::new(
            ErrorKind::Gpu,
            "The GPU is out of memory",
            "Use fewer images, fewer members or a smaller batch",
        ),
        other => {
            Error::new(ErrorKind::Gpu, format!("The GPU reported: {other}"), "Use the CPU engine")
        }
    }
}

/// A buffer whose memory is given back when it is dropped. In a browser wgpu leaves that to the garbage
/// collector, which does not see how much of the GPU's memory so small an object holds.
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
        // What was submitted before is still done.
        self.0.destroy();
    }
}

/// A stage, ready to dispatch.
#[derive(Debug)]
struct Dispatch {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    workgroups: [u32; 3],
}

/// A routine, ready to run.
#[derive(Debug)]
struct LoadedRoutine {
    stages: Vec<Dispatch>,
    /// Their parameters, which the bind groups refer to.
    _uniforms: OwnBuffer,
}

/// A program with its buffers on a GPU.
#[derive(Debug)]
pub struct GpuProgram {
    gpu: Gpu,
    program: Program,
    control: Control,
    buffers: Vec<OwnBuffer>,
    routines: Vec<LoadedRoutine>,
    /// Stages that are submitted at a time where the work can be cancelled in between.
    #[cfg(not(target_arch = "wasm32"))]
    piece: usize,
}

/// How long a piece should take: a device cannot be told to forget what was submitted.
#[cfg(not(target_arch = "wasm32"))]
const PIECE: std::ops::Range<Duration> = Duration::from_millis(15)..Duration::from_millis(60);

impl GpuProgram {
    pub(super) async fn new(gpu: &Gpu, program: Program, control: Control) -> Result<Self> {
        gpu.faults.check()?;
        let validation = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = gpu.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = gpu.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let buffers = program.buffers().iter().map(|info| {
            let size = 4 * (info.buffer.len() * copies(&program, info.buffer)) as u64;
            let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
            OwnBuffer::new(&gpu.device, &info.name, size, usage)
        });
        let buffers: Vec<_> = buffers.collect();
        // Compiling is what takes the time.
        for stage in program.routines().flat_map(|(_, stages)| stages) {
            control.check()?;
            gpu.pipeline(stage);
        }
        let routines =
            program.routines().map(|(name, stages)| routine(gpu, &program, &buffers, name, stages));
        let routines = routines.collect();
        // All are popped before any is waited for: others may push theirs meanwhile.
        let popped = [internal.pop(), memory.pop(), validation.pop()];
        let mut result = Ok(());
        for error in popped {
            if let Some(error) = error.await {
                result = result.and(Err(gpu_error(&error)));
            }
        }
        if result.is_err() {
            gpu.forget_pipelines(&program);
        }
        gpu.faults.explain(&gpu.device, result).await?;
        Ok(Self {
            gpu: gpu.clone(),
            program,
            control,
            buffers,
            routines,
            #[cfg(not(target_arch = "wasm32"))]
            piece: 16,
        })
    }

    pub(super) const fn program(&self) -> &Program {
        &self.program
    }

    pub(super) const fn control(&self) -> &Control {
        &self.control
    }

    pub(super) fn write(
        &self,
        buffer: Buffer,
        member: usize,
        offset: usize,
        words: &[u32],
    ) -> Result<()> {
        self.gpu.faults.check()?;
        let target = self.handle(buffer)?;
        let start = 4 * (member * buffer.len() + offset) as u64;
        self.gpu.queue.write_buffer(target, start, bytemuck::cast_slice(words));
        Ok(())
    }

    fn handle(&self, buffer: Buffer) -> Result<&wgpu::Buffer> {
        let found = self.buffers.get(buffer.id);
        found.map(Deref::deref).ok_or_else(|| Error::internal("No such buffer in this program"))
    }

    pub(super) fn run(&self, routine: Routine, times: u32) -> Result<()> {
        let stages = self.stages(routine)?;
        let per_submit = (DISPATCHES_PER_SUBMIT / stages.len().max(1)).max(1) as u32;
        let mut left = times;
        while left > 0 {
            let now = left.min(per_submit);
            // Several only if one time alone is too long, and then it is one time.
            stages.chunks(DISPATCHES_PER_SUBMIT).for_each(|some| self.submit(some, now));
            left -= now;
        }
        Ok(())
    }

    /// The same, and waits for it; but it can be cancelled between stages.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) async fn run_interruptible(&mut self, routine: Routine, times: u32) -> Result<()> {
        for _ in 0..times {
            let mut done = 0;
            while done < self.stages(routine)?.len() {
                self.control.check()?;
                let left = &self.stages(routine)?[done..];
                let now = self.piece.min(left.len());
                let start = std::time::Instant::now();
                self.submit(&left[..now], 1);
                self.finish(super::READ_DEADLINE).await?;
                done += now;
                let took = start.elapsed();
                if took > PIECE.end {
                    self.piece = now.div_ceil(2);
                } else if took < PIECE.start && now == self.piece {
                    self.piece = now.saturating_mul(2);
                }
            }
        }
        self.control.check()
    }

    fn stages(&self, routine: Routine) -> Result<&[Dispatch]> {
        self.gpu.faults.check()?;
        let routine = self.routines.get(routine.0);
        let stages = routine.map(|routine| routine.stages.as_slice());
        stages.ok_or_else(|| Error::internal("No such routine in this program"))
    }

    fn submit(&self, stages: &[Dispatch], times: u32) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for _ in 0..times {
                for stage in stages {
                    pass.set_pipeline(&stage.pipeline);
                    pass.set_bind_group(0, &stage.bind_group, &[]);
                    let [x, y, z] = stage.workgroups;
                    pass.dispatch_workgroups(x, y, z);
                }
            }
        }
        self.gpu.queue.submit([encoder.finish()]);
    }

    /// Waits until everything that was submitted is done.
    pub(super) async fn finish(&self, deadline: Duration) -> Result<()> {
        let Some(smallest) = self.program.buffers().iter().min_by_key(|info| info.buffer.len())
        else {
            return Ok(());
        };
        // Reading a few bytes waits for all that came before: the one wait that both wgpu's native
        // backends and browsers honour.
        self.read(smallest.buffer, deadline).await.map(drop)
    }

    pub(super) async fn read(&self, buffer: Buffer, deadline: Duration) -> Result<Vec<u32>> {
        self.gpu.faults.check()?;
        let source = self.handle(buffer)?;
        let Gpu { device, queue, faults, .. } = &self.gpu;
        let words = readback::read(device, queue, source, faults, deadline).await;
        faults.explain(device, words).await
    }
}

fn copies(program: &Program, buffer: Buffer) -> usize {
    if buffer.scope() == Scope::Member { program.members() } else { 1 }
}

/// Bind groups for the stages of a routine, their uniforms side by side in one buffer. Where not all
/// members are dispatched at once, those of one dispatch do the whole routine, and then the next.
fn routine(
    gpu: &Gpu,
    program: &Program,
    buffers: &[OwnBuffer],
    name: &str,
    stages: &[Stage],
) -> LoadedRoutine {
    let (members, at_once) = (program.members(), program.profile().members_at_once.max(1));
    let groups = (0..members).step_by(at_once);
    let plan: Vec<(usize, &Stage)> =
        groups.flat_map(|first| stages.iter().map(move |stage| (first, stage))).collect();
    let slot = UNIFORM_ALIGN / 4;
    let mut words = vec![0_u32; 2 * slot * plan.len().max(1)];
    for ((first, stage), words) in plan.iter().zip(words.chunks_exact_mut(2 * slot)) {
        for (i, binding) in stage.bindings.iter().enumerate() {
            let buffer = binding.view.buffer;
            let stride = if buffer.scope() == Scope::Member { buffer.len() } else { 0 };
            words[i] = (binding.view.offset + first * stride) as u32;
            words[MAX_BINDINGS + i] = stride as u32;
        }
        words[slot..slot + MAX_PARAMS].copy_from_slice(&stage.params);
    }
    let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
    let uniforms = OwnBuffer::new(&gpu.device, name, 4 * words.len() as u64, usage);
    gpu.queue.write_buffer(&uniforms, 0, bytemuck::cast_slice(&words));
    let dispatch = |(index, &(first, stage)): (usize, &(usize, &Stage))| {
        let Pipeline { layout, pipeline, .. } = gpu.pipeline(stage);
        let uniform = |half: usize| {
            wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &uniforms,
                offset: ((2 * index + half) * UNIFORM_ALIGN) as u64,
                size: std::num::NonZeroU64::new(UNIFORM_ALIGN as u64),
            })
        };
        let storage = stage.bindings.iter().map(|b| buffers[b.view.buffer.id].as_entire_binding());
        let entries: Vec<_> = [uniform(0), uniform(1)]
            .into_iter()
            .chain(storage)
            .enumerate()
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource })
            .collect();
        let label = Some(stage.kernel.name);
        let bind_group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &layout,
            entries: &entries,
        });
        let [x, y] = stage.workgroups;
        let z = at_once.min(members - first) as u32;
        Dispatch { pipeline, bind_group, workgroups: [x, y, z] }
    };
    let stages = plan.iter().enumerate().map(dispatch).collect();
    LoadedRoutine { stages, _uniforms: uniforms }
}
