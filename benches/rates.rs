//! Rates of the CPU engine in one run: matrix multiply, the empirical denoiser D_M (which is two of
//! them), and training steps of the presets, as GFLOP/s and as shares of the matrix multiply.
//!
//! `cargo bench --bench rates` natively; `cargo xtask bench` also in Chromium, in a worker.

use std::sync::Arc;

use hidden_gaussian::Result;
use hidden_gaussian::compute::{Engine, Loaded, Routine};
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::denoiser::{Denoiser, Empirical, TrainingSets};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};
use hidden_gaussian::train::{Config, Session};
use web_time::Instant;

/// Seconds of the fastest of several runs: the machine may be busy with other things.
async fn fastest(loaded: &mut Loaded, routine: Routine) -> Result<f64> {
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 1.0 {
        let now = Instant::now();
        loaded.run(routine, 4)?;
        best = best.min(now.elapsed().as_secs_f64() / 4.0);
    }
    Ok(best)
}

/// GFLOP/s of the multiply that a tile of D_M does.
async fn matmul() -> Result<f64> {
    let shape @ [m, n, k] = [64, 512, 256];
    let mut program = Engine::Cpu.program(1)?;
    let [a, b, c] =
        [program.buffer("a", m * k)?, program.buffer("b", k * n)?, program.buffer("c", m * n)?];
    let routine = program.routine("matmul", |p| {
        // Sixteen, as D_M does at N = 8192, so that the clock's grain does not matter.
        (0..16).try_for_each(|_| Matmul::new(Layout::Nt, a, b, c, shape).record(p))
    })?;
    let mut loaded = Engine::Cpu.load(program).await?;
    Ok(16.0 * 2e-9 * (m * n * k) as f64 / fastest(&mut loaded, routine).await?)
}

/// GFLOP/s of D_M at N = 8192, d = 256, batch 64, counting its two matrix multiplies.
async fn empirical() -> Result<f64> {
    let (n, dim, rows) = (8192, 256, 64);
    let images: Arc<[f32]> = faces(1, n as u32, 16)?.images().into();
    let empirical = Empirical::new(TrainingSets::single(images, dim)?);
    let mut program = Engine::Cpu.program(1)?;
    let x = program.buffer("x", rows * dim)?;
    let out = program.buffer("D_M(x)", rows * dim)?;
    let sigma = program.shared("σ", 1)?;
    let placed = empirical.place(&mut program, rows)?;
    let routine = program
        .routine("denoise", |p| placed.record(p, x.into(), Sigma::shared(sigma), out.into()))?;
    let mut loaded = Engine::Cpu.load(program).await?;
    loaded.upload(sigma, &[0.5_f32])?;
    Ok(2.0 * 2e-9 * (rows * n * dim) as f64 / fastest(&mut loaded, routine).await?)
}

/// Steps per second and GFLOP/s of training one member: forward and backward are three multiplies
/// with every weight.
async fn training(config: Config, dim: usize) -> Result<[f64; 2]> {
    let images: Arc<[f32]> = faces(1, 256, (dim as f64).sqrt() as usize)?.images().into();
    let sets = TrainingSets::single(images, dim)?;
    let batch = config.batch;
    let mut session = Session::new(&Engine::Cpu, config, &sets).await?;
    let (mut best, start) = (f64::INFINITY, Instant::now());
    while start.elapsed().as_secs_f64() < 2.0 {
        let now = Instant::now();
        let steps = session.step(10)?;
        if steps == 0 {
            break;
        }
        best = best.min(now.elapsed().as_secs_f64() / f64::from(steps));
    }
    let flop = (6 * batch * session.parameter_count()) as f64;
    Ok([1.0 / best, 1e-9 * flop / best])
}

async fn table() -> Result<String> {
    let peak = matmul().await?;
    let empirical = empirical().await?;
    let quick = training(Config::quick(vec![1]), 144).await?;
    let main = training(Config::main(vec![1]), 144).await?;
    let row = |name: &str, rate: f64, note: String| {
        format!("{name:<36} {rate:>7.1} GFLOP/s {:>5.0} %  {note}\n", 100.0 * rate / peak)
    };
    Ok(row("matrix multiply 64×512×256", peak, String::new())
        + &row("D_M, N = 8192, d = 256, batch 64", empirical, String::new())
        + &row("training step, quick MLP", quick[1], format!("{:.0} steps/s", quick[0]))
        + &row("training step, main MLP", main[1], format!("{:.0} steps/s", main[0])))
}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<()> {
    println!("CPU engine, native, one member\n{}", pollster::block_on(table())?);
    Ok(())
}

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(target_arch = "wasm32")]
mod browser {
    use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

    wasm_bindgen_test_configure!(run_in_dedicated_worker);

    #[wasm_bindgen_test]
    async fn rates() -> Result<(), String> {
        let table = super::table().await.map_err(|error| error.to_string())?;
        console_log!("CPU engine, WebAssembly in Chromium, one worker, one member\n{table}");
        Ok(())
    }
}
