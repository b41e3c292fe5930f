//! Dispatches: those that the library records, and those that other libraries were seen to do.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result};
use hidden_gaussian::compute::{Profile, Program, Scope, Stage, packs};
use hidden_gaussian::data::{Shape, TrainingSets};
use hidden_gaussian::denoiser::{Denoiser, Empirical};
use hidden_gaussian::kernels::matmul::Tile;
use hidden_gaussian::kernels::{self, Sigma};
use hidden_gaussian::model::{
    Architecture,
    unet::{Head, Norm},
};
use hidden_gaussian::train::{Config, Optimizer, Plan};
use serde::Deserialize;

use crate::trips::Uniforms;

/// A compute shader that is run once.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// What it does, in a word.
    pub kernel: String,
    /// Constants of this variant of the kernel.
    pub constants: Vec<(String, u32)>,
    /// Its text.
    pub wgsl: Rc<str>,
    /// Workgroups.
    pub workgroups: [u32; 3],
    /// Contents of its uniform buffers.
    pub uniforms: Uniforms,
    /// Bytes of all buffers that it reads or writes.
    pub bytes: u64,
    /// Whether it shares the dispatch of the one before it.
    pub shares: bool,
}

/// A network that is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The quick preset's.
    Quick,
    /// The main preset's.
    Main,
    /// The faithful preset's.
    UNet,
    /// A wider one, for 32 × 32 images in colour.
    ColourUNet,
}

impl Network {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Quick, Self::Main, Self::UNet, Self::ColourUNet];

    /// Its name, also in the file of what others do.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Main => "main",
            Self::UNet => "faithful",
            Self::ColourUNet => "cifar",
        }
    }

    /// What it is.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Quick => "MLP of 192 units, 12×12 images, batch 32",
            Self::Main => "MLP of 384 units, 12×12 images, batch 64",
            Self::UNet => "U-Net of 16 channels, 16×16 images, batch 64",
            Self::ColourUNet => "U-Net of 32 channels, 32×32×3 images, batch 64",
        }
    }

    fn config(self) -> (Shape, Config) {
        let seeds = vec![1];
        let shape = |side, channels| Shape { height: side, width: side, channels };
        match self {
            Self::Quick => (shape(12, 1), Config::quick(seeds)),
            Self::Main => (shape(12, 1), Config::main(seeds)),
            Self::UNet => (shape(16, 1), Config::faithful(shape(16, 1), seeds)),
            Self::ColourUNet => {
                let shape = shape(32, 3);
                (shape, Config::cifar(shape, 32, seeds))
            }
        }
    }

    /// The dispatches of a training step, where matrices are multiplied in such tiles.
    pub fn step(self, tile: Tile) -> Result<Vec<Dispatch>> {
        let (shape, config) = self.config();
        training_step(shape, config, tile)
    }
}

fn training_step(shape: Shape, config: Config, tile: Tile) -> Result<Vec<Dispatch>> {
    let images = vec![0.0; 256 * shape.dim()];
    let sets = TrainingSets::single(images, shape.dim())?;
    let Plan { program, .. } = Plan::with_profile(profile(tile), config, &sets)?;
    let mut step = Vec::new();
    for pack in packs(training_stages(&program)?, program.profile()) {
        step.extend(
            pack.stages
                .iter()
                .enumerate()
                .map(|(i, stage)| Dispatch { shares: i > 0, ..dispatch(&program, stage) }),
        );
    }
    Ok(step)
}

/// How many dispatches a step takes.
pub fn dispatches(step: &[Dispatch]) -> usize {
    step.iter().filter(|dispatch| !dispatch.shares).count()
}

fn training_stages(program: &Program) -> Result<&[Stage]> {
    let mut routines = program.routines();
    let (_, stages) =
        routines.find(|(name, _)| *name == "train").context("no routine is called “train”")?;
    Ok(stages)
}

/// The shaders of stages that share a dispatch in the step of `network`.
#[cfg(test)]
pub fn packed(network: Network, tile: Tile) -> Result<Vec<Dispatch>> {
    let (shape, config) = network.config();
    let sets = TrainingSets::single(vec![0.0; 256 * shape.dim()], shape.dim())?;
    let Plan { program, .. } = Plan::with_profile(profile(tile), config, &sets)?;
    let packs = packs(training_stages(&program)?, program.profile()).into_iter();
    let shared = packs.filter(|pack| pack.stages.len() > 1);
    let dispatches = shared.map(|pack| Dispatch {
        kernel: pack.name(),
        constants: Vec::new(),
        wgsl: pack.source(|_, text| text).into(),
        workgroups: [1; 3],
        uniforms: Uniforms::new(),
        bytes: 0,
        shares: false,
    });
    Ok(dispatches.collect())
}

/// That of a GPU in hardware.
fn profile(tile: Tile) -> Profile {
    Profile { tile, ..Profile::default() }
}

