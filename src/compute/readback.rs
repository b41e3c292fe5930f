//! Reading a GPU buffer with a deadline: a lost device may never settle a map.

use std::time::Duration;

use futures_channel::oneshot;

use super::completion::{COUNT_BYTES, Completion, check};
use super::faults::Faults;
use super::gpu::{Gpu, OwnBuffer};
use crate::error::{Error, ErrorKind, Result};

/// A readback in flight.
pub(super) struct Ticket {
    staging: OwnBuffer,
    mapped: oneshot::Receiver<Result<(), wgpu::BufferAsyncError>>,
    /// Number of submits before the readback.
    submitted: u32,
}

/// Starts copying `source`, if given, and the count of completed submits to a mappable buffer.
pub(super) fn ask(gpu: &Gpu, source: Option<&wgpu::Buffer>, completion: &Completion) -> Ticket {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let size = source.map_or(0, wgpu::Buffer::size);
    let staging = OwnBuffer::new(&gpu.device, "readback", size + COUNT_BYTES, usage);
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    if let Some(source) = source {
        encoder.copy_buffer_to_buffer(source, 0, &staging, 0, size);
    }
    let submitted = completion.copy(&mut encoder, &staging, size);
    gpu.queue.submit([encoder.finish()]);
    let (sender, mapped) = oneshot::channel();
    staging.map_async(wgpu::MapMode::Read, .., move |result| {
        // The receiver is gone only if the caller gave up waiting.
        drop(sender.send(result));
    });
    Ticket { staging, mapped, submitted }
}

impl Ticket {
    /// Returns the words of the source, once everything submitted before is done.
    pub(super) async fn answer(self, gpu: &Gpu, deadline: Duration) -> Result<Vec<u32>> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Gpu, format!("Reading from the GPU failed: {error}"), "Try again")
        };
        let mapped = within(&gpu.device, self.mapped, &gpu.faults, deadline).await?;
        mapped.map_err(|error| failed(&error))?;
        let view = self.staging.get_mapped_range(..).map_err(|error| failed(&error))?;
        let mut words: Vec<u32> = bytemuck::pod_collect_to_vec(&view);
        drop(view);
        self.staging.unmap();
        let done = words.pop().unwrap_or_default();
        check(done, self.submitted)?;
        Ok(words)
    }
}

fn timeout() -> Error {
    Error::new(
        ErrorKind::Timeout,
        "The GPU did not finish in time",
        "Its driver may be busy or reset; try again or use the CPU engine",
    )
}

fn dropped() -> Error {
    Error::new(ErrorKind::DeviceLost, "The GPU dropped a readback", "Use a new device")
}

#[cfg(not(target_arch = "wasm32"))]
async fn within<T>(
    device: &wgpu::Device,
    receiver: oneshot::Receiver<T>,
    _faults: &Faults,
    deadline: Duration,
) -> Result<T> {
    // A zero deadline always times out, even if a software driver has already finished.
    if deadline.is_zero() {
        return Err(timeout());
    }
    let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(deadline) };
    device.poll(wait).map_err(|_| timeout())?;
    receiver.await.map_err(|_| dropped())
}

#[cfg(target_arch = "wasm32")]
async fn within<T>(
    _device: &wgpu::Device,
    receiver: oneshot::Receiver<T>,
    faults: &Faults,
    deadline: Duration,
) -> Result<T> {
    faults.watch(receiver, deadline).await?.ok_or_else(timeout)?.map_err(|_| dropped())
}
