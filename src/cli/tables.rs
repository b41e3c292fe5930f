//! `tables`: what the page knows of the library without loading it, as `www/src/tables.json` has it.

use hidden_gaussian::Result;
use hidden_gaussian::data::{SETS, Shape};
use hidden_gaussian::denoiser::TABLE;
use hidden_gaussian::experiment::{Preset, any};
use serde_json::{Map, Value, json};

use super::json;

pub(super) fn command() -> Result<bool> {
    println!("{}", json(&tables()?)?);
    Ok(true)
}

fn tables() -> Result<Value> {
    let experiments = any::ALL.map(|experiment| {
        json!({
            "name": experiment.name(), "title": experiment.title(), "figure": experiment.figure(),
        })
    });
    let mut presets = Map::new();
    for experiment in any::ALL {
        // For grey images of the preset's size.
        let config = |preset: Preset| {
            let shape = Shape { height: preset.side(), width: preset.side(), channels: 1 };
            Ok((preset.name().to_owned(), experiment.preset(preset, shape, 1)?))
        };
        let configs = Preset::ALL.into_iter().map(config).collect::<Result<Map<_, _>>>()?;
        presets.insert(experiment.name().into(), configs.into());
    }
    Ok(json!({
        "denoisers": TABLE, "experiments": experiments, "dataSets": SETS, "presets": presets,
    }))
}
