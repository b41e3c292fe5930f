//! `selfCheck`: whether this machine computes what it should.

use wasm_bindgen::prelude::*;

use super::engine::Engine;
use super::{JsResult, fields};
use crate::self_check::{Check, self_check};

/// Checks the engine against known answers, closed forms and the other engine.
#[wasm_bindgen(js_name = selfCheck, unchecked_return_type = "Check[]")]
pub async fn self_check_js(engine: &Engine) -> JsResult<js_sys::Array> {
    let checks = self_check(&engine.inner).await?;
    let check = |check: &Check| {
        fields(&[
            ("name", check.name.into()),
            ("about", check.about.into()),
            ("error", check.error.into()),
            ("tolerance", check.tolerance.into()),
            ("holds", check.holds.into()),
        ])
    };
    Ok(checks.iter().map(check).collect())
}
