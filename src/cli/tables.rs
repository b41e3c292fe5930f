//! `tables`: what the page needs to know about the library without loading it, as in `www/src/tables/`.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use hidden_gaussian::data::SETS;
use hidden_gaussian::denoiser::TABLE;
use hidden_gaussian::experiment::{Preset, any};
use hidden_gaussian::{Error, Result};
use serde_json::{Map, Value, json};

use super::{file_error, json};

/// Arguments of `tables`.
#[derive(Debug, Args)]
pub(super) struct Tables {
    /// Write each table to a file of its own in this folder instead
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn command(args: &Tables) -> Result<bool> {
    let tables = tables()?;
    let Some(folder) = &args.out else {
        println!("{}", json(&tables)?);
        return Ok(true);
    };
    fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
    for (name, table) in &tables {
        let path = folder.join(format!("{name}.json"));
        let text = json(table)? + "\n";
        fs::write(&path, text).map_err(|error| file_error(&path, &error))?;
    }
    Ok(true)
}

/// Every table, by its name.
fn tables() -> Result<Map<String, Value>> {
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
    let tables = json!({
        "denoisers": TABLE, "experiments": experiments, "data-sets": SETS, "presets": presets,
        "gigaflop": flop,
    });
    serde_json::from_value(tables).map_err(|error| Error::internal(error.to_string()))
}
