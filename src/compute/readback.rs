//! Reading a GPU buffer, with a deadline: a lost device may never settle a map.

use std::time::Duration;

use futures_channel::oneshot;

use super::faults::Faults;
use super::gpu::OwnBuffer;
use crate::error::{Error, ErrorKind, Result};

/// Copies `source` to a mappable buffer, maps it and returns its words.
pub(super) async fn read(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    source: &wgpu::Buffer,
    faults: &Faults,
    deadline: Duration,
) -> Result<Vec<u32>> {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let staging = OwnBuffer::new(device, "readback", source.size(), usage);
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(source, 0, &staging, 0, source.size());
    queue.submit([encoder.finish()]);
    let (sender, receiver) = oneshot::channel();
    staging.map_async(wgpu::MapMode::Read, .., move |result| {
        // The receiver is gone only if the caller gave up waiting.
        drop(sender.send(result));
    });
    within(device, receiver, faults, deadline).await?.map_err(|error| {
        Error::new(ErrorKind::Gpu, format!("Reading from the GPU failed: {error}"), "Try again")
    })?;
    let view = staging.get_mapped_range(..).map_err(|error| {
        Error::new(ErrorKind::Gpu, format!("Reading from the GPU failed: {error}"), "Try again")
    })?;
    let words = bytemuck::pod_collect_to_vec(&view);
    drop(view);
    staging.unmap();
    Ok(words)
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
    // Who does not wait at all is not answered, also where a driver in software has done the work.
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
