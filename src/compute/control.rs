//! A handle that pauses or cancels running work from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::platform;

const RUNNING: u8 = 0;
const PAUSED: u8 = 1;
const CANCELLED: u8 = 2;

/// Pauses or cancels work, from any thread. Clones control the same work.
///
/// Give it to an [`Engine`](super::Engine::with_control): every program which that engine loads obeys
/// it. Cancelled work ends with [`ErrorKind::Cancelled`], and so does everything that is started
/// later, until [`resume`](Self::resume).
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<AtomicU8>);

impl Control {
    /// Cancels the work: natively within 200 ms, unless a single stage takes longer.
    pub fn cancel(&self) {
        self.0.store(CANCELLED, Ordering::Relaxed);
    }

    /// Makes training return early, with the steps that it has done. Cancelled work stays cancelled.
    pub fn pause(&self) {
        // If the work is not running, there is nothing to change.
        let _ = self.0.compare_exchange(RUNNING, PAUSED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Undoes a pause or a cancel.
    pub fn resume(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// Whether training should pause.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PAUSED
    }

    /// Whether the work should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == CANCELLED
    }

    /// Fails if the work is cancelled.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "The work was cancelled", ""));
        }
        Ok(())
    }

    /// Lets other tasks run; fails if the work is cancelled.
    pub async fn yield_now(&self) -> Result<()> {
        platform::yield_now().await;
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_outlasts_pausing() {
        let control = Control::default();
        control.pause();
        assert!(control.is_paused() && control.check().is_ok());
        control.clone().cancel();
        control.pause();
        assert_eq!(control.check().unwrap_err().kind, ErrorKind::Cancelled);
        control.resume();
        assert!(!control.is_paused() && control.check().is_ok());
    }
}
