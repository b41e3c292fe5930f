//! What a device reports outside any call: its loss, or a fault.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
#[cfg(target_arch = "wasm32")]
use std::{
    future::{Future, pending, poll_fn},
    pin::pin,
    task::Poll,
};

use crate::error::{Error, ErrorKind, Result};

/// How long to wait for the report of a loss after the first error that the loss may have caused. The
/// report takes milliseconds, but a device that is compiling or computing sends it only afterwards.
const NEWS: Duration = Duration::from_secs(30);

/// How long to keep listening after the device has replied.
#[cfg(target_arch = "wasm32")]
const GRACE: Duration = Duration::from_secs(1);

/// How often a wait for the device checks that the device still exists.
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

    /// Explains the `result` of a call that waited for the device: a loss explains everything else, and a
    /// fault everything but a loss. The errors that a loss causes may arrive before the report of the loss,
    /// so no other error is believed until the device has had time to report one.
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

    /// Fails if the device reports that it is lost. Browsers end a pending map as soon as its device is
    /// destroyed, but the device's own process reports the loss, in its own time. So send that process a
    /// request: its reply comes after the report.
    #[cfg(target_arch = "wasm32")]
    async fn listen(&self, device: &wgpu::Device) -> Result<()> {
        let question = device.push_error_scope(wgpu::ErrorFilter::Validation).pop();
        self.watch(question, NEWS).await?;
        // Not every browser may keep to that order.
        self.watch(pending::<()>(), GRACE).await?;
        Ok(())
    }

    /// Waits for a result of the device while the device exists; returns `None` after `deadline`.
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

    /// Fails if the device reports that it is lost.
    #[cfg(not(target_arch = "wasm32"))]
    async fn listen(&self, device: &wgpu::Device) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(NEWS) };
        // Polling delivers the report. Polling itself fails on a lost device, which says nothing new.
        drop(device.poll(wait));
        self.check()
    }
}
