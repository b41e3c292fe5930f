//! Experiments by name, with their configurations as JSON values.

use serde_json::Value;

use super::super::any::{self, AnyRun};
use super::super::{
    Preset, emergence::Emergence, gaussian_bias::GaussianBias,
    strong_generalization::StrongGeneralization, transition::Transition,
};
use super::cost::{Cost, flop_of};
use crate::compute::Engine;
use crate::data::{Recipe, Shape, Split};
use crate::error::{Error, Result};
use crate::experiment::Experiment;
use crate::json;

/// The configuration of a preset.
pub(super) fn preset(name: &str, preset: Preset, shape: Shape, seed: u64) -> Result<Value> {
    value(&any::by_name(name)?.preset(preset, shape, seed)?)
}

/// Training images that a configuration needs.
pub(super) fn images(name: &str, config: &Value) -> Result<usize> {
    any::by_name(name)?.images(&config.to_string())
}

/// The configuration as the experiment understands it, or what is wrong with it.
pub(super) fn check(name: &str, config: &Value) -> Result<Value> {
    let whole = parts(name, config, 1)?.into_iter().next();
    whole.ok_or_else(|| Error::bad_input("There is nothing to train", "Choose at least one size"))
}

/// The configurations of at most `parts` parts.
pub(super) fn parts(name: &str, config: &Value, parts: usize) -> Result<Vec<Value>> {
    let parts = any::by_name(name)?.shares(&config.to_string(), parts)?;
    parts.iter().map(|part| value(part)).collect()
}

/// Floating-point operations of a configuration for images of `dim` numbers, about.
pub(super) fn flop(name: &str, config: &Value, dim: usize) -> Result<u64> {
    fn of<E: Experiment<Config: Cost>>(config: &Value, dim: usize) -> Result<u64> {
        flop_of(&json::read::<E::Config>(config)?, dim)
    }
    match name {
        Transition::NAME => of::<Transition>(config, dim),
        GaussianBias::NAME => of::<GaussianBias>(config, dim),
        Emergence::NAME => of::<Emergence>(config, dim),
        _ => of::<StrongGeneralization>(config, dim),
    }
}

/// How a plan says which images to make.
pub(super) fn recipe(recipe: &Value) -> Result<Recipe> {
    json::read(recipe)
}

/// A run of the experiment called `name`.
pub async fn start(
    name: &str,
    engine: &Engine,
    split: &Split,
    config: &Value,
) -> Result<Box<dyn AnyRun>> {
    any::by_name(name)?.start(engine, split, &config.to_string()).await
}

fn value(text: &str) -> Result<Value> {
    let value = serde_json::from_str(text);
    value.map_err(|error| Error::bad_input(format!("A configuration is not JSON: {error}"), ""))
}
