//! One experiment over a grid of settings, cut into shards that never communicate.
//!
//! A [`Sweep`] is what a researcher writes. [`Plan`] expands it into cells, one per combination of the
//! grid, cuts each cell into pieces, and deals the pieces out to shards of about equal work.
//! A shard becomes a [`ShardResult`], on any machine, at any time, and [`merge()`] combines
//! them. Nothing in a plan or a result depends on the machine or the time, so the merged report
//! has the same bytes however many shards there were and however often they were interrupted.

mod checkpoint;
pub mod environment;
pub mod folder;
mod merge;
mod plan;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use checkpoint::{Checkpoint, PieceResult, ShardResult};
pub use merge::{Merged, merge};
pub use plan::{Cell, Images, Piece, Plan, Shard};

use super::any::by_name;
use super::{Preset, nothing_to_train};
use crate::error::{Error, Result};
use crate::serial;
use crate::shape::Shape;

/// Most cells of a grid, so that a plan remains a file that people can open.
const MAX_CELLS: usize = 10_000;

/// A sweep, as a file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sweep {
    /// The name of the experiment.
    pub experiment: String,
    /// The preset with which the configuration of every cell starts.
    #[serde(default = "default_preset")]
    pub preset: String,
    /// Name of the data set, or path of a file.
    #[serde(default = "default_data")]
    pub data: String,
    /// The seed of the images and of everything in the preset.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Changes to the preset's configuration.
    #[serde(default = "no_changes")]
    pub config: Value,
    /// The axes: paths of settings in this file, such as `data` or `config.train.rate`, each with the
    /// values that it takes. There is one cell per combination.
    #[serde(default)]
    pub grid: BTreeMap<String, Vec<Value>>,
}

/// The settings of a cell: a sweep without its grid.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    preset: String,
    /// Name of the data set, or path of a file.
    pub data: String,
    /// The seed of the images and of everything in the preset.
    pub seed: u64,
    config: Value,
}

fn default_preset() -> String {
    Preset::Quick.name().into()
}

fn default_data() -> String {
    "faces".into()
}

const fn default_seed() -> u64 {
    1
}

fn no_changes() -> Value {
    Value::Object(Map::new())
}

/// The values of a cell on the axes of its grid.
pub type Axes = BTreeMap<String, Value>;

impl Sweep {
    /// Reads a sweep file.
    pub fn parse(text: &str) -> Result<Self> {
        serial::parse(text).map_err(|error| {
            Error::bad_input(
                format!("The sweep is not valid: {}", error.message),
                "It has the fields experiment, preset, data, seed, config and grid",
            )
        })
    }

    /// The settings of each cell. The values of the last axis, in alphabetical order, change fastest.
    pub fn cells(&self) -> Result<Vec<(Axes, Settings)>> {
        let lengths = || self.grid.values().map(Vec::len);
        let count = lengths().fold(1, usize::saturating_mul);
        if count > MAX_CELLS {
            let hint = "Split the grid into several sweeps";
            return Err(Error::limit("Cells", count as u64, MAX_CELLS as u64, hint));
        }
        if let Some((axis, _)) = self.grid.iter().find(|(_, values)| values.is_empty()) {
            let message = format!("The axis “{axis}” has no values");
            return Err(Error::bad_input(message, "Give it at least one, or leave it out"));
        }
        (0..count).map(|index| self.cell(index)).collect()
    }

    fn cell(&self, index: usize) -> Result<(Axes, Settings)> {
        let (mut rest, mut axes) = (index, Axes::new());
        for (axis, values) in self.grid.iter().rev() {
            axes.insert(axis.clone(), values[rest % values.len()].clone());
            rest /= values.len();
        }
        let Self { preset, data, seed, config, .. } = self;
        let mut settings =
            json!({ "preset": preset, "data": data, "seed": seed, "config": config });
        for (axis, value) in &axes {
            set(&mut settings, axis, value.clone())?;
        }
        let settings = serial::read(settings).map_err(|error| {
            Error::bad_input(format!("The grid does not fit the settings: {}", error.message), AXES)
        })?;
        Ok((axes, settings))
    }
}

/// A hint about the names of axes.
const AXES: &str =
    "An axis is preset, data, seed, or the path of a setting, such as config.train.rate";

/// Sets the value at `path`, whose names are separated by dots.
fn set(settings: &mut Value, path: &str, value: Value) -> Result<()> {
    let mut place = settings;
    for name in path.split('.') {
        let missing = || Error::bad_input(format!("“{path}” is not a setting"), AXES);
        let object = place.as_object_mut().ok_or_else(missing)?;
        if name.is_empty() {
            return Err(missing());
        }
        place = object.entry(name).or_insert_with(no_changes);
    }
    *place = value;
    Ok(())
}

