//! `Run`: an experiment in a page.
//!
//! Nothing here holds the worker's thread for long. A slice of training ends in time; measuring, in
//! `preview` and `report` (and in `advance`, where `emergence` reaches a checkpoint), yields to other
//! tasks every 60 ms. Only single stages cannot be divided; the longest is to fit a Gaussian to a
//! training set.

use std::time::Duration;

use js_sys::{Array, Uint8Array};
use serde::Deserialize;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use super::dataset::Dataset;
use super::engine::Engine;
use super::{JsResult, Seed, object, options, parse};
use crate::error::Error;
use crate::experiment::any::{self, AnyRun};
use crate::experiment::{Detail, Preset};
use crate::platform::resumed;

/// An experiment that runs while it is called.
#[wasm_bindgen]
pub struct Run {
    inner: Box<dyn AnyRun>,
}

/// An experiment and its configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Configured {
    experiment: String,
    config: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetOptions {
    experiment: String,
    preset: String,
    seed: Seed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShardOptions {
    experiment: String,
    config: Value,
    workers: usize,
}

#[wasm_bindgen]
impl Run {
    /// Prepares an experiment to train on `data`.
    #[wasm_bindgen(skip_typescript)]
    pub async fn start(o: JsValue) -> JsResult<Self> {
        resumed();
        let (engine, rest) = options::<Engine>(&o, "engine")?;
        let (data, rest) = options::<Dataset>(&rest, "data")?;
        let (engine, split) = (engine.inner.clone(), data.split.clone());
        drop(data);
        let Configured { experiment, config } = parse(rest)?;
        let experiment = any::by_name(&experiment)?;
        Ok(Self { inner: experiment.start(&engine, &split, config).await? })
    }

    /// Trains for about this many milliseconds.
    #[wasm_bindgen(unchecked_return_type = "Progress")]
    pub async fn advance(&mut self, milliseconds: f64) -> JsResult<JsValue> {
        resumed();
        let slice = Duration::try_from_secs_f64(milliseconds / 1000.0)
            .map_err(|_| Error::bad_input("A slice of time must be a positive number", ""))?;
        object(&self.inner.advance(slice).await?)
    }

    /// A report of a few samples at a few noise levels: cheap enough to follow a run.
    #[wasm_bindgen(skip_typescript)]
    pub async fn preview(&mut self) -> JsResult<JsValue> {
        resumed();
        object(&*self.inner.report(Detail::Preview).await?)
    }

    /// The report.
    #[wasm_bindgen(skip_typescript)]
    pub async fn report(&mut self) -> JsResult<JsValue> {
        resumed();
        object(&*self.inner.report(Detail::Full).await?)
    }

    /// Everything that is needed to resume from here.
    #[wasm_bindgen(unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub async fn snapshot(&mut self) -> JsResult<Uint8Array> {
        resumed();
        Ok(Uint8Array::from(self.inner.snapshot().await?.as_slice()))
    }

    /// Restores a snapshot of the same experiment, configuration and images.
    pub fn restore(&mut self, bytes: &[u8]) -> JsResult<()> {
        Ok(self.inner.restore(bytes)?)
    }

    /// The networks as they are now: a safetensors file for each ensemble.
    #[wasm_bindgen(unchecked_return_type = "Uint8Array<ArrayBuffer>[]")]
    pub async fn weights(&mut self) -> JsResult<Array> {
        resumed();
        let files = self.inner.weights().await?;
        Ok(files.iter().map(|file| Uint8Array::from(file.as_slice())).collect())
    }
}

/// The configuration of a preset for images like those of `data`.
#[wasm_bindgen(js_name = presetConfig, skip_typescript)]
pub fn preset_config(o: &JsValue) -> JsResult<JsValue> {
    let (data, rest) = options::<Dataset>(o, "data")?;
    let PresetOptions { experiment, preset, seed } = parse(rest)?;
    let known = Preset::ALL.into_iter().find(|known| known.name() == preset);
    let preset = known.ok_or_else(|| {
        let hint = "Choose quick, main, faithful, cifar-quick or cifar";
        Error::bad_input(format!("No preset is called “{preset}”"), hint)
    })?;
    object(&any::by_name(&experiment)?.preset(preset, data.split.shape(), seed.0)?)
}

/// Training images that a configuration needs.
#[wasm_bindgen(js_name = imagesNeeded, skip_typescript)]
pub fn images_needed(o: JsValue) -> JsResult<usize> {
    let Configured { experiment, config } = parse(o)?;
    Ok(any::by_name(&experiment)?.images(config)?)
}

/// Splits a configuration into at most `workers` of about equal work. Their findings, one after the
/// other, are those of the whole.
#[wasm_bindgen(skip_typescript)]
pub fn shards(o: JsValue) -> JsResult<JsValue> {
    let ShardOptions { experiment, config, workers } = parse(o)?;
    object(&any::by_name(&experiment)?.shards(config, workers)?)
}
