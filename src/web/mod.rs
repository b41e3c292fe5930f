//! The JavaScript face of the crate: the only place that knows wasm-bindgen.
//!
//! Every class here wraps a Rust one of the same name; objects go in and out as plain JavaScript.
//! Errors are thrown as `Error` objects with `kind`, `message` and `hint`.

mod dataset;
mod engine;
mod exact;
#[cfg(feature = "training")]
mod run;
#[cfg(feature = "training")]
mod self_check;
mod wiener;

use std::time::Duration;

use js_sys::{Object, Reflect};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::error::{Error, ErrorKind};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

#[wasm_bindgen]
extern "C" {
    // Works in a window and in a worker alike, unlike the methods of either.
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &js_sys::Function, milliseconds: f64);
}

/// Resolves after `duration`.
pub async fn sleep(duration: Duration) {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        set_timeout(&resolve, duration.as_secs_f64() * 1000.0);
    });
    // A timer does not reject.
    drop(wasm_bindgen_futures::JsFuture::from(promise).await);
}

/// Resolves in a new task, after those that wait. A timer would do, too, but browsers make one that
/// follows another wait for 4 ms.
pub async fn next_task() {
    let Ok(channel) = web_sys::MessageChannel::new() else { return };
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        channel.port1().set_onmessage(Some(&resolve));
    });
    if channel.port2().post_message(&JsValue::NULL).is_ok() {
        // A message does not reject.
        drop(wasm_bindgen_futures::JsFuture::from(promise).await);
    }
    channel.port1().close();
}

/// The version of the crate.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// A fresh random seed that JavaScript can hold exactly.
#[wasm_bindgen(js_name = freshSeed)]
#[must_use]
pub fn fresh_seed() -> f64 {
    crate::rng::fresh_seed() as f64
}

type JsResult<T> = Result<T, JsValue>;

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        let thrown = js_sys::Error::new(&error.message);
        set(&thrown, "kind", &error.kind.name().into());
        set(&thrown, "hint", &error.hint.as_str().into());
        if let ErrorKind::LimitExceeded { need, have } = error.kind {
            set(&thrown, "need", &(need as f64).into());
            set(&thrown, "have", &(have as f64).into());
        }
        thrown.into()
    }
}

/// The options of a call, a plain object. Read by hand: to derive it adds 10 kB to the download.
#[derive(Clone, Copy)]
struct Options<'a>(&'a JsValue);

impl Options<'_> {
    /// Option `name`; undefined if it is missing.
    fn get(self, name: &str) -> JsValue {
        Reflect::get(self.0, &name.into()).unwrap_or_default()
    }

    /// A whole number that must be there.
    fn whole(self, name: &str) -> JsResult<usize> {
        let number = self.get(name).as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0);
        number
            .map(|n| n as usize)
            .ok_or_else(|| Error::bad_input(format!("“{name}” is not a whole number"), "").into())
    }

    /// A whole number, if it is there.
    fn whole_if(self, name: &str) -> JsResult<Option<usize>> {
        if self.get(name).is_undefined() { Ok(None) } else { self.whole(name).map(Some) }
    }

    /// The seed, which must be there.
    fn seed(self) -> JsResult<u64> {
        seed(self.get("seed").as_f64().unwrap_or(f64::NAN))
    }
}

/// A seed as JavaScript gives it.
fn seed(value: f64) -> JsResult<u64> {
    if value.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&value) {
        return Ok(value as u64);
    }
    let hint = "Choose a whole number from 0 to 2⁵³ - 1";
    Err(Error::bad_input("The seed is not a whole number that JavaScript can hold", hint).into())
}

/// A result as a plain object.
fn object<T: Serialize>(value: &T) -> JsResult<JsValue> {
    // Maps become objects, too: flattened structs are maps to serde.
    value.serialize(&serde_wasm_bindgen::Serializer::json_compatible()).map_err(Into::into)
}

/// `{name: value, …}` as a JavaScript object.
fn fields(entries: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in entries {
        set(&object, name, value);
    }
    object.into()
}

fn set(object: &Object, name: &str, value: &JsValue) {
    // Setting a field of a fresh plain object does not fail.
    drop(Reflect::set(object, &name.into(), value));
}

fn floats(values: &[f32]) -> JsValue {
    js_sys::Float32Array::from(values).into()
}

fn whole(values: &[u32]) -> JsValue {
    js_sys::Uint32Array::from(values).into()
}