/// A stage of `program`.
pub fn dispatch(program: &Program, stage: &Stage) -> Dispatch {
    let members = program.members();
    let bytes = stage.bindings.iter().map(|binding| {
        let copies = if binding.view.buffer.scope() == Scope::Member { members } else { 1 };
        4 * (copies * binding.extent) as u64
    });
    // Of the views, that all begin at 0 does for a model.
    let params = stage.params.iter().flat_map(|word| word.to_le_bytes()).collect();
    let uniforms = HashMap::from([((0, 0), vec![0; 256]), ((0, 1), params)]);
    let [x, y] = stage.workgroups;
    Dispatch {
        kernel: stage.kernel.name.to_owned(),
        constants: stage.constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        wgsl: stage.kernel.source(&stage.constants).into(),
        workgroups: [x, y, members as u32],
        bytes: bytes.sum(),
        uniforms,
        shares: false,
    }
}

/// Every kernel: the variants that training and D_M use with each tile that tuning chooses among, and
/// those that come without variants.
pub fn kernels() -> Result<Vec<Dispatch>> {
    let mut all: Vec<Dispatch> = Vec::new();
    for tile in Tile::CANDIDATES {
        for network in Network::ALL {
            all.extend(network.step(tile)?);
        }
        all.extend(odd_unet(tile)?);
        all.extend(descent(tile)?);
        all.extend(empirical(tile)?);
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|dispatch| seen.insert(Rc::clone(&dispatch.wgsl)));
    for kernel in kernels::ALL {
        if all.iter().all(|dispatch| dispatch.kernel != kernel.name) {
            all.push(Dispatch {
                kernel: kernel.name.to_owned(),
                constants: Vec::new(),
                wgsl: kernel.source(&[]).into(),
                workgroups: [1; 3],
                uniforms: Uniforms::new(),
                bytes: 0,
                shares: false,
            });
        }
    }
    all.sort_by(|a, b| (&a.kernel, &a.constants).cmp(&(&b.kernel, &b.constants)));
    Ok(all)
}

/// A U-Net with normalization, and with numbers of channels that cannot be loaded four at a time.
fn odd_unet(tile: Tile) -> Result<Vec<Dispatch>> {
    let shape = Shape { height: 12, width: 20, channels: 1 };
    let architecture =
        Architecture::UNet { shape, width: 6, levels: 2, norm: Norm::Group, head: Head::Silu };
    training_step(shape, Config { architecture, ..Config::faithful(shape, vec![1]) }, tile)
}

/// A network that descends without Adam.
fn descent(tile: Tile) -> Result<Vec<Dispatch>> {
    let shape = Shape { height: 12, width: 12, channels: 1 };
    let optimizer = Optimizer::Sgd { momentum: 0.9 };
    training_step(shape, Config { optimizer, ..Config::quick(vec![1]) }, tile)
}

/// D_M, which rescales what it has added up.
fn empirical(tile: Tile) -> Result<Vec<Dispatch>> {
    let (rows, dim) = (64, 256);
    let empirical = Empirical::new(TrainingSets::single(vec![0.0; 1024 * dim], dim)?);
    let mut program = Program::new(1, profile(tile))?;
    let x = program.buffer("x", rows * dim)?;
    let out = program.buffer("D_M(x)", rows * dim)?;
    let sigma = program.shared("σ", 1)?;
    let placed = empirical.place(&mut program, rows)?;
    let routine = program
        .routine("denoise", |p| placed.record(p, x.into(), Sigma::shared(sigma), out.into()))?;
    Ok(program.stages(routine).iter().map(|stage| dispatch(&program, stage)).collect())
}

/// A step of another library, as it was seen in a browser (`benches/peers/src/capture.js`).
#[derive(Debug, Deserialize)]
pub struct Captured {
    who: String,
    /// The network's name.
    pub preset: String,
    shaders: Vec<String>,
    dispatches: Vec<CapturedDispatch>,
}

#[derive(Debug, Deserialize)]
struct CapturedDispatch {
    shader: usize,
    label: String,
    workgroups: [u32; 3],
    bytes: u64,
    uniforms: Vec<CapturedUniform>,
}

#[derive(Debug, Deserialize)]
struct CapturedUniform {
    group: u32,
    binding: u32,
    bytes: Vec<u8>,
}

impl Captured {
    /// Reads what was captured.
    pub fn read(path: &Path) -> Result<Vec<Self>> {
        let file = File::open(path).with_context(|| format!("no file {}", path.display()))?;
        Ok(serde_json::from_reader(BufReader::new(file))?)
    }

    /// Whose it is.
    pub fn library(&self) -> &str {
        match self.who.as_str() {
            "jaxjs" => "jax-js",
            "tfjs" => "TensorFlow.js",
            other => other,
        }
    }

    /// The dispatches.
    pub fn dispatches(self) -> Vec<Dispatch> {
        let shaders: Vec<Rc<str>> = self.shaders.into_iter().map(Into::into).collect();
        let each = self.dispatches.into_iter().map(|dispatch| Dispatch {
            kernel: dispatch.label,
            constants: Vec::new(),
            wgsl: Rc::clone(&shaders[dispatch.shader]),
            workgroups: dispatch.workgroups,
            uniforms: dispatch
                .uniforms
                .into_iter()
                .map(|uniform| ((uniform.group, uniform.binding), uniform.bytes))
                .collect(),
            bytes: dispatch.bytes,
            shares: false,
        });
        each.collect()
    }
}
