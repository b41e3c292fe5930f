//! A run on disk, as safetensors: a JSON header, then plain little-endian numbers.
//!
//! Tensor `average/block.0.weight` has shape `[members, …]`, so any safetensors reader finds the
//! networks by name. `clock` holds each member's seed and step, which fully determine the position of the
//! random numbers (see [`crate::rng`]). The configuration is in the metadata.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::Config;
use crate::data::Recipe;
use crate::denoiser::Trained;
use crate::error::{Error, Result};
use crate::kernels::finish_step::TRAINING_CLOCK;
use crate::kernels::{Edm, noise};
use crate::model::Parameters;
use crate::serial;

/// Identifies the file format in its metadata.
const FORMAT: &str = "hidden-gaussian run 1";

/// Everything that is needed to continue a training run.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// How the networks are trained.
    pub config: Config,
    /// Number of values in an image.
    pub dim: usize,
    /// The training set of each member.
    pub ranges: Vec<Range<usize>>,
    /// Fingerprint of the images.
    pub data: u64,
    /// How to obtain the images again, if known.
    pub recipe: Option<Recipe>,
    /// Steps done so far.
    pub step: u32,
    pub(super) weights: Vec<f32>,
    pub(super) average: Vec<f32>,
    pub(super) momentum: Vec<f32>,
    pub(super) variance: Vec<f32>,
    pub(super) clock: Vec<u32>,
}

impl Checkpoint {
    /// Returns the saved networks, with the moving average of their weights, ready to sample from.
    pub fn denoiser(&self) -> Result<Trained> {
        let network = self.config.architecture.network(self.dim)?;
        let edm = Edm { sigma_data: self.config.sigma_data };
        Ok(Trained::saved(network, edm, self.average.as_slice().into()))
    }

    /// Encodes the checkpoint as a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let network = self.config.architecture.network(self.dim)?;
        let members = self.ranges.len();
        let mut header = Map::new();
        let mut data = Vec::new();
        // Adds a tensor of words whose bytes are already in the file's order.
        let mut put = |name: String, kind: &str, shape: Vec<usize>, words: &[u32]| {
            let begin = data.len();
            data.extend_from_slice(bytemuck::cast_slice(words));
            let tensor =
                json!({"dtype": kind, "shape": shape, "data_offsets": [begin, data.len()]});
            header.insert(name, tensor);
        };
        let clock: Vec<u32> = self.clock.iter().map(|word| word.to_le()).collect();
        put("clock".into(), "U32", vec![members, TRAINING_CLOCK], &clock);
        for (group, flat) in self.groups() {
            for parameter in network.parameters().list() {
                let mut words = Vec::with_capacity(members * parameter.len());
                for member in flat.chunks_exact(network.parameters().buffer_len()) {
                    let values = &member[parameter.offset..][..parameter.len()];
                    words.extend(values.iter().map(|value| value.to_bits().to_le()));
                }
                let shape = [&[members], parameter.shape.as_slice()].concat();
                put(format!("{group}/{}", parameter.name), "F32", shape, &words);
            }
        }
        let mut metadata = json!({
            "format": FORMAT,
            "version": env!("CARGO_PKG_VERSION"),
            "config": serial::to_json(&self.config)?,
            "ranges": serial::to_json(&self.ranges)?,
            "dim": self.dim.to_string(),
            "step": self.step.to_string(),
            "data": format!("{:016x}", self.data),
            "rng": "Philox4x32-10: key = clock[0..2], counter = (block, clock[2], stream, 0)",
        });
        if let Some(recipe) = &self.recipe {
            metadata["recipe"] = serial::to_json(recipe)?.into();
        }
        header.insert("__metadata__".into(), metadata);
        let mut head = serial::to_json(&header)?;
        head.extend(std::iter::repeat_n(' ', head.len().next_multiple_of(8) - head.len()));
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(head.as_bytes());
        bytes.append(&mut data);
        Ok(bytes)
    }

    fn groups(&self) -> [(&'static str, &[f32]); 4] {
        [
            ("weights", &self.weights),
            ("average", &self.average),
            ("momentum", &self.momentum),
            ("variance", &self.variance),
        ]
    }

    /// Reads a file, whose content may be arbitrary.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = File::parse(bytes).ok_or_else(|| broken("its header cannot be read"))?;
        let meta = |name: &str| {
            let value = file.header.get("__metadata__").and_then(|meta| meta.get(name)?.as_str());
            value.ok_or_else(|| broken(&format!("“{name}” is missing")))
        };
        if meta("format")? != FORMAT {
            return Err(broken("it is of another kind or version"));
        }
        let bad = |name: &str| broken(&format!("“{name}” is invalid"));
        let config: Config = serial::parse(meta("config")?).map_err(|_| bad("config"))?;
        config.check()?;
        let ranges: Vec<Range<usize>> =
            serial::parse(meta("ranges")?).map_err(|_| bad("ranges"))?;
        let dim: usize = meta("dim")?.parse().map_err(|_| bad("dim"))?;
        let step: u32 = meta("step")?.parse().map_err(|_| bad("step"))?;
        if step > config.steps {
            return Err(bad("step"));
        }
        let data = u64::from_str_radix(meta("data")?, 16).map_err(|_| bad("data"))?;
        let recipe = match meta("recipe") {
            Ok(recipe) => Some(serial::parse(recipe).map_err(|_| bad("recipe"))?),
            Err(_) => None,
        };
        if ranges.is_empty() || ranges.len() != config.seeds.len() {
            return Err(bad("ranges"));
        }
        let network = config.architecture.network(dim)?;
        let members = ranges.len();
        // Four groups of 4 bytes each. Everything allocated below is contained in the file.
        let numbers = (members as u64).saturating_mul(network.parameters().count() as u64);
        if numbers.saturating_mul(16) > file.data.len() as u64 {
            return Err(broken("its configuration describes larger networks"));
        }
        let flat = |group: &str| file.flat(group, network.parameters(), members);
        let clock = file.words("clock", "U32", &[members, TRAINING_CLOCK])?;
        let clock: Vec<u32> = clock.iter().map(|word| u32::from_le_bytes(*word)).collect();
        for (words, &seed) in clock.chunks_exact(TRAINING_CLOCK).zip(&config.seeds) {
            // A diverged member has done fewer steps; losses are summed since the last report.
            let counts = words[2] <= step && words[5] <= step;
            if words[..2] != noise::clock(seed, 0)[..2] || !counts {
                return Err(bad("clock"));
            }
        }
        let [weights, average, momentum, variance] =
            [flat("weights")?, flat("average")?, flat("momentum")?, flat("variance")?];
        Ok(Self {
            config,
            dim,
            ranges,
            data,
            recipe,
            step,
            weights,
            average,
            momentum,
            variance,
            clock,
        })
    }
}

