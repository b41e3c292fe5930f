//! Rates of the CPU engine, natively, in one run: matrix multiply, the empirical denoiser D_M (which
//! is two of them), and training steps of the presets, as GFLOP/s and as shares of the fastest
//! matrix multiply; and what an ensemble costs.
//!
//! `cargo bench --bench rates`. With `-- stages` it prints what each kernel takes of a step. With `-- turns` it takes
//! turns beside other programs, for `cargo xtask bench`: it reads lines of a row's name and seconds, and prints the best
//! rate in that time, steps per second of a preset or GFLOP/s of a matrix multiply, and that in GFLOP/s.
//! `RAYON_NUM_THREADS` sets the threads.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

#[expect(dead_code, reason = "other benches use the rest")]
mod cases;

use std::collections::BTreeMap;
use std::io::stdin;
use std::time::Instant;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::kernels::matmul::Layout;
use hidden_gaussian::train::Session;
use hidden_gaussian::{Error, Result};
use pollster::block_on;

/// Seconds that a training run is measured for.
const MEASURED: f64 = 2.0;

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
    const ALL: [Self; 5] = [
        Self { name: "quick", multiply_adds: 180_224, batch: 32 },
        Self { name: "main", multiply_adds: 505_856, batch: 64 },
        Self { name: "faithful", multiply_adds: 1_816_576, batch: 64 },
        Self { name: "cifar-quick", multiply_adds: 12_384_256, batch: 64 },
        Self { name: "cifar", multiply_adds: 47_704_064, batch: 64 },
    ];

    /// Floating-point operations of a step: the backward pass multiplies twice as much.
    fn flop(self) -> f64 {
        (6 * self.batch * self.multiply_adds) as f64
    }
}

/// Seconds of the fastest steps of several, within this many seconds.
fn seconds_per_step(session: &mut Session, measured: f64) -> Result<f64> {
    let (mut best, start) = (f64::INFINITY, Instant::now());
    let mut count = 1;
    while start.elapsed().as_secs_f64() < measured {
        let now = Instant::now();
        let steps = session.step(count)?;
        let seconds = now.elapsed().as_secs_f64();
        best = best.min(seconds / f64::from(steps));
        if seconds < 0.02 {
            count *= 2;
        }
    }
    Ok(best)
}

/// What an ensemble costs in units of one member: the median of turns, each of the same work for both,
/// so that whatever else the machine does slows both.
fn ensemble_cost(preset: &str) -> Result<f64> {
    const TURNS: usize = 15;
    let [mut one, mut all] = [training(preset, 1)?, training(preset, MEMBERS)?];
    // Steps of all members that take about a quarter of a second.
    let steps = (0.25 / seconds_per_step(&mut all, MEASURED)?).ceil() as u32;
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

/// What takes a turn.
enum Contestant {
    Steps(Preset, Session),
    Multiply(cases::Multiply),
}

impl Contestant {
    fn enter(name: &str) -> Result<Self> {
        if let Some(size) = name.strip_prefix("matmul-") {
            let size = size.parse().map_err(|_| Error::bad_input(format!("No row {name}"), ""))?;
            return Ok(Self::Multiply(block_on(cases::Multiply::new((Layout::Nn, [size; 3])))?));
        }
        let preset = Preset::ALL.into_iter().find(|preset| preset.name == name);
        let preset = preset.ok_or_else(|| Error::bad_input(format!("No row {name}"), ""))?;
        let mut session = training(name, 1)?;
        session.step(3)?;
        Ok(Self::Steps(preset, session))
    }

    /// The rate, and that in GFLOP/s.
    fn rate(&mut self, seconds: f64) -> Result<[f64; 2]> {
        match self {
            Self::Steps(preset, session) => {
                let rate = 1.0 / seconds_per_step(session, seconds)?;
                Ok([rate, 1e-9 * preset.flop() * rate])
            }
            Self::Multiply(multiply) => Ok([multiply.rate(seconds)?; 2]),
        }
    }
}

fn turns() -> Result<()> {
    let mut entered = BTreeMap::new();
    for line in stdin().lines() {
        let line = line.map_err(|error| Error::bad_input(error.to_string(), ""))?;
        let (name, seconds) = line.split_once(' ').unwrap_or((&line, ""));
        let seconds = seconds.parse().unwrap_or(MEASURED);
        let contestant = match entered.remove(name) {
            Some(contestant) => contestant,
            None => Contestant::enter(name)?,
        };
        let contestant = entered.entry(name.to_owned()).or_insert(contestant);
        let [rate, gigaflop] = contestant.rate(seconds)?;
        println!("{rate} {gigaflop}");
    }
    Ok(())
}

fn table() -> Result<()> {
    println!("CPU engine, native, {} threads", rayon::current_num_threads());
    let tile = block_on(cases::matmul(cases::TILE))?;
    let large = block_on(cases::matmul((Layout::Nn, [1024; 3])))?;
    let peak = tile.max(large);
    let row = |name: &str, rate: f64, note: String| {
        println!("{name:<36} {rate:>7.1} GFLOP/s {:>5.0} %  {note}", 100.0 * rate / peak);
    };
    row("matrix multiply 1024×1024×1024", large, String::new());
    row("matrix multiply 64×512×256", tile, String::new());
    row("D_M, N = 8192, d = 256, batch 64", block_on(cases::empirical())?, String::new());
    for preset in Preset::ALL {
        let seconds = seconds_per_step(&mut training(preset.name, 1)?, MEASURED)?;
        let cost = ensemble_cost(preset.name)?;
        let note = format!("{:.0} steps/s; {MEMBERS} members cost {cost:.2} ×", 1.0 / seconds);
        let name = format!("training step, {}", preset.name);
        row(&name, 1e-9 * preset.flop() / seconds, note);
    }
    Ok(())
}

/// What each kernel takes of a training step.
fn stages() -> Result<()> {
    let peak = block_on(cases::matmul((Layout::Nn, [1024; 3])))?;
    println!(
        "CPU engine, native, {} threads; matrix multiply {peak:.0} GFLOP/s",
        rayon::current_num_threads()
    );
    for preset in Preset::ALL {
        let mut session = training(preset.name, 1)?;
        session.step(3)?;
        let (mut times, start) = (BTreeMap::new(), Instant::now());
        let mut steps = 0.0;
        while start.elapsed().as_secs_f64() < MEASURED {
            // On a thread of the pool, like a run.
            rayon::scope(|_| session.time_step(&mut times));
            steps += 1.0;
        }
        let mut times: Vec<_> =
            times.into_iter().map(|(name, t)| (name, t.as_secs_f64())).collect();
        times.sort_by(|a, b| b.1.total_cmp(&a.1));
        let total: f64 = times.iter().map(|(_, t)| t).sum();
        let share = 1e-9 * preset.flop() * steps / total / peak;
        println!(
            "\n{}: {:.0} µs, {:.0} % of the multiply's rate",
            preset.name,
            1e6 * total / steps,
            100.0 * share
        );
        for (name, seconds) in times.iter().filter(|(_, t)| t / total > 0.01) {
            println!(
                "  {name:<28} {:>8.1} µs {:>4.0} %",
                1e6 * seconds / steps,
                100.0 * seconds / total
            );
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let asked = |name| std::env::args().any(|arg| arg == name);
    if asked("turns") {
        turns()
    } else if asked("stages") {
        stages()
    } else {
        table()
    }
}
