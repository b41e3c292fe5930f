//! The JavaScript face of the crate: the only place that knows wasm-bindgen.
//!
//! Every class here wraps a Rust one of the same name; objects go in and out as plain JavaScript.
//! Errors are thrown as `Error` objects with `kind`, `message` and `hint`.

mod dataset;
mod engine;
mod exact;

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::prelude::*;

use crate::error::Error;

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

/// Writes plain objects. A flattened struct counts as a map, which by default becomes a `Map`.
const PLAIN: serde_wasm_bindgen::Serializer =
    serde_wasm_bindgen::Serializer::new().serialize_maps_as_objects(true);

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        let thrown = js_sys::Error::new(&error.message);
        let fields = error.serialize(&PLAIN).unwrap_or_default();
        js_sys::Object::assign(&thrown, fields.unchecked_ref());
        thrown.into()
    }
}

/// Options of a call, from a plain object.
fn options<T: DeserializeOwned>(value: JsValue) -> JsResult<T> {
    serde_wasm_bindgen::from_value(value)
        .map_err(|error| Error::bad_input(format!("Wrong options: {error}"), "").into())
}

/// A result as a plain object.
fn object<T: Serialize>(value: &T) -> JsResult<JsValue> {
    value.serialize(&PLAIN).map_err(|error| {
        Error::bad_input(format!("A result does not fit JavaScript: {error}"), "").into()
    })
}

/// A seed as JavaScript gives it.
fn seed(value: f64) -> JsResult<u64> {
    if value.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&value) {
        return Ok(value as u64);
    }
    let hint = "Choose a whole number from 0 to 2⁵³ - 1";
    Err(Error::bad_input(format!("Seed {value}"), hint).into())
}

/// `{name: value, …}` as a JavaScript object, where typed arrays must stay typed arrays.
fn fields<const N: usize>(entries: [(&str, JsValue); N]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in entries {
        // Setting a field of a fresh plain object does not fail.
        drop(js_sys::Reflect::set(&object, &name.into(), &value));
    }
    object.into()
}

fn floats(values: &[f32]) -> JsValue {
    js_sys::Float32Array::from(values).into()
}

fn whole(values: &[u32]) -> JsValue {
    js_sys::Uint32Array::from(values).into()
}
