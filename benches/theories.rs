//! The theories of Section V, natively: the time that each takes as a multiple of D_M's, on the same images in
//! the same run.
//!
//! `cargo bench --bench theories`. `RAYON_NUM_THREADS` sets the threads. The images are faces of 16 × 16 pixels.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

use std::time::Instant;

use hidden_gaussian::Result;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::{Faces, TrainingSets};
use hidden_gaussian::denoiser::{Denoiser, DenoiserId, Fit, table};
use hidden_gaussian::kernels::Sigma;
use pollster::block_on;

/// Where no window is at its smallest or largest.
const SIGMA: f32 = 1.0;

/// Seconds of the fastest of some runs on `rows` noisy images.
fn seconds(engine: &Engine, denoiser: &dyn Denoiser, x: &[f32]) -> Result<f64> {
    let mut program = engine.program(1)?;
    let input = program.constant("x", &x.into())?;
    let sigma = program.constant("σ", &[SIGMA].into())?;
    let out = program.buffer("D(x)", x.len())?;
    let placed = denoiser.place(&mut program, x.len() / denoiser.dim())?;
    let routine = program
        .routine("denoise", |p| placed.record(p, input.into(), Sigma::shared(sigma), out.into()))?;
    let mut loaded = block_on(engine.load(program))?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let now = Instant::now();
        loaded.run(routine, 1)?;
        best = best.min(now.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn main() -> Result<()> {
    let engine = Engine::cpu();
    println!("{:<16}{:>8}{:>8}{:>12}{:>12}", "theory", "N", "images", "seconds", "of D_M's");
    for (n, rows, only) in [(8192, 64, Some(DenoiserId::LS)), (1024, 16, None)] {
        let split = Faces { size: 16, count: (n + rows) as u32, seed: 1 }.draw()?.split(1, rows)?;
        let sets = TrainingSets::single(split.subset(0..n)?, split.dim())?;
        let to = Fit { engine: &engine, sets: &sets, shape: split.shape() };
        let x = &split.held_out()[..rows * split.dim()];
        let mut of_memorizing = f64::NAN;
        for entry in table::fitted() {
            if entry.id != DenoiserId::EMPIRICAL && only.is_some_and(|only| only != entry.id) {
                continue;
            }
            let time = seconds(&engine, &*block_on(entry.fit(&to))?, x)?;
            if entry.id == DenoiserId::EMPIRICAL {
                of_memorizing = time;
            }
            // D_G comes first in the table and has nothing to be compared with yet.
            let ratio = if of_memorizing.is_nan() {
                String::new()
            } else {
                format!("{:.2}", time / of_memorizing)
            };
            println!("{:<16}{n:>8}{rows:>8}{time:>12.4}{ratio:>12}", entry.id.name());
        }
    }
    Ok(())
}
