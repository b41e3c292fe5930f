//! A handle that pauses or cancels running work from another thread, and bounds the length of its pieces.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::platform;

const RUNNING: u8 = 0;
const PAUSED: u8 = 1;
const CANCELLED: u8 = 2;

/// How long a GPU is kept busy at a time.
const SLICE: Duration = Duration::from_millis(50);
/// How long a GPU is kept busy at a time while a reader interacts: the time of a frame.
const FRAME: Duration = Duration::from_millis(16);

/// Pauses or cancels work, from any thread. Clones control the same work.
///
/// Pass it to an [`Engine`](super::Engine::with_control): every program that this engine loads obeys
/// it. Cancelled work ends with [`ErrorKind::Cancelled`], and so does everything started later, until
/// [`resume`](Self::resume).
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<State>);

#[derive(Debug, Default)]
struct State {
    work: AtomicU8,
    interactive: AtomicBool,
}

impl Control {
    /// Cancels the work: natively within 200 ms, unless a single stage takes longer.
    pub fn cancel(&self) {
        self.0.work.store(CANCELLED, Ordering::Relaxed);
    }

    /// Makes training return early, after the steps that it has done. Cancelled work stays cancelled.
    pub fn pause(&self) {
        // If the work is not running, nothing changes.
        let _ = self.0.work.compare_exchange(RUNNING, PAUSED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Undoes a pause or a cancel.
    pub fn resume(&self) {
        self.0.work.store(RUNNING, Ordering::Relaxed);
    }

    /// Sets whether a reader interacts. A GPU may have to draw the page as well, so it is then kept busy for
    /// at most a frame at a time.
    pub fn set_interactive(&self, interactive: bool) {
        self.0.interactive.store(interactive, Ordering::Relaxed);
    }

    /// How long to keep a GPU busy at a time.
    #[must_use]
    pub fn slice(&self) -> Duration {
        if self.0.interactive.load(Ordering::Relaxed) { FRAME } else { SLICE }
    }

    /// Whether training should pause.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.work.load(Ordering::Relaxed) == PAUSED
    }

    /// Whether the work should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.work.load(Ordering::Relaxed) == CANCELLED
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
    fn pieces_are_shorter_while_a_reader_interacts() {
        let control = Control::default();
        assert_eq!(control.slice(), SLICE);
        control.clone().set_interactive(true);
        assert_eq!(control.slice(), FRAME);
        control.set_interactive(false);
        assert_eq!(control.slice(), SLICE);
    }

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
