//! A wish to pause or to stop, told to work that is under way.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, ErrorKind, Result};

const RUNNING: u8 = 0;
const PAUSED: u8 = 1;
const CANCELLED: u8 = 2;

/// Tells long work to pause or to stop, from any thread. Clones tell the same work.
///
/// What is loaded while a future is under [`watch`](Self::watch) hears of that control; what is loaded
/// elsewhere has one of its own. Work that is stopped ends with [`ErrorKind::Cancelled`], and so does
/// all that is asked for later, until [`resume`](Self::resume).
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<AtomicU8>);

thread_local!(static CURRENT: RefCell<Option<Control>> = const { RefCell::new(None) });

impl Control {
    /// Stops the work: natively within 200 ms, but for what cannot be divided.
    pub fn cancel(&self) {
        self.0.store(CANCELLED, Ordering::Relaxed);
    }

    /// Makes training return early, with the steps that it has done. What is cancelled stays so.
    pub fn pause(&self) {
        // It fails where it has nothing to change.
        let _ = self.0.compare_exchange(RUNNING, PAUSED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes back that the work was paused or cancelled.
    pub fn resume(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// Whether training is to pause.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PAUSED
    }

    /// Whether the work is to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == CANCELLED
    }

    /// Fails if the work is to stop.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "It was stopped", ""));
        }
        Ok(())
    }

    /// Does `work`, all of which hears of this control.
    pub async fn watch<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let before = CURRENT.replace(Some(self.clone()));
            let polled = work.as_mut().poll(context);
            CURRENT.set(before);
            polled
        })
        .await
    }

    /// That of the work on this thread, if it is watched.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
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

    #[test]
    #[cfg(not(target_arch = "wasm32"))]
    fn work_knows_its_control() {
        let (outer, inner) = (Control::default(), Control::default());
        let same = |a: &Control| Control::current().is_some_and(|b| Arc::ptr_eq(&a.0, &b.0));
        pollster::block_on(outer.watch(async {
            assert!(same(&outer));
            inner.watch(async { assert!(same(&inner)) }).await;
            assert!(same(&outer));
        }));
        assert!(Control::current().is_none());
    }
}
