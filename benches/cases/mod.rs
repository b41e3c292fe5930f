//! The work that is measured, natively and in a browser.

use std::sync::Arc;

use hidden_gaussian::compute::{Engine, Loaded, Routine};
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::data::{Dataset, Faces, Shape, TrainingSets};
use hidden_gaussian::denoiser::{Denoiser, DenoiserId, Empirical, Fit, table};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};
use hidden_gaussian::model::Architecture;
use hidden_gaussian::model::unet::{Head, Norm};
use hidden_gaussian::rng::{Stream, fill_normals};
use hidden_gaussian::train::{Config, Session};
use hidden_gaussian::{Error, Result};
use web_time::Instant;

/// Images to learn from: a pool that is small, so that it does not count.
const IMAGES: u32 = 256;

/// More steps than anybody measures.
const ENDLESS: u32 = 1 << 24;

/// The images to learn.
pub fn images(size: usize) -> Result<Dataset> {
    faces(1, IMAGES, size)
}

/// An ensemble of the preset called `name`, ready to step.
pub async fn training(engine: &Engine, name: &str, members: usize) -> Result<Session> {
    let seeds = (1..=members as u64).collect();
    let [small, large, colour] = [(12, 1), (16, 1), (32, 3)].map(|(side, channels)| Shape {
        height: side,
        width: side,
        channels,
    });
    let (shape, config) = match name {
        "quick" => (small, Config::quick(seeds)),
        "main" => (small, Config::main(seeds)),
        "faithful" => (large, Config::faithful(large, seeds)),
        "cifar-quick" => (colour, in_colour(colour, 16, seeds)),
        "cifar" => (colour, in_colour(colour, 32, seeds)),
        other => return Err(Error::bad_input(format!("There is no preset {other}"), "")),
    };
    let ranges = vec![0..IMAGES as usize; members];
    let pixels = match shape.channels {
        1 => images(shape.height)?.images().to_vec(),
        _ => noise(IMAGES as usize * shape.dim()),
    };
    let sets = TrainingSets::new(pixels, shape.dim(), ranges)?;
    Session::new(engine, Config { steps: ENDLESS, ..config }, &sets).await
}

/// The U-Net at three resolutions, for images in colour.
fn in_colour(shape: Shape, width: usize, seeds: Vec<u64>) -> Config {
    let (levels, norm, head) = (3, Norm::None, Head::Silu);
    let architecture = Architecture::UNet { shape, width, levels, norm, head };
    Config { architecture, clip: Some(1.0), ..Config::faithful(shape, seeds) }
}

/// As many numbers as asked for, of the size of pixels.
pub fn noise(len: usize) -> Vec<f32> {
    let mut noise = vec![0.0; len];
    fill_normals(1, Stream::Weights, 0, &mut noise);
    noise.iter_mut().for_each(|value| *value *= 0.5);
    noise
}

/// The matrix multiply that a tile of D_M does.
pub const TILE: (Layout, [usize; 3]) = (Layout::Nt, [64, 512, 256]);

/// A matrix multiply on the CPU engine, ready to run.
pub struct Multiply {
    loaded: Loaded,
    routine: Routine,
    /// Floating-point operations of a run.
    flop: f64,
}

impl Multiply {
    /// One of this layout and shape.
    pub async fn new((layout, shape): (Layout, [usize; 3])) -> Result<Self> {
        let [m, n, k] = shape;
        let mut program = Engine::cpu().program(1)?;
        let a = program.buffer_with("a", noise(m * k))?;
        let b = program.buffer_with("b", noise(k * n))?;
        let c = program.buffer("c", m * n)?;
        // Some hundred million multiply-adds, so that the clock's grain does not matter.
        let repeats = (1_usize << 27).div_ceil(m * n * k);
        let routine = program.routine("matmul", |p| {
            (0..repeats).try_for_each(|_| Matmul::new(layout, a, b, c, shape).record(p))
        })?;
        let flop = 2.0 * (repeats * m * n * k) as f64;
        Ok(Self { loaded: Engine::cpu().load(program).await?, routine, flop })
    }

    /// The best GFLOP/s in this many seconds.
    pub fn rate(&mut self, seconds: f64) -> Result<f64> {
        Ok(1e-9 * self.flop / fastest(&mut self.loaded, self.routine, seconds)?)
    }
}

/// GFLOP/s of the CPU engine's matrix multiply.
pub async fn matmul(of: (Layout, [usize; 3])) -> Result<f64> {
    Multiply::new(of).await?.rate(1.0)
}

/// GFLOP/s of D_M on the CPU engine at N = 8192, d = 256, batch 64, counting its two matrix
/// multiplies.
pub async fn empirical() -> Result<f64> {
    let (n, dim, rows) = (8192, 256, 64);
    let images: Arc<[f32]> = faces(1, n as u32, 16)?.images().into();
    let empirical = Empirical::new(TrainingSets::single(images, dim)?);
    let seconds = denoising(&empirical, &vec![0.0; rows * dim], 0.5, 1.0).await?;
    Ok(2.0 * 2e-9 * (rows * n * dim) as f64 / seconds)
}

/// Seconds in which each denoiser of the table that is fitted to `n` faces of 16 × 16 pixels denoises `rows` others
/// on the CPU engine; or only D_M and the one called `only`.
pub async fn theories(
    n: usize,
    rows: usize,
    only: Option<DenoiserId>,
) -> Result<Vec<(&'static str, f64)>> {
    let engine = Engine::cpu();
    let split = Faces { size: 16, count: (n + rows) as u32, seed: 1 }.draw()?.split(1, rows)?;
    let sets = TrainingSets::single(split.subset(0..n)?, split.dim())?;
    let to = Fit { engine: &engine, sets: &sets, shape: split.shape() };
    let chosen = |id| id == DenoiserId::EMPIRICAL || only.is_none_or(|only| only == id);
    let mut seconds = Vec::new();
    for entry in table::fitted().filter(|entry| chosen(entry.id)) {
        let denoiser = entry.fit(&to).await?;
        // At σ = 1 no window is at its smallest or largest.
        let time = denoising(&*denoiser, split.held_out(), 1.0, 0.5).await?;
        seconds.push((entry.id.name(), time));
    }
    Ok(seconds)
}

/// Seconds in which `denoiser` denoises the rows of `x` on the CPU engine: the fastest run in some time.
async fn denoising(denoiser: &dyn Denoiser, x: &[f32], sigma: f32, measured: f64) -> Result<f64> {
    let mut program = Engine::cpu().program(1)?;
    let out = program.buffer("D(x)", x.len())?;
    let rows = x.len() / denoiser.dim();
    let x = program.constant("x", &x.into())?;
    let sigma = program.constant("σ", &[sigma].into())?;
    let placed = denoiser.place(&mut program, rows)?;
    let routine = program
        .routine("denoise", |p| placed.record(p, x.into(), Sigma::shared(sigma), out.into()))?;
    fastest(&mut Engine::cpu().load(program).await?, routine, measured)
}

/// Seconds of the fastest of several runs: the machine may be busy with other things.
fn fastest(loaded: &mut Loaded, routine: Routine, seconds: f64) -> Result<f64> {
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let now = Instant::now();
        loaded.run(routine, 1)?;
        best = best.min(now.elapsed().as_secs_f64());
    }
    Ok(best)
}
