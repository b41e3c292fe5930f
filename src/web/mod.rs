//! The JavaScript face of the crate. Only this and [`platform`](crate::platform) use wasm-bindgen.
//!
//! Every class here wraps a Rust one of the same name. Plain objects go in and come out; `types.d.ts`
//! has their types. Errors are thrown as `Error` objects with `kind`, `message` and `hint`.

mod dataset;
mod eigen;
mod engine;
mod exact;
mod random_features;
#[cfg(feature = "training")]
mod run;
#[cfg(feature = "training")]
mod self_check;
mod wiener;

use erased_serde::Serialize;
use js_sys::{Function, Object, Reflect};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use wasm_bindgen::convert::TryFromJsValue;
use wasm_bindgen::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::{platform, serial};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

/// A fresh random seed that JavaScript can hold exactly.
#[wasm_bindgen(js_name = freshSeed)]
pub fn fresh_seed() -> JsResult<f64> {
    Ok(crate::rng::fresh_seed()? as f64)
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

/// A seed that JavaScript can hold exactly.
#[derive(Debug, Clone, Copy, Default)]
struct Seed(u64);

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seed = u64::deserialize(deserializer)?;
        if seed >> 53 == 0 {
            return Ok(Self(seed));
        }
        Err(D::Error::custom("choose a whole number from 0 to 2⁵³ - 1"))
    }
}

/// Reads a plain object, and refuses unknown fields with their path.
fn parse<T: DeserializeOwned>(value: JsValue) -> JsResult<T> {
    // By way of a JSON value: serde-wasm-bindgen passes over unknown fields of structs.
    let value: Value = serde_wasm_bindgen::from_value(value)?;
    Ok(serial::read(value)?)
}

/// An object of this library that is passed in a field of a plain object.
trait Shared: TryFromJsValue {}

/// Takes field `name`, an object of this library, from a plain object; and the other fields. The
/// caller keeps its object: a clone of it is taken.
fn options<T: Shared>(object: &JsValue, name: &str) -> JsResult<(T, JsValue)> {
    let missing = || Error::bad_input(format!("“{name}” is missing or of another type"), "");
    let field = Reflect::get(object, &name.into()).map_err(|_| missing())?;
    let share = Reflect::get(&field, &SHARE.into()).map_err(|_| missing())?;
    let share: Function = share.dyn_into().map_err(|_| missing())?;
    let shared = T::try_from_js_value(share.call0(&field)?).map_err(|_| missing())?;
    let rest = Object::assign(&Object::new(), object.unchecked_ref());
    Reflect::delete_property(&rest, &name.into())?;
    Ok((shared, rest.into()))
}

/// The method that clones an object of this library.
const SHARE: &str = "__share";

/// A result as a plain object.
fn object(value: &dyn Serialize) -> JsResult<JsValue> {
    platform::to_js(value).map_err(Into::into)
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
