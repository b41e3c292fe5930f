//! `presets`: what every preset is, as the page has it in `www/src/presets.json`.

use hidden_gaussian::experiment::{Preset, any};
use hidden_gaussian::{Error, Result};
use serde_json::{Map, Value};

use super::json;

/// Prints the configurations by experiment and preset, for the images that each preset is meant for.
pub(super) fn command() -> Result<bool> {
    let mut all = Map::new();
    for name in any::NAMES {
        let mut presets = Map::new();
        for preset in Preset::ALL {
            let config = any::by_name(name)?.preset(preset, preset.shape(), 1)?;
            presets.insert(preset.name().into(), parse(&config)?);
        }
        all.insert(name.into(), presets.into());
    }
    println!("{}", json(&all)?);
    Ok(true)
}

fn parse(config: &str) -> Result<Value> {
    let value = serde_json::from_str(config);
    value.map_err(|error| Error::bad_input(format!("A preset is no JSON: {error}"), ""))
}
