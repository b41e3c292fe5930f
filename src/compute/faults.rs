//! What a device reports outside any call: that it was lost, or that something on it went wrong.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// How long the news of a loss may take after the first error that the loss causes. Milliseconds in
/// practice; a busy machine takes longer.
const NEWS: Duration = Duration::from_secs(1);

/// How often to look for news.
#[cfg(target_arch = "wasm32")]
const TICK: Duration = Duration::from_millis(10);

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

    /// Fails if the device tells that it is lost.
    #[cfg(target_arch = "wasm32")]
    async fn listen(&self, _device: &wgpu::Device) -> Result<()> {
        let mut waited = Duration::ZERO;
        while waited < NEWS {
            crate::web::sleep(TICK).await;
            self.check()?;
            waited += TICK;
        }
        Ok(())
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
