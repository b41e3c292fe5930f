//! `Run`: an experiment in a page.
//!
//! Nothing here holds the worker's thread for long. A slice of training ends in time; looking, in
//! `preview` and `report` (and in `advance`, where `emergence` comes to a checkpoint), takes as long
//! as it takes, but lets other tasks in after every 60 ms. Only single steps of the work cannot be
//! divided; the longest one is to fit a Gaussian to a training set.

use std::time::Duration;

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use super::dataset::Dataset;
use super::engine::Engine;
use super::{JsResult, object, seed};
use crate::compute::breath;
use crate::error::Error;
use crate::experiment::any::{self, AnyRun};
use crate::experiment::{Detail, Preset};

/// An experiment that runs while it is called.
#[wasm_bindgen]
pub struct Run {
    inner: Box<dyn AnyRun>,
}

#[wasm_bindgen]
impl Run {
    /// Makes everything ready to train on `data`; `config` is JSON, as `presetConfig` gives it.
    pub async fn start(
        engine: &Engine,
        data: &Dataset,
        #[wasm_bindgen(unchecked_param_type = "ExperimentName")] experiment: String,
        config: String,
    ) -> JsResult<Self> {
        breath::begin();
        let experiment = any::by_name(&experiment)?;
        Ok(Self { inner: experiment.start(&engine.inner, &data.split, &config).await? })
    }

    /// Trains for about so many milliseconds.
    #[wasm_bindgen(unchecked_return_type = "Progress")]
    pub async fn advance(&mut self, milliseconds: f64) -> JsResult<JsValue> {
        breath::begin();
        let slice = Duration::try_from_secs_f64(milliseconds / 1000.0)
            .map_err(|_| Error::bad_input("A slice of time must be a positive number", ""))?;
        object(&self.inner.advance(slice).await?)
    }

    /// A report, as JSON, of a few samples at a few noise levels: cheap enough to follow a run.
    pub async fn preview(&mut self) -> JsResult<String> {
        breath::begin();
        Ok(self.inner.report(Detail::Preview).await?)
    }

    /// The report, as JSON.
    pub async fn report(&mut self) -> JsResult<String> {
        breath::begin();
        Ok(self.inner.report(Detail::Full).await?)
    }

    /// Everything that is needed to go on from here.
    #[wasm_bindgen(unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub async fn snapshot(&mut self) -> JsResult<Uint8Array> {
        breath::begin();
        Ok(Uint8Array::from(self.inner.snapshot().await?.as_slice()))
    }

    /// Goes back, or on, to a snapshot of the same experiment, configuration and images.
    pub fn restore(&mut self, bytes: &[u8]) -> JsResult<()> {
        Ok(self.inner.restore(bytes)?)
    }

    /// The networks as they are now: a safetensors file for each ensemble.
    #[wasm_bindgen(unchecked_return_type = "Uint8Array<ArrayBuffer>[]")]
    pub async fn weights(&mut self) -> JsResult<Array> {
        breath::begin();
        let files = self.inner.weights().await?;
        Ok(files.iter().map(|file| Uint8Array::from(file.as_slice())).collect())
    }
}

/// The configuration of a preset for images like those of `data`, as JSON.
#[wasm_bindgen(js_name = presetConfig)]
pub fn preset_config(
    #[wasm_bindgen(unchecked_param_type = "ExperimentName")] experiment: &str,
    #[wasm_bindgen(unchecked_param_type = "'quick' | 'main' | 'faithful'")] preset: &str,
    data: &Dataset,
    #[wasm_bindgen(js_name = seed)] number: f64,
) -> JsResult<String> {
    let known = Preset::ALL.into_iter().find(|known| known.name() == preset);
    let preset = known.ok_or_else(|| {
        let hint = "Choose quick, main or faithful";
        Error::bad_input(format!("No preset is called “{preset}”"), hint)
    })?;
    Ok(any::by_name(experiment)?.preset(preset, data.split.shape(), seed(number)?)?)
}

/// Training images that a configuration needs.
#[wasm_bindgen(js_name = imagesNeeded)]
pub fn images_needed(
    #[wasm_bindgen(unchecked_param_type = "ExperimentName")] experiment: &str,
    config: &str,
) -> JsResult<usize> {
    Ok(any::by_name(experiment)?.images(config)?)
}

/// Splits a configuration into at most so many, of about equal work, for as many workers. Their
/// findings, one after the other, are the whole's.
#[wasm_bindgen]
pub fn shares(
    #[wasm_bindgen(unchecked_param_type = "ExperimentName")] experiment: &str,
    config: &str,
    workers: usize,
) -> JsResult<Vec<String>> {
    Ok(any::by_name(experiment)?.shares(config, workers)?)
}
