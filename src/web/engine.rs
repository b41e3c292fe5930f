//! `Engine`: where programs run.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use super::{JsResult, Shared, fields};
use crate::compute::{self, Control};
use crate::error::Error;
use crate::kernels::Choice;

/// Where programs run: the GPU through WebGPU, or this processor.
#[wasm_bindgen]
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) inner: compute::Engine,
    control: Control,
    choice: Choice,
}

impl Shared for Engine {}

#[wasm_bindgen]
impl Engine {
    #[doc(hidden)]
    #[wasm_bindgen(js_name = __share, skip_typescript)]
    #[must_use]
    pub fn share(&self) -> Self {
        self.clone()
    }

    /// Opens `"gpu"`, `"cpu"`, or with `"auto"` the one that is faster here.
    pub async fn open(
        #[wasm_bindgen(unchecked_param_type = "EngineKind")] kind: String,
    ) -> JsResult<Self> {
        let (inner, choice) = match kind.as_str() {
            "auto" => compute::Engine::auto().await,
            "cpu" => (compute::Engine::cpu(), Choice::by_hand()),
            "gpu" => (compute::Engine::gpu().await?, Choice::by_hand()),
            other => {
                let hint = "Choose “auto”, “gpu” or “cpu”";
                return Err(Error::bad_input(format!("No engine is called “{other}”"), hint).into());
            }
        };
        let control = Control::default();
        Ok(Self { inner: inner.with_control(&control), control, choice })
    }

    /// Says whether the reader interacts: then the GPU, which draws the page as well, is kept busy for no
    /// longer than a frame at a time.
    #[wasm_bindgen(js_name = setInteractive)]
    pub fn set_interactive(&self, interactive: bool) {
        self.control.set_interactive(interactive);
    }

    /// Measures how fast it multiplies matrices, in 10⁹ operations per second.
    #[wasm_bindgen(unchecked_return_type = "Promise<number>")]
    pub fn rate(&self) -> Promise {
        // The engine may be closed meanwhile.
        let engine = self.inner.clone();
        future_to_promise(async move { Ok(engine.rate().await.map_err(JsValue::from)?.into()) })
    }

    /// Which engine it is, on what, and why.
    #[wasm_bindgen(unchecked_return_type = "EngineInfo")]
    #[must_use]
    pub fn info(&self) -> JsValue {
        let (adapter, software) = match self.inner.as_gpu() {
            None => ("WebAssembly SIMD".to_owned(), false),
            Some(gpu) => (gpu.adapter(), gpu.is_software()),
        };
        let Choice { reason, rates } = &self.choice;
        fields(&[
            ("kind", self.inner.name().into()),
            ("adapter", adapter.into()),
            ("software", software.into()),
            ("reason", reason.into()),
            ("rates", fields(&[("cpu", rates.cpu.into()), ("gpu", rates.gpu.into())])),
        ])
    }
}
