//! A sweep, expanded and dealt out to shards.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Axes, Settings, Sweep};
use crate::data::{Recipe, Split};
use crate::error::{Error, Result};
use crate::experiment::any::{AnyExperiment, by_name};
use crate::experiment::nothing_to_train;
use crate::serial;
use crate::shape::Shape;

/// The form of plans that this version writes and reads.
const FORMAT: u32 = 1;

/// Pieces are cut finer until no shard has more than this share of the average work.
const BALANCED: f64 = 1.1;

/// How many times finer than one piece for each shard a sweep is cut at most.
const FINEST: usize = 8;

/// A sweep, expanded and dealt out to shards. Nothing in it depends on the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    format: u32,
    /// Tells this plan from others: a hash of everything below.
    pub hash: String,
    /// The version of this crate that has to run it.
    pub version: String,
    /// What was asked for.
    pub sweep: Sweep,
    /// One experiment for each combination of the grid.
    pub cells: Vec<Cell>,
    /// The pieces of all cells, dealt out.
    pub shards: Vec<Shard>,
}

/// One experiment of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cell {
    /// Its values on the axes of the grid.
    pub axes: Axes,
    /// The set of images, or a file, as the sweep names it.
    pub data: String,
    /// Its images.
    pub images: Images,
    /// Its whole configuration.
    pub config: Value,
    /// Floating-point operations, about.
    pub flop: u64,
}

/// The images of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Images {
    /// The shape of an image.
    pub shape: Shape,
    /// How to make them.
    pub recipe: Recipe,
    /// Tells them from other images.
    pub fingerprint: String,
}

/// What one task of a cluster computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shard {
    /// Floating-point operations, about.
    pub flop: u64,
    /// One after the other.
    pub pieces: Vec<Piece>,
}

/// A part of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Piece {
    /// Which cell.
    pub cell: usize,
    /// Which part of it, counted from 0.
    pub part: usize,
    /// Into how many parts the cell was to be cut.
    pub of: usize,
    /// Floating-point operations, about.
    pub flop: u64,
}

impl Images {
    /// Those of `split`.
    #[must_use]
    pub fn of(split: &Split) -> Self {
        let pixels = split.train().iter().chain(split.held_out());
        let fingerprint = hash(pixels.flat_map(|pixel| pixel.to_bits().to_le_bytes()));
        Self { shape: split.shape(), recipe: split.recipe().clone(), fingerprint }
    }
}

impl Plan {
    /// Expands `sweep` and deals it out to at most `shards` shards. `images` makes the images of a
    /// cell, at least so many to train on if they can be drawn.
    pub fn new(
        sweep: Sweep,
        shards: usize,
        mut images: impl FnMut(&Settings, usize) -> Result<Images>,
    ) -> Result<Self> {
        if shards == 0 {
            return Err(Error::bad_input("No shard computes nothing", "Ask for at least one"));
        }
        let experiment = by_name(&sweep.experiment)?;
        let mut cells = Vec::new();
        for (axes, settings) in sweep.cells()? {
            // How many images are needed depends on the configuration, which depends on their shape.
            let shape = images(&settings, 1)?.shape;
            let config = settings.config(&sweep.experiment, shape)?;
            let flop = experiment.flop(config.clone(), shape.dim())?.round() as u64;
            if flop == 0 {
                return Err(nothing_to_train());
            }
            let images = images(&settings, experiment.images(config.clone())?)?;
            cells.push(Cell { axes, data: settings.data, images, config, flop });
        }
        let shards = deal(experiment, &cells, shards)?;
        let version = env!("CARGO_PKG_VERSION").into();
        let mut plan = Self { format: FORMAT, hash: String::new(), version, sweep, cells, shards };
        plan.hash = plan.expected_hash()?;
        Ok(plan)
    }

    /// Reads a plan file, and refuses one that was changed or that another version has to run.
    pub fn parse(text: &str) -> Result<Self> {
        let again = "Make it again by `sweep plan`";
        let plan: Self = serial::parse(text).map_err(|error| {
            Error::bad_input(format!("The plan is not valid: {}", error.message), again)
        })?;
        if plan.version != env!("CARGO_PKG_VERSION") {
            return Err(Error::bad_input(
                format!("Version {} made this plan, and this is another", plan.version),
                format!("Run it by version {}, or make it again by `sweep plan`", plan.version),
            ));
        }
        if plan.format != FORMAT || plan.hash != plan.expected_hash()? {
            return Err(Error::bad_input("The plan was changed after it was made", again));
        }
        Ok(plan)
    }

