//! The measured work as JavaScript classes, for the page in `benches/peers/`.
#![cfg(target_arch = "wasm32")]

#[path = "../cases/mod.rs"]
mod cases;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::train::Session;
use wasm_bindgen::prelude::*;

/// A training run that is only stepped.
#[wasm_bindgen]
pub struct Training(Session);

#[wasm_bindgen]
impl Training {
    /// An ensemble of the preset called `preset`, on the CPU or on the GPU.
    pub async fn start(preset: String, gpu: bool, members: usize) -> Result<Self, JsValue> {
        let engine = if gpu { Engine::gpu().await? } else { Engine::cpu() };
        Ok(Self(cases::training(&engine, &preset, members).await?))
    }

    /// Numbers that each member learns.
    pub fn parameters(&self) -> usize {
        self.0.parameter_count()
    }

    /// Does `count` steps, waits for them, and tells the mean loss of the first member.
    pub async fn steps(&mut self, count: u32) -> Result<Option<f32>, JsValue> {
        self.0.step(count)?;
        Ok(self.0.progress().await?.members.first().and_then(|member| member.loss))
    }
}

/// The images that everybody learns, `size` pixels wide.
#[wasm_bindgen]
pub fn images(size: usize) -> Result<Vec<f32>, JsValue> {
    Ok(cases::images(size)?.images().to_vec())
}

/// GFLOP/s of the CPU engine's matrix multiply, of the shape that D_M does.
#[wasm_bindgen]
pub async fn matmul() -> Result<f64, JsValue> {
    Ok(cases::matmul(cases::TILE).await?)
}

/// Names of the denoisers, and the seconds in which each denoises 16 faces of 16 × 16 pixels with 1024 to learn from,
/// on the CPU engine.
#[wasm_bindgen]
pub async fn theories() -> Result<JsValue, JsValue> {
    let seconds = cases::theories(1024, 16, None).await?;
    Ok(serde_wasm_bindgen::to_value(&seconds)?)
}

/// GFLOP/s of D_M on the CPU engine.
#[wasm_bindgen]
pub async fn empirical() -> Result<f64, JsValue> {
    Ok(cases::empirical().await?)
}
