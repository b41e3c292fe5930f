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

/// The format of plans that this version writes and reads.
const FORMAT: u32 = 1;

/// Pieces are cut finer until no shard exceeds the average work by more than this factor.
const BALANCED: f64 = 1.1;

/// Most pieces per shard into which a sweep is cut.
const FINEST: usize = 8;

/// A sweep, expanded and dealt out to shards. Nothing in it depends on the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    format: u32,
    /// Identifies the plan: a hash of everything below.
    pub hash: String,
    /// The version of this crate that must run it.
    pub version: String,
    /// The sweep from which the plan was made.
    pub sweep: Sweep,
    /// One experiment per combination of the grid.
    pub cells: Vec<Cell>,
    /// The pieces of all cells, assigned to shards.
    pub shards: Vec<Shard>,
}

/// One experiment of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cell {
    /// The cell's values on the axes of the grid.
    pub axes: Axes,
    /// The name of the data set, or the path of a file, as in the sweep.
    pub data: String,
    /// The images of the cell.
    pub images: Images,
    /// The whole configuration of the cell.
    pub config: Value,
    /// Approximate floating-point operations.
    pub flop: u64,
}

/// The images of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Images {
    /// The shape of an image.
    pub shape: Shape,
    /// How to obtain the images.
    pub recipe: Recipe,
    /// Identifies the images.
    pub fingerprint: String,
}

/// The work of one task of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shard {
    /// Approximate floating-point operations.
    pub flop: u64,
    /// The pieces, which are computed one after the other.
    pub pieces: Vec<Piece>,
}

/// A part of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Piece {
    /// Index of the cell.
    pub cell: usize,
    /// Index of the part within the cell.
    pub part: usize,
    /// Number of parts into which the cell was to be cut.
    pub of: usize,
    /// Approximate floating-point operations.
    pub flop: u64,
}

impl Images {
    /// Describes the images of `split`.
    #[must_use]
    pub fn of(split: &Split) -> Self {
        let pixels = split.train().iter().chain(split.held_out());
        let fingerprint = hash(pixels.flat_map(|pixel| pixel.to_bits().to_le_bytes()));
        Self { shape: split.shape(), recipe: split.recipe().clone(), fingerprint }
    }
}

impl Plan {
    /// Expands `sweep` and assigns it to at most `shards` shards. `images` provides the images of a cell, with at
    /// least the given number to train on if they can be drawn.
    pub fn new(
        sweep: Sweep,
        shards: usize,
        mut images: impl FnMut(&Settings, usize) -> Result<Images>,
    ) -> Result<Self> {
        if shards == 0 {
            return Err(Error::bad_input("A plan needs at least one shard", "Ask for one or more"));
        }
        let experiment = by_name(&sweep.experiment)?;
        let mut cells = Vec::new();
        for (axes, settings) in sweep.cells()? {
            // The number of images depends on the configuration, which depends on their shape.
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

    /// Reads a plan file, and refuses one that was changed or that another version must run.
    pub fn parse(text: &str) -> Result<Self> {
        let again = "Make it again with `sweep plan`";
        let plan: Self = serial::parse(text).map_err(|error| {
            Error::bad_input(format!("The plan is not valid: {}", error.message), again)
        })?;
        if plan.version != env!("CARGO_PKG_VERSION") {
            return Err(Error::bad_input(
                format!("This plan was made by version {}, not by this one", plan.version),
                format!("Run it with version {}, or make it again with `sweep plan`", plan.version),
            ));
        }
        if plan.format != FORMAT || plan.hash != plan.expected_hash()? {
            return Err(Error::bad_input("The plan was changed after it was made", again));
        }
        Ok(plan)
    }

    /// Encodes the plan as a file.
    pub fn to_json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n")
            .map_err(|error| Error::internal(format!("The plan could not be written: {error}")))
    }

    fn expected_hash(&self) -> Result<String> {
        let Self { format, version, sweep, cells, shards, .. } = self;
        Ok(hash(serial::to_json(&(format, version, sweep, cells, shards))?.into_bytes()))
    }

    /// Returns the configuration of a piece.
    pub fn config(&self, piece: Piece) -> Result<Value> {
        let config = self.cells.get(piece.cell).map(|cell| cell.config.clone());
        let parts =
            by_name(&self.sweep.experiment)?.shards(config.unwrap_or_default(), piece.of)?;
        parts
            .into_iter()
            .nth(piece.part)
            .ok_or_else(|| Error::bad_input("The plan has an empty piece", ""))
    }

    /// Approximate floating-point operations of all shards.
    #[must_use]
    pub fn flop(&self) -> u64 {
        self.shards.iter().map(|shard| shard.flop).sum()
    }
}

/// Cuts the cells into pieces and assigns them to at most `count` shards of about equal work. Few large
/// pieces matter more than perfect balance: networks that train together share a machine better.
fn deal(experiment: &dyn AnyExperiment, cells: &[Cell], count: usize) -> Result<Vec<Shard>> {
    let total: f64 = cells.iter().map(|cell| cell.flop as f64).sum();
    let mut best: Option<(u64, Vec<Shard>)> = None;
    let mut finer = 1;
    while finer <= FINEST {
        let mut pieces = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            let share = cell.flop as f64 / total.max(1.0) * (count * finer) as f64;
            // Rounding must not make a whole number of parts larger.
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

/// Assigns each piece, the largest first, to the shard with the least work.
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

/// FNV-1a of 128 bits: the same everywhere, and good enough to identify honest files.
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

    /// Fewer images than requested: these tests train on none.
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
        // All sizes of the first training, then those of the others, if any.
        let networks = |config: &Value| {
            let ways = 1 + config["others"].as_array().map_or(0, Vec::len);
            vec![config["sizes"].as_array().unwrap().clone(); ways].concat()
        };
        for experiment in crate::experiment::any::known().map(AnyExperiment::name) {
            let sweep = json!({ "experiment": experiment, "grid": { "seed": [1, 2, 3] } });
            for shards in [1, 2, 3, 4, 7] {
                let plan = plan(&sweep, shards);
                assert!(plan.shards.len() <= shards);
                let mut all: Vec<Piece> =
                    plan.shards.iter().flat_map(|s| s.pieces.clone()).collect();
                all.sort();
                for cell in 0..3 {
                    let parts: Vec<_> = all.iter().filter(|p| p.cell == cell).collect();
                    let found: Vec<Value> =
                        parts.iter().flat_map(|p| networks(&plan.config(**p).unwrap())).collect();
                    let expected = networks(&plan.cells[cell].config);
                    assert_eq!(found, expected, "{experiment} {shards}");
                    assert!(parts.iter().enumerate().all(|(i, p)| p.part == i));
                }
            }
        }
    }

    /// If there are more shards than sizes, the seeds of a size are split, too.
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
        // One experiment is cut into one piece per shard, in order.
        let sizes = json!({ "sizes": [8, 16, 24, 32, 40, 48] });
        let plan = plan(&json!({ "experiment": "transition", "config": sizes }), 3);
        assert_eq!(pieces(&plan), [[(0, 0)], [(0, 1)], [(0, 2)]]);
    }
}
