//! `selfCheck`: whether this machine computes what it should.

use wasm_bindgen::prelude::*;

use super::engine::Engine;
use super::{JsResult, fields};
use crate::self_check::{CHECKS, check};

/// How many checks there are of an engine.
#[wasm_bindgen(js_name = checkCount)]
#[must_use]
pub fn check_count() -> usize {
    CHECKS
}

/// Makes one check of the engine, against known answers, closed forms or the other engine; undefined
/// beyond the last.
#[wasm_bindgen(js_name = selfCheck, unchecked_return_type = "Check | undefined")]
pub async fn self_check_js(engine: &Engine, index: usize) -> JsResult<JsValue> {
    let Some(check) = check(&engine.inner, index).await? else { return Ok(JsValue::UNDEFINED) };
    Ok(fields(&[
        ("name", check.name.into()),
        ("about", check.about.into()),
        ("error", check.error.into()),
        ("tolerance", check.tolerance.into()),
        ("holds", check.holds.into()),
    ]))
}
