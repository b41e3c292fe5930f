//! The work that is measured, natively and in a browser.

use std::sync::Arc;

use hidden_gaussian::compute::{Engine, Loaded, Routine};
use hidden_gaussian::data::Dataset;
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::denoiser::{Denoiser, Empirical, TrainingSets};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};
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
    let images = images(if name == "faithful" { 16 } else { 12 })?;
    let config = match name {
        "quick" => Config::quick(seeds),
        "main" => Config::main(seeds),
        "faithful" => Config::faithful(images.shape(), seeds),
        other => return Err(Error::bad_input(format!("There is no preset {other}"), "")),
    };
    let ranges = vec![0..IMAGES as usize; members];
    let sets = TrainingSets::new(images.images(), images.shape().dim(), ranges)?;
    Session::new(engine, Config { steps: ENDLESS, ..config }, &sets).await
}

/// The matrix multiply that a tile of D_M does, and a large one.
pub const MATMULS: [[usize; 3]; 2] = [[64, 512, 256], [1024; 3]];

/// GFLOP/s of the CPU engine's matrix multiply.
pub async fn matmul(shape @ [m, n, k]: [usize; 3]) -> Result<f64> {
    let mut program = Engine::cpu().program(1)?;
    let [a, b, c] =
        [program.buffer("a", m * k)?, program.buffer("b", k * n)?, program.buffer("c", m * n)?];
    // Some hundred million multiply-adds, so that the clock's grain does not matter.
    let repeats = (1_usize << 27).div_ceil(m * n * k);
    let routine = program.routine("matmul", |p| {
        (0..repeats).try_for_each(|_| Matmul::new(Layout::Nt, a, b, c, shape).record(p))
    })?;
    let mut loaded = Engine::cpu().load(program).await?;
    Ok(2e-9 * (repeats * m * n * k) as f64 / fastest(&mut loaded, routine)?)
}

/// GFLOP/s of D_M on the CPU engine at N = 8192, d = 256, batch 64, counting its two matrix
/// multiplies.
pub async fn empirical() -> Result<f64> {
    let (n, dim, rows) = (8192, 256, 64);
    let images: Arc<[f32]> = faces(1, n as u32, 16)?.images().into();
    let empirical = Empirical::new(TrainingSets::single(images, dim)?);
    let mut program = Engine::cpu().program(1)?;
    let x = program.buffer("x", rows * dim)?;
    let out = program.buffer("D_M(x)", rows * dim)?;
    let sigma = program.shared("σ", 1)?;
    let placed = empirical.place(&mut program, rows)?;
    let routine = program
        .routine("denoise", |p| placed.record(p, x.into(), Sigma::shared(sigma), out.into()))?;
    let mut loaded = Engine::cpu().load(program).await?;
    loaded.upload(sigma, &[0.5_f32])?;
    Ok(2.0 * 2e-9 * (rows * n * dim) as f64 / fastest(&mut loaded, routine)?)
}

/// Seconds of the fastest of several runs: the machine may be busy with other things.
fn fastest(loaded: &mut Loaded, routine: Routine) -> Result<f64> {
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 1.0 {
        let now = Instant::now();
        loaded.run(routine, 1)?;
        best = best.min(now.elapsed().as_secs_f64());
    }
    Ok(best)
}