fn broken(why: &str) -> Error {
    Error::bad_input(
        format!("This file is not a saved run: {why}"),
        "Choose a file that this program has saved",
    )
}

/// A safetensors file.
struct File<'a> {
    header: Value,
    data: &'a [u8],
}

impl<'a> File<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (len, rest) = bytes.split_first_chunk::<8>()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let (head, data) = rest.split_at_checked(len)?;
        let header = serial::parse(str::from_utf8(head).ok()?).ok()?;
        Some(Self { header, data })
    }

    /// Returns the little-endian words of a tensor of this kind and shape.
    fn words(&self, name: &str, kind: &str, shape: &[usize]) -> Result<&'a [[u8; 4]]> {
        let find = || {
            let tensor = self.header.get(name)?;
            let range: Range<usize> = {
                let offsets = tensor.get("data_offsets")?;
                let at = |i: usize| usize::try_from(offsets.get(i)?.as_u64()?).ok();
                at(0)?..at(1)?
            };
            let fits =
                tensor.get("dtype")?.as_str()? == kind && *tensor.get("shape")? == json!(shape);
            let bytes = self.data.get(range).filter(|_| fits)?;
            let (words, rest) = bytes.as_chunks::<4>();
            let len = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
            (rest.is_empty() && Some(words.len()) == len).then_some(words)
        };
        find().ok_or_else(|| broken(&format!("tensor “{name}” is missing or has another shape")))
    }

    /// Assembles the flat buffers of all members from the tensors of `group`.
    fn flat(&self, group: &str, parameters: &Parameters, members: usize) -> Result<Vec<f32>> {
        let mut flat = vec![0.0; members * parameters.buffer_len()];
        for parameter in parameters.list() {
            let shape = [&[members], parameter.shape.as_slice()].concat();
            let words = self.words(&format!("{group}/{}", parameter.name), "F32", &shape)?;
            let copies = flat.chunks_exact_mut(parameters.buffer_len());
            for (copy, words) in copies.zip(words.chunks_exact(parameter.len())) {
                let values = &mut copy[parameter.offset..][..parameter.len()];
                values
                    .iter_mut()
                    .zip(words)
                    .for_each(|(value, word)| *value = f32::from_le_bytes(*word));
            }
        }
        Ok(flat)
    }
}