    /// The file.
    pub fn to_json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n")
            .map_err(|error| Error::internal(format!("The plan could not be written: {error}")))
    }

    fn expected_hash(&self) -> Result<String> {
        let Self { format, version, sweep, cells, shards, .. } = self;
        Ok(hash(serial::to_json(&(format, version, sweep, cells, shards))?.into_bytes()))
    }

    /// The configuration of a piece.
    pub fn config(&self, piece: Piece) -> Result<Value> {
        let config = self.cells.get(piece.cell).map(|cell| cell.config.clone());
        let parts =
            by_name(&self.sweep.experiment)?.shards(config.unwrap_or_default(), piece.of)?;
        parts
            .into_iter()
            .nth(piece.part)
            .ok_or_else(|| Error::bad_input("The plan has a piece of nothing", ""))
    }

    /// Floating-point operations of all shards, about.
    #[must_use]
    pub fn flop(&self) -> u64 {
        self.shards.iter().map(|shard| shard.flop).sum()
    }
}

/// Cuts the cells into pieces and deals them out to at most `count` shards of about equal work. Few
/// large pieces come before a perfect balance: networks that train together share a machine better.
fn deal(experiment: &dyn AnyExperiment, cells: &[Cell], count: usize) -> Result<Vec<Shard>> {
    let total: f64 = cells.iter().map(|cell| cell.flop as f64).sum();
    let mut best: Option<(u64, Vec<Shard>)> = None;
    let mut finer = 1;
    while finer <= FINEST {
        let mut pieces = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            let share = cell.flop as f64 / total.max(1.0) * (count * finer) as f64;
            // A share that is whole but for rounding is whole.
            let of = ((share - 1e-6).ceil() as usize).max(1);
            let parts = experiment.shards(cell.config.clone(), of)?;
            for (part, config) in parts.into_iter().enumerate() {
                let flop = experiment.flop(config, cell.images.shape.dim())?.round() as u64;
                pieces.push(Piece { cell: index, part, of, flop });
            }
        }
        let shards = pack(pieces, count);
        let heaviest = shards.iter().map(|shard| shard.flop).max().unwrap_or(0);
        if best.as_ref().is_none_or(|(least, _)| heaviest < *least) {
            best = Some((heaviest, shards));
        }
        if heaviest as f64 <= BALANCED * total / count as f64 {
            break;
        }
        finer *= 2;
    }
    Ok(best.map(|(_, shards)| shards).unwrap_or_default())
}

/// Gives each piece, the largest first, to the shard that has the least to do.
fn pack(mut pieces: Vec<Piece>, count: usize) -> Vec<Shard> {
    pieces.sort_by_key(|piece| (std::cmp::Reverse(piece.flop), *piece));
    let mut shards = vec![Shard { flop: 0, pieces: Vec::new() }; count.min(pieces.len())];
    for piece in pieces {
        if let Some(shard) = shards.iter_mut().min_by_key(|shard| shard.flop) {
            shard.flop += piece.flop;
            shard.pieces.push(piece);
        }
    }
    shards.iter_mut().for_each(|shard| shard.pieces.sort());
    shards.sort_by_key(|shard| shard.pieces.first().copied());
    shards
}

