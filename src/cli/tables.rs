//! `tables`: what the page needs to know about the library without loading it, as in `www/src/tables.json`.

use hidden_gaussian::Result;
use hidden_gaussian::data::SETS;
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
    let (mut presets, mut flop) = (Map::new(), Map::new());
    for experiment in any::ALL {
        // For images of the kind that each preset is meant for.
        let config = |preset: Preset| {
            Ok((preset.name().to_owned(), experiment.preset(preset, preset.shape(), 1)?))
        };
        let configs = Preset::ALL.into_iter().map(config).collect::<Result<Map<_, _>>>()?;
        // Whole gigaflop suffice, since the page only estimates times with it.
        let work = |preset: Preset| {
            let flop = experiment.flop(configs[preset.name()].clone(), preset.shape().dim())?;
            Ok((preset.name().to_owned(), json!((1e-9 * flop).ceil() as u64)))
        };
        let works = Preset::ALL.into_iter().map(work).collect::<Result<Map<_, _>>>()?;
        flop.insert(experiment.name().into(), works.into());
        presets.insert(experiment.name().into(), configs.into());
    }
    Ok(json!({
        "denoisers": TABLE, "experiments": experiments, "dataSets": SETS, "presets": presets,
        "gigaflop": flop,
    }))
}
