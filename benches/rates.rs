//! Rates of the CPU engine, natively, in one run: matrix multiply, the empirical denoiser D_M (which
//! is two of them), and training steps of the presets, as GFLOP/s and as shares of the fastest
//! matrix multiply; and what an ensemble costs.
//!
//! `cargo bench --bench rates`. With `-- steps` it prints nothing but the steps per second of each
//! preset and the GFLOP/s of a large matrix multiply, for `cargo xtask bench` to lay beside JAX's. `RAYON_NUM_THREADS` sets the threads.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

mod cases;

use std::time::{Duration, Instant};

use hidden_gaussian::Result;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::train::Session;
use pollster::block_on;

/// How long a training run is measured.
const MEASURED: Duration = Duration::from_secs(2);

/// Members of the ensemble.
const MEMBERS: usize = 8;

/// A preset that is trained.
#[derive(Debug, Clone, Copy)]
struct Preset {
    /// Its name.
    name: &'static str,
    /// Multiply-adds of a forward pass of one image.
    multiply_adds: usize,
    /// Images in a batch.
    batch: usize,
}

impl Preset {
    /// All of them.
    const ALL: [Self; 3] = [
        Self { name: "quick", multiply_adds: 180_224, batch: 32 },
        Self { name: "main", multiply_adds: 505_856, batch: 64 },
        Self { name: "faithful", multiply_adds: 1_816_576, batch: 64 },
    ];

    /// Floating-point operations of a step: the backward pass multiplies twice as much.
    fn flop(self) -> f64 {
        (6 * self.batch * self.multiply_adds) as f64
    }
}

/// Seconds of the fastest steps of several.
fn seconds_per_step(session: &mut Session) -> Result<f64> {
    let (mut best, start) = (f64::INFINITY, Instant::now());
    while start.elapsed() < MEASURED {
        let now = Instant::now();
        let steps = session.step(10)?;
        best = best.min(now.elapsed().as_secs_f64() / f64::from(steps));
    }
    Ok(best)
}

/// What an ensemble costs in units of one member: the median of turns, each of the same work for both,
/// so that whatever else the machine does slows both.
fn ensemble_cost(preset: &str) -> Result<f64> {
    const TURNS: usize = 15;
    let [mut one, mut all] = [training(preset, 1)?, training(preset, MEMBERS)?];
    // Steps of all members that take about a quarter of a second.
    let steps = (0.25 / seconds_per_step(&mut all)?).ceil() as u32;
    let seconds = |session: &mut Session, steps| -> Result<f64> {
        let now = Instant::now();
        session.step(steps)?;
        Ok(now.elapsed().as_secs_f64())
    };
    let mut costs = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        let single = seconds(&mut one, steps * MEMBERS as u32)? / MEMBERS as f64;
        costs.push(seconds(&mut all, steps)? / single);
    }
    costs.sort_by(f64::total_cmp);
    Ok(costs[TURNS / 2])
}

fn training(preset: &str, members: usize) -> Result<Session> {
    block_on(cases::training(&Engine::cpu(), preset, members))
}

fn steps() -> Result<()> {
    for Preset { name, .. } in Preset::ALL {
        println!("{name}\t{}", 1.0 / seconds_per_step(&mut training(name, 1)?)?);
    }
    println!("matmul\t{}", block_on(cases::matmul(cases::MATMULS[1]))?);
    Ok(())
}

fn table() -> Result<()> {
    println!("CPU engine, native, {} threads", rayon::current_num_threads());
    let [tile, large] = cases::MATMULS.map(|shape| block_on(cases::matmul(shape)));
    let (tile, large) = (tile?, large?);
    let peak = tile.max(large);
    let row = |name: &str, rate: f64, note: String| {
        println!("{name:<36} {rate:>7.1} GFLOP/s {:>5.0} %  {note}", 100.0 * rate / peak);
    };
    row("matrix multiply 1024×1024×1024", large, String::new());
    row("matrix multiply 64×512×256", tile, String::new());
    row("D_M, N = 8192, d = 256, batch 64", block_on(cases::empirical())?, String::new());
    for preset in Preset::ALL {
        let seconds = seconds_per_step(&mut training(preset.name, 1)?)?;
        let cost = ensemble_cost(preset.name)?;
        let note = format!("{:.0} steps/s; {MEMBERS} members cost {cost:.2} ×", 1.0 / seconds);
        let name = format!("training step, {}", preset.name);
        row(&name, 1e-9 * preset.flop() / seconds, note);
    }
    Ok(())
}

fn main() -> Result<()> {
    if std::env::args().any(|arg| arg == "steps") { steps() } else { table() }
}
