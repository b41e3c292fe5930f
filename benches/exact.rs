//! The exact denoisers at 32 × 32 in colour, natively: D_G's fit beside NumPy's, and D_M and nearest
//! neighbours among 50,000 images as shares of the matrix multiply's rate in the same run.
//!
//! `cargo bench --bench exact`. `PYTHON` names an interpreter that has NumPy, `RAYON_NUM_THREADS` sets the
//! threads. The images are noise with the smoothness of photographs: times do not depend on what is shown.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use hidden_gaussian::compute::{Engine, Loaded, Program, Routine};
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::denoiser::{Denoiser, Empirical, Fitting, GaussianFit, Neighbours};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};
use hidden_gaussian::rng::{Stream, fill_normals};
use hidden_gaussian::{Error, Result};
use pollster::block_on;

/// Width and height of an image.
const SIDE: usize = 32;

/// Numbers in an image.
const DIM: usize = 3 * SIDE * SIDE;

/// Images that D_G is fitted to beside NumPy, which holds them in f64.
const FITTED: usize = 10_000;

/// Images of the training set of CIFAR-10.
const ALL: usize = 50_000;

/// Noisy images in a batch.
const ROWS: usize = 64;

/// Smooth noise: each pixel resembles those on its left and above, and colours resemble each other.
fn images(n: usize) -> Vec<f32> {
    let mut images = vec![0.0; n * DIM];
    fill_normals(7, Stream::MetricNoise, 0, &mut images);
    for image in images.chunks_exact_mut(DIM) {
        for at in 0..DIM {
            let (row, col) = (at / 3 / SIDE, at / 3 % SIDE);
            let left = if col > 0 { image[at - 3] } else { 0.0 };
            let above = if row > 0 { image[at - 3 * SIDE] } else { 0.0 };
            let colour = if at % 3 > 0 { image[at - 1] } else { left };
            image[at] = 0.1 * image[at] + 0.45 * above + 0.3 * left + 0.22 * colour;
        }
    }
    images
}

/// Seconds of the fastest of some runs.
fn fastest(loaded: &mut Loaded, routine: Routine) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let now = Instant::now();
        loaded.run(routine, 1)?;
        best = best.min(now.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// GFLOP/s of a square matrix multiply.
fn matmul() -> Result<f64> {
    const SIZE: usize = 1024;
    let mut program = Engine::cpu().program(1)?;
    let [a, b, c] = [
        program.buffer("a", SIZE * SIZE)?,
        program.buffer("b", SIZE * SIZE)?,
        program.buffer("c", SIZE * SIZE)?,
    ];
    let record = |p: &mut Program| Matmul::new(Layout::Nt, a, b, c, [SIZE; 3]).record(p);
    let routine = program.routine("matmul", record)?;
    let mut loaded = block_on(Engine::cpu().load(program))?;
    Ok(2e-9 * (SIZE as f64).powi(3) / fastest(&mut loaded, routine)?)
}

/// Seconds of D_M, and of the search for nearest neighbours.
fn empirical(images: Arc<[f32]>) -> Result<[f64; 2]> {
    let x = images[..ROWS * DIM].to_vec();
    let empirical = Empirical::new(TrainingSets::single(images, DIM)?);
    let mut program = Engine::cpu().program(1)?;
    let x = program.buffer_with("x", x)?;
    let out = program.buffer("D_M(x)", ROWS * DIM)?;
    let sigma = program.shared("σ", 1)?;
    let placed = empirical.place(&mut program, ROWS)?;
    let denoise = program
        .routine("denoise", |p| placed.record(p, x.into(), Sigma::shared(sigma), out.into()))?;
    let placed = empirical.place_in(&mut program, ROWS)?;
    let neighbours = Neighbours::new(&mut program, ROWS)?;
    let search = program.routine("nearest", |p| placed.record_nearest(p, x.into(), neighbours))?;
    let mut loaded = block_on(Engine::cpu().load(program))?;
    drop(empirical);
    loaded.upload(sigma, &[0.5_f32])?;
    Ok([fastest(&mut loaded, denoise)?, fastest(&mut loaded, search)?])
}

/// Seconds for the covariance, and for its axes.
fn gaussian(images: &[f32]) -> Result<[f64; 2]> {
    let mut seconds = [0.0; 2];
    let mut fitting = Fitting::new(images, DIM)?;
    loop {
        let part = usize::from(fitting.stage() != "covariance");
        let now = Instant::now();
        let fit: Option<GaussianFit> = fitting.step()?;
        seconds[part] += now.elapsed().as_secs_f64();
        if fit.is_some() {
            return Ok(seconds);
        }
    }
}

/// The same of NumPy, in f64; none if there is no NumPy.
fn numpy(images: &[f32]) -> Result<Option<[f64; 2]>> {
    const SCRIPT: &str = "
import sys, time
import numpy as np
x = np.fromfile(sys.argv[1], dtype=np.float32).reshape(-1, int(sys.argv[2]))
start = time.perf_counter()
x = x.astype(np.float64)
x -= x.mean(axis=0)
covariance = x.T @ x / len(x)
middle = time.perf_counter()
np.linalg.eigh(covariance)
print(middle - start, time.perf_counter() - middle)
";
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let known = Command::new(&python).args(["-c", "import numpy"]).output();
    if !known.is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    let failed = |error: std::io::Error| Error::bad_input(error.to_string(), "");
    let path = std::env::temp_dir().join(format!("hidden-gaussian-{}.f32", std::process::id()));
    std::fs::File::create(&path)
        .and_then(|mut file| file.write_all(bytemuck::cast_slice(images)))
        .map_err(failed)?;
    let output = Command::new(&python)
        .args(["-c", SCRIPT])
        .arg(&path)
        .arg(DIM.to_string())
        .output()
        .map_err(failed);
    std::fs::remove_file(&path).map_err(failed)?;
    let text = String::from_utf8_lossy(&output?.stdout).into_owned();
    let mut seconds = text.split_whitespace().filter_map(|word| word.parse().ok());
    Ok(seconds.next().zip(seconds.next()).map(|(a, b)| [a, b]))
}

fn main() -> Result<()> {
    println!(
        "CPU engine, native, {} threads, images of {DIM} numbers",
        rayon::current_num_threads()
    );
    let all: Arc<[f32]> = images(ALL).into();
    let peak = matmul()?;
    let [denoise, search] = empirical(Arc::clone(&all))?;
    let row = |name: &str, rate: f64| {
        println!("{name:<44} {rate:>7.1} GFLOP/s {:>5.0} %", 100.0 * rate / peak);
    };
    row("matrix multiply 1024×1024×1024", peak);
    let flop = 2e-9 * (ROWS * ALL * DIM) as f64;
    row("D_M, N = 50,000, batch 64", 2.0 * flop / denoise);
    row("nearest neighbours, N = 50,000, batch 64", flop / search);
    let fitted = &all[..FITTED * DIM];
    let ours = gaussian(fitted)?;
    let numpy = numpy(fitted)?;
    for (part, name) in
        ["covariance of 10,000 images, f64", "its principal axes, f64"].iter().enumerate()
    {
        match numpy {
            Some(numpy) => println!(
                "{name:<44} {:>7.2} s, NumPy {:.2} s, ratio {:.2}",
                ours[part],
                numpy[part],
                ours[part] / numpy[part]
            ),
            None => println!("{name:<44} {:>7.2} s (no NumPy to compare with)", ours[part]),
        }
    }
    let [covariance, axes] = gaussian(&all)?;
    println!("{:<44} {:>7.2} s", "D_G fitted to 50,000 images", covariance + axes);
    Ok(())
}
