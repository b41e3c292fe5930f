//! `wienerDescent`: Theorem 1 on the reader's data.

use js_sys::{Array, Float64Array};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::dataset::Dataset;
use super::{JsResult, fields, floats, parse, whole};
use crate::experiment::wiener::{Curve, Demonstration, demonstrate};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WienerOptions {
    n: usize,
    sigma: f64,
    steps: u32,
    rate: Option<f64>,
}

fn curve(Curve { measured, theory }: &Curve) -> JsValue {
    fields(&[("measured", doubles(measured)), ("theory", doubles(theory))])
}

fn doubles(values: &[f64]) -> JsValue {
    Float64Array::from(values).into()
}

fn list(items: impl Iterator<Item = JsValue>) -> JsValue {
    items.collect::<Array>().into()
}

/// Gradient descent on a linear denoiser, from zero, at steps 1, 2, 4, … up to `steps`; `rate` is in
/// units of the largest step size that converges, 0.5 if it is not given.
#[wasm_bindgen(js_name = wienerDescent, unchecked_return_type = "WienerDescent")]
pub fn wiener_descent(
    data: &Dataset,
    #[wasm_bindgen(
        unchecked_param_type = "{n: number, sigma: number, steps: number, rate?: number}"
    )]
    o: JsValue,
) -> JsResult<JsValue> {
    let WienerOptions { n, sigma, steps, rate: fraction } = parse(o)?;
    let Demonstration { rate, limit, steps, distance, bias, directions, pixels, rows, goal } =
        demonstrate(&data.split, n, sigma, steps, fraction.unwrap_or(0.5))?;
    let directions = directions.iter().map(|direction| {
        fields(&[
            ("axis", direction.axis.into()),
            ("variance", direction.variance.into()),
            ("error", curve(&direction.error)),
        ])
    });
    let pixels: Vec<u32> = pixels.iter().map(|&pixel| pixel as u32).collect();
    Ok(fields(&[
        ("rate", rate.into()),
        ("limit", limit.into()),
        ("steps", whole(&steps)),
        ("distance", curve(&distance)),
        ("bias", doubles(&bias)),
        ("directions", list(directions)),
        ("pixels", whole(&pixels)),
        ("rows", list(rows.iter().map(|rows| floats(rows)))),
        ("goal", floats(&goal)),
    ]))
}
