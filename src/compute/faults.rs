//! What a device reports outside any call: that it was lost, or that something on it went wrong.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
#[cfg(target_arch = "wasm32")]
use std::{
    future::{Future, pending, poll_fn},
    pin::pin,
    task::Poll,
};

use crate::error::{Error, ErrorKind, Result};

/// How long to wait for the news of a loss after the first error that the loss may have caused. The
/// news takes milliseconds, but a device that compiles or computes tells it only after that.
const NEWS: Duration = Duration::from_secs(30);

/// How long to listen on after the device has answered.
#[cfg(target_arch = "wasm32")]
const GRACE: Duration = Duration::from_secs(1);

/// How often a wait for the device looks whether it is still there.
#[cfg(target_arch = "wasm32")]
const WATCH: Duration = Duration::from_millis(250);

/// The first loss and the first fault of a device. They stay, because nothing that ran later can be
/// trusted.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults(Arc<Mutex<Reported>>);

#[derive(Debug, Default)]
struct Reported {
    loss: Option<Error>,
    fault: Option<Error>,
}

impl Faults {
    pub(super) fn report(&self, error: Error) {
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Reported { loss, fault } = &mut *reported;
        let place = if error.kind == ErrorKind::DeviceLost { loss } else { fault };
        place.get_or_insert(error);
    }

    /// Fails if the device is known to be lost.
    pub(super) fn check(&self) -> Result<()> {
        let reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reported.loss.clone().map_or(Ok(()), Err)
    }

    /// Why a call that waited for the device came to `result`: a loss explains everything else, and
    /// a fault everything but a loss. The errors that a loss causes may come before the news of the
    /// loss itself, so no other error is believed before the device had time to tell.
    pub(super) async fn explain<T>(&self, device: &wgpu::Device, result: Result<T>) -> Result<T> {
        self.check()?;
        let fault = self.0.lock().unwrap_or_else(PoisonError::into_inner).fault.clone();
        let error = match (fault, result) {
            (None, Ok(value)) => return Ok(value),
            (Some(error), _) | (None, Err(error)) => error,
        };
        self.listen(device).await?;
        Err(error)
    }

    /// Fails if the device tells that it is lost. Browsers end a map that is under way as soon as its
    /// device is destroyed, but the loss itself is told by the device's own process, in its turn. So
    /// ask that process something: the answer comes after the news.
    #[cfg(target_arch = "wasm32")]
    async fn listen(&self, device: &wgpu::Device) -> Result<()> {
        let question = device.push_error_scope(wgpu::ErrorFilter::Validation).pop();
        self.watch(question, NEWS).await?;
        // Not every browser may keep to that order.
        self.watch(pending::<()>(), GRACE).await?;
        Ok(())
    }

    /// Waits for what the device is to bring, as long as the device is there; `None` after `deadline`.
    #[cfg(target_arch = "wasm32")]
    pub(super) async fn watch<F: Future>(
        &self,
        awaited: F,
        deadline: Duration,
    ) -> Result<Option<F::Output>> {
        let mut awaited = pin!(awaited);
        let mut waited = Duration::ZERO;
        while waited < deadline {
            let mut timer = pin!(crate::platform::sleep(WATCH));
            let next = poll_fn(|context| match awaited.as_mut().poll(context) {
                Poll::Ready(value) => Poll::Ready(Some(value)),
                Poll::Pending => timer.as_mut().poll(context).map(|()| None),
            });
            if let Some(value) = next.await {
                return Ok(Some(value));
            }
            self.check()?;
            waited += WATCH;
        }
        Ok(None)
    }

    /// Fails if the device tells that it is lost.
    #[cfg(not(target_arch = "wasm32"))]
    async fn listen(&self, device: &wgpu::Device) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(NEWS) };
        // Polling brings the news; that it fails on a lost device is no news.
        drop(device.poll(wait));
        self.check()
    }
}
