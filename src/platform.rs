//! What depends on the target: time, sleeping, and yielding to other tasks.
//!
//! In a page, work runs in a worker whose event loop delivers messages, such as a request to cancel,
//! only between tasks. So long work calls [`yield_now`], which returns to the event loop whenever
//! the thread has been held for [`HOLD`]. Natively another thread delivers such requests, and there
//! is nothing to wait for.

pub use web_time::Instant;

#[cfg(target_arch = "wasm32")]
pub use page::{resumed, sleep, yield_now};

/// Whether work shares its thread with an event loop, and cannot hear from other threads.
pub const SINGLE_THREADED: bool = cfg!(target_arch = "wasm32");

/// Bytes that buffers may take in memory. In wasm the bound is the address space; natively it keeps a
/// typing error from swapping.
pub const MAX_MEMORY: u64 = if cfg!(target_arch = "wasm32") { 2 << 30 } else { 8 << 30 };

/// Returns to the event loop if the thread has been held for long. Natively it does nothing.
#[cfg(not(target_arch = "wasm32"))]
pub async fn yield_now() {}

#[cfg(target_arch = "wasm32")]
mod page {
    use std::cell::Cell;
    use std::time::Duration;

    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::JsFuture;

    use super::Instant;

    #[wasm_bindgen]
    extern "C" {
        // Works in a window and in a worker alike, unlike the methods of either.
        #[wasm_bindgen(js_name = setTimeout)]
        fn set_timeout(callback: &js_sys::Function, milliseconds: f64);
    }

    /// How long the thread is held at a time, except by work that cannot be divided.
    const HOLD: Duration = Duration::from_millis(60);

    thread_local!(static SINCE: Cell<Option<Instant>> = const { Cell::new(None) });

    /// Notes that the event loop has just run.
    pub fn resumed() {
        SINCE.set(Some(Instant::now()));
    }

    /// Returns to the event loop if the thread has been held for [`HOLD`].
    pub async fn yield_now() {
        if SINCE.get().is_none_or(|since| since.elapsed() > HOLD) {
            next_task().await;
            resumed();
        }
    }

    /// Resolves after `duration`.
    pub async fn sleep(duration: Duration) {
        let promise = js_sys::Promise::new(&mut |resolve, _| {
            set_timeout(&resolve, duration.as_secs_f64() * 1000.0);
        });
        // A timer does not reject.
        drop(JsFuture::from(promise).await);
    }

    /// Resolves in a new task, after those that wait. A timer would take longer: browsers delay one
    /// that follows another by 4 ms.
    async fn next_task() {
        let Ok(channel) = web_sys::MessageChannel::new() else { return };
        let promise = js_sys::Promise::new(&mut |resolve, _| {
            channel.port1().set_onmessage(Some(&resolve));
        });
        if channel.port2().post_message(&JsValue::NULL).is_ok() {
            // A message does not reject.
            drop(JsFuture::from(promise).await);
        }
        channel.port1().close();
    }
}
