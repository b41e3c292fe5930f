//! What depends on the target: time, sleeping, yielding to other tasks, and who reads and writes JSON.
//!
//! In a page, work runs in a worker whose event loop delivers messages, such as a request to cancel,
//! only between tasks. So long work calls [`yield_now`], which returns to the event loop whenever
//! the thread has been busy for a moment. Natively another thread delivers such requests, so there
//! is nothing to wait for.

pub use web_time::Instant;

use erased_serde::Serialize;
use serde_json::Value;

#[cfg(target_arch = "wasm32")]
pub use page::{resumed, sleep, to_js, yield_now};

/// Whether work shares its thread with an event loop, so that no other thread can reach it.
pub const SINGLE_THREADED: bool = cfg!(target_arch = "wasm32");

/// Whether vectors are those of WebAssembly: 128 bits, and at most 16 registers.
pub const WASM_VECTORS: bool = cfg!(target_arch = "wasm32");

/// Bytes that buffers may take in memory. In wasm the address space is the bound; natively it keeps a
/// mistyped size from swapping.
pub const MAX_MEMORY: u64 = if cfg!(target_arch = "wasm32") { 2 << 30 } else { 8 << 30 };

/// JSON text as a value, or what is wrong with it. In a page the browser reads it: it knows how, and
/// tables of powers of five are much to download.
pub fn parse_json(text: &str) -> Result<Value, String> {
    #[cfg(not(target_arch = "wasm32"))]
    return serde_json::from_str(text).map_err(|error| error.to_string());
    #[cfg(target_arch = "wasm32")]
    page::parse_json(text)
}

/// A value as JSON text.
pub fn to_json(value: &dyn Serialize) -> Result<String, String> {
    #[cfg(not(target_arch = "wasm32"))]
    return serde_json::to_string(value).map_err(|error| error.to_string());
    #[cfg(target_arch = "wasm32")]
    page::to_json(value)
}

/// A value as a JSON value.
pub fn to_value(value: &dyn Serialize) -> Result<Value, String> {
    #[cfg(not(target_arch = "wasm32"))]
    return serde_json::to_value(value).map_err(|error| error.to_string());
    #[cfg(target_arch = "wasm32")]
    page::to_value(value)
}

/// The number that a decimal names; NaN if it names none.
#[must_use]
pub fn parse_f64(decimal: &str) -> f64 {
    #[cfg(not(target_arch = "wasm32"))]
    return decimal.parse().unwrap_or(f64::NAN);
    #[cfg(target_arch = "wasm32")]
    js_sys::Number::parse_float(decimal)
}

/// Returns to the event loop if the thread has been held for long. Natively it does nothing.
#[cfg(not(target_arch = "wasm32"))]
pub async fn yield_now() {}

#[cfg(target_arch = "wasm32")]
mod page {
    use std::cell::Cell;
    use std::time::Duration;

    use erased_serde::Serialize;
    use serde_json::Value;
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::JsFuture;

    use super::Instant;

    #[wasm_bindgen]
    extern "C" {
        // Works both in a window and in a worker, unlike the methods of either.
        #[wasm_bindgen(js_name = setTimeout)]
        fn set_timeout(callback: &js_sys::Function, milliseconds: f64);
    }

    /// How long the thread stays busy at a time, except with work that cannot be divided.
    const HOLD: Duration = Duration::from_millis(60);

    thread_local!(static SINCE: Cell<Option<Instant>> = const { Cell::new(None) });

    /// A value as plain objects.
    pub fn to_js(value: &dyn Serialize) -> Result<JsValue, serde_wasm_bindgen::Error> {
        // Maps become objects, too: flattened structs are maps to serde. NaN stays NaN.
        let writer = serde_wasm_bindgen::Serializer::json_compatible();
        erased_serde::serialize(value, &writer)
    }

    pub(super) fn to_value(value: &dyn Serialize) -> Result<Value, String> {
        let value = to_js(value).and_then(serde_wasm_bindgen::from_value);
        value.map_err(|error| error.to_string())
    }

    pub(super) fn to_json(value: &dyn Serialize) -> Result<String, String> {
        let value = to_js(value).map_err(|error| error.to_string())?;
        js_sys::JSON::stringify(&value).map(String::from).map_err(|thrown| message(&thrown))
    }

    pub(super) fn parse_json(text: &str) -> Result<Value, String> {
        let value = js_sys::JSON::parse(text).map_err(|thrown| message(&thrown))?;
        serde_wasm_bindgen::from_value(value).map_err(|error| error.to_string())
    }

    /// What a thrown error says.
    fn message(thrown: &JsValue) -> String {
        let error = thrown.dyn_ref::<js_sys::Error>();
        error.map_or_else(String::new, |error| error.message().into())
    }

    /// Notes that the event loop has just run.
    pub fn resumed() {
        SINCE.set(Some(Instant::now()));
    }

    /// Returns to the event loop if the thread has been busy for a moment.
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
        // A timer never rejects.
        drop(JsFuture::from(promise).await);
    }

    /// Resolves in a new task, after those already queued. A timer would take longer: browsers delay
    /// nested timers by 4 ms.
    async fn next_task() {
        let Ok(channel) = web_sys::MessageChannel::new() else { return };
        let promise = js_sys::Promise::new(&mut |resolve, _| {
            channel.port1().set_onmessage(Some(&resolve));
        });
        if channel.port2().post_message(&JsValue::NULL).is_ok() {
            // A message never rejects.
            drop(JsFuture::from(promise).await);
        }
        channel.port1().close();
    }
}
