//! Long work on a thread that others wait for: in a page it lets them in now and then.
//!
//! A page's worker hears of a wish to stop only between two tasks. So what may take long pauses for
//! a task whenever it has held the thread for [`HOLD`] (an ensemble in training: for longer, see
//! `train::session`). Natively, another thread tells it (see
//! [`Control`](super::Control)), and there is nothing to wait for.

use crate::error::Result;

/// Fails if the work on this thread was cancelled.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) async fn breathe() -> Result<()> {
    heard()
}

fn heard() -> Result<()> {
    super::Control::current().map_or(Ok(()), |control| control.check())
}

#[cfg(all(target_arch = "wasm32", feature = "training"))]
pub(crate) use page::begin;
#[cfg(target_arch = "wasm32")]
pub(crate) use page::breathe;

#[cfg(target_arch = "wasm32")]
mod page {
    use std::cell::Cell;
    use std::time::Duration;

    use web_time::Instant;

    /// How long the thread is held at a time, but for what cannot be divided.
    const HOLD: Duration = Duration::from_millis(60);

    thread_local!(static SINCE: Cell<Option<Instant>> = const { Cell::new(None) });

    /// Says that the thread was free until now.
    pub(crate) fn begin() {
        SINCE.set(Some(Instant::now()));
    }

    /// Lets other tasks in, if it was long ago that they were; fails if they cancelled the work.
    pub(crate) async fn breathe() -> super::Result<()> {
        if SINCE.get().is_none_or(|since| since.elapsed() > HOLD) {
            crate::web::next_task().await;
            begin();
        }
        super::heard()
    }
}