/// Applies `changes` to `config`: objects field by field, everything else as a whole. A network of
/// another kind replaces the whole network. `path` is the path of `config`.
fn overlay(config: &mut Value, changes: &Value, path: &str) -> Result<()> {
    let (Some(fields), Some(changed)) = (config.as_object_mut(), changes.as_object()) else {
        *config = changes.clone();
        return Ok(());
    };
    if changed.get("kind").is_some_and(|kind| Some(kind) != fields.get("kind")) {
        *config = changes.clone();
        return Ok(());
    }
    for (name, change) in changed {
        let path = format!("{path}.{name}");
        let Some(field) = fields.get_mut(name) else {
            let known: Vec<&str> = fields.keys().map(String::as_str).collect();
            return Err(Error::bad_input(
                format!("“{path}” is not part of the configuration"),
                format!("What there is: {}", known.join(", ")),
            ));
        };
        overlay(field, change, &path)?;
    }
    Ok(())
}

impl Settings {
    /// The preset with which the configuration starts.
    pub fn preset(&self) -> Result<Preset> {
        let found = Preset::ALL.into_iter().find(|preset| preset.name() == self.preset);
        found.ok_or_else(|| {
            let names = Preset::ALL.map(Preset::name).join(", ");
            let message = format!("No preset is called “{}”", self.preset);
            Error::bad_input(message, format!("Choose one of {names}"))
        })
    }

    /// The whole configuration of `experiment` for images of `shape`.
    fn config(&self, experiment: &str, shape: Shape) -> Result<Value> {
        let experiment = by_name(experiment)?;
        let mut config = experiment.preset(self.preset()?, shape, self.seed)?;
        overlay(&mut config, &self.config, "config")?;
        // As a single part, it comes back in the experiment's own form.
        let whole = experiment.shards(config, 1)?.into_iter().next();
        whole.ok_or_else(nothing_to_train)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(grid: &Value) -> Sweep {
        let text = json!({ "experiment": "transition", "grid": grid }).to_string();
        Sweep::parse(&text).unwrap()
    }

    #[test]
    fn a_grid_has_a_cell_for_each_combination() {
        let cells = sweep(&json!({ "seed": [1, 2], "config.train.rate": [0.1, 0.2, 0.4] })).cells();
        let cells = cells.unwrap();
        let values: Vec<_> = cells
            .iter()
            .map(|(_, s)| (s.config["train"]["rate"].as_f64().unwrap(), s.seed))
            .collect();
        assert_eq!(values, [(0.1, 1), (0.1, 2), (0.2, 1), (0.2, 2), (0.4, 1), (0.4, 2)]);
        assert_eq!(
            cells[3].0,
            Axes::from([("config.train.rate".into(), json!(0.2)), ("seed".into(), json!(2))])
        );
        assert_eq!(sweep(&json!({})).cells().unwrap().len(), 1);
    }

    #[test]
    fn bad_grids_are_refused_with_a_sentence() {
        let refuse = |grid| sweep(&grid).cells().unwrap_err().to_string();
        assert!(refuse(json!({ "seed": [] })).contains("no values"));
        assert!(refuse(json!({ "seed": ["one"] })).contains("does not fit"));
        assert!(refuse(json!({ "sizes": [1] })).contains("unknown field `sizes`"));
        assert!(refuse(json!({ "seed.x": [1] })).contains("is not a setting"));
        assert!(refuse(json!({ "config.": [1] })).contains("is not a setting"));
        let many: Vec<usize> = (0..101).collect();
        assert!(
            refuse(json!({ "seed": many, "config.seeds": many })).contains("the limit is 10000")
        );
        let typo = Sweep::parse(r#"{"experiment":"transition","girds":{}}"#).unwrap_err();
        assert!(typo.to_string().contains("girds"), "{typo}");
    }

    #[test]
    fn changes_are_laid_over_a_configuration() {
        let base = json!({ "sizes": [1, 2], "train": { "steps": 5, "clip": null,
            "architecture": { "kind": "mlp", "width": 8, "depth": 2 } } });
        let changed = |changes: Value| {
            let mut config = base.clone();
            overlay(&mut config, &changes, "config").map(|()| config)
        };
        let config = changed(
            json!({ "sizes": [7], "train": { "clip": 1.0, "architecture": { "width": 9 } } }),
        );
        let config = config.unwrap();
        assert_eq!(config["sizes"], json!([7]));
        assert_eq!(config["train"]["clip"], 1.0);
        assert_eq!(config["train"]["steps"], 5);
        assert_eq!(
            config["train"]["architecture"],
            json!({ "kind": "mlp", "width": 9, "depth": 2 })
        );
        let unet = json!({ "kind": "unet", "width": 4 });
        let config = changed(json!({ "train": { "architecture": unet } })).unwrap();
        assert_eq!(config["train"]["architecture"], unet);
        let error = changed(json!({ "train": { "stepz": 1 } })).unwrap_err();
        assert!(error.to_string().contains("config.train.stepz"), "{error}");
    }
}