/// FNV-1a of 128 bits: the same everywhere, and good enough to tell honest files apart.
pub(super) fn hash(bytes: impl IntoIterator<Item = u8>) -> String {
    let step = |hash: u128, byte: u8| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    };
    let start = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    format!("{:032x}", bytes.into_iter().fold(start, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::faces::faces;
    use serde_json::json;

    /// Known values of the hash.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(hash([]), "6c62272e07bb014262b821756295c58d");
        assert_eq!(hash(*b"a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_eq!(hash(*b"foobar"), "343e1662793c64bf6f0d3597ba446f18");
    }

    /// Fewer images than are asked for: nobody trains on them.
    fn images(settings: &Settings, _: usize) -> Result<Images> {
        let split = faces(settings.seed, 8, 12)?.split(settings.seed, 4)?;
        Ok(Images::of(&split))
    }

    fn plan(sweep: &Value, shards: usize) -> Plan {
        Plan::new(Sweep::parse(&sweep.to_string()).unwrap(), shards, images).unwrap()
    }

    fn pieces(plan: &Plan) -> Vec<Vec<(usize, usize)>> {
        let shard = |shard: &Shard| shard.pieces.iter().map(|p| (p.cell, p.part)).collect();
        plan.shards.iter().map(shard).collect()
    }

    #[test]
    fn a_plan_comes_back_from_its_file_and_refuses_changes() {
        let sweep =
            json!({ "experiment": "transition", "grid": { "config.train.rate": [0.001, 0.004] } });
        let one = plan(&sweep, 3);
        let text = one.to_json().unwrap();
        assert_eq!(Plan::parse(&text).unwrap(), one);
        assert_eq!(plan(&sweep, 3), one);
        for other in [plan(&sweep, 2), plan(&json!({ "experiment": "transition" }), 3)] {
            assert_ne!(other.hash, one.hash);
        }
        let refuse = |text: String| Plan::parse(&text).unwrap_err().to_string();
        assert!(refuse(text.replace("0.001", "0.002")).contains("was changed"));
        assert!(refuse(text.replace(env!("CARGO_PKG_VERSION"), "9.9.9")).contains("9.9.9"));
        assert!(refuse("{".into()).contains("not valid"));
    }

    /// Findings of the parts, one after the other, are those of the cell.
    #[test]
    fn pieces_cover_each_cell_once_and_in_order() {
        for experiment in crate::experiment::any::ALL.map(AnyExperiment::name) {
            let sweep = json!({ "experiment": experiment, "grid": { "seed": [1, 2, 3] } });
            for shards in [1, 2, 3, 4, 7] {
                let plan = plan(&sweep, shards);
                assert!(plan.shards.len() <= shards);
                let mut all: Vec<Piece> =
                    plan.shards.iter().flat_map(|s| s.pieces.clone()).collect();
                all.sort();
                for cell in 0..3 {
                    let parts: Vec<_> = all.iter().filter(|p| p.cell == cell).collect();
                    let sizes: Vec<Value> = parts
                        .iter()
                        .flat_map(|p| {
                            plan.config(**p).unwrap()["sizes"].as_array().unwrap().clone()
                        })
                        .collect();
                    assert_eq!(
                        json!(sizes),
                        plan.cells[cell].config["sizes"],
                        "{experiment} {shards}"
                    );
                    assert!(parts.iter().enumerate().all(|(i, p)| p.part == i));
                }
            }
        }
    }

    /// Where there are more shards than sizes, the seeds of a size are cut, too.
    #[test]
    fn networks_stay_in_order() {
        let config = json!({ "sizes": [4, 9], "seeds": [1, 2, 3] });
        let numbers = |value: &Value| -> Vec<u64> {
            value.as_array().unwrap().iter().filter_map(Value::as_u64).collect()
        };
        for shards in 1..9 {
            let plan = plan(&json!({ "experiment": "transition", "config": config }), shards);
            assert_eq!(plan.shards.len(), shards.min(6));
            let mut all: Vec<Piece> = plan.shards.iter().flat_map(|s| s.pieces.clone()).collect();
            all.sort();
            let configs = all.iter().map(|piece| plan.config(*piece).unwrap());
            let networks = configs.flat_map(|config| {
                let seeds = numbers(&config["seeds"]);
                let of_size = |n| seeds.iter().map(|&seed| (n, seed)).collect::<Vec<_>>();
                numbers(&config["sizes"]).into_iter().flat_map(of_size).collect::<Vec<_>>()
            });
            let networks: Vec<_> = networks.collect();
            assert_eq!(networks, [(4, 1), (4, 2), (4, 3), (9, 1), (9, 2), (9, 3)], "{shards}");
        }
    }

    #[test]
    fn shards_have_about_equal_work() {
        let widths = [16, 32, 64, 128, 256];
        let sweep = json!({ "experiment": "transition",
            "grid": { "config.train.architecture.width": widths } });
        for shards in [2, 3, 5] {
            let plan = plan(&sweep, shards);
            let heaviest = plan.shards.iter().map(|shard| shard.flop).max().unwrap();
            let mean = plan.flop() as f64 / shards as f64;
            assert!((heaviest as f64) < 1.2 * mean, "{shards}: {heaviest} {mean}");
        }
        // One experiment is cut into one piece for each shard, in order.
        let sizes = json!({ "sizes": [8, 16, 24, 32, 40, 48] });
        let plan = plan(&json!({ "experiment": "transition", "config": sizes }), 3);
        assert_eq!(pieces(&plan), [[(0, 0)], [(0, 1)], [(0, 2)]]);
    }
}
