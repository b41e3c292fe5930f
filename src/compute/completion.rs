//! Whether a device has done what was submitted. Some drivers kill a command buffer that takes too long
//! and continue as if it were done; what is read then is stale. So the last dispatch of every submit
//! increments a counter, and every readback includes it.

use std::sync::atomic::{AtomicU32, Ordering};

use wgpu::BufferUsages;

use super::gpu::OwnBuffer;
use crate::error::{Error, ErrorKind, Result};

const COUNT: &str = "@group(0) @binding(0) var<storage, read_write> done: u32;
@compute @workgroup_size(1) fn main() { done += 1u; }";

/// Creates the pipeline that counts.
pub(super) fn pipeline(device: &wgpu::Device) -> wgpu::ComputePipeline {
    let label = Some("completion");
    let source = wgpu::ShaderSource::Wgsl(COUNT.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}

/// The submits of a program: how many there were, and how many the device has done.
#[derive(Debug)]
pub(super) struct Completion {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    done: OwnBuffer,
    submitted: AtomicU32,
}

/// Size of the counter in bytes.
pub(super) const COUNT_BYTES: u64 = 4;

impl Completion {
    pub(super) fn new(device: &wgpu::Device, pipeline: &wgpu::ComputePipeline) -> Self {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let done = OwnBuffer::new(device, "submits done", COUNT_BYTES, usage);
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("completion"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: done.as_entire_binding() }],
        });
        Self { pipeline: pipeline.clone(), bind_group, done, submitted: AtomicU32::new(0) }
    }

    /// Ends the pass of a submit, and returns its number.
    pub(super) fn end(&self, pass: &mut wgpu::ComputePass<'_>) -> u32 {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        self.submitted.fetch_add(1, Ordering::Relaxed)
    }

    /// Copies the counter, for [`check`](Self::check), and returns the value that it must reach.
    pub(super) fn copy(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        to: &wgpu::Buffer,
        offset: u64,
    ) -> u32 {
        encoder.copy_buffer_to_buffer(&self.done, 0, to, offset, COUNT_BYTES);
        self.submitted.load(Ordering::Relaxed)
    }
}

/// Fails if the device has dropped a submit.
pub(super) fn check(done: u32, submitted: u32) -> Result<()> {
    if done == submitted {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::DeviceLost,
        format!("The GPU completed only {done} of {submitted} submits and reported no error"),
        "Resume from the last checkpoint on a new device or on the CPU engine",
    ))
}
