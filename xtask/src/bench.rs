//! Prints rates: natively, beside JAX; and in Chromium, beside jax-js and TensorFlow.js.
//!
//! Everything that is compared runs in turns, and the best of several turns counts: other work on
//! the machine then hits all alike.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{cargo, command, root, run, target_dir, which, www},
    serve::Server,
    site::{self, WASM_TARGET},
    tools::{self, Package},
};

/// Turns that ours and JAX take.
const ROUNDS: usize = 3;

pub(crate) fn bench() -> Result<()> {
    run(&mut cargo(["bench", "--bench", "rates", "--bench", "matmul"]))?;
    match install_jax() {
        Ok(python) => beside_jax(&python)?,
        Err(error) => println!("\nNot measured beside JAX: {error:#}"),
    }
    match site::npm_install_in(&peers()) {
        Ok(()) => in_chromium(),
        Err(error) => {
            println!("\nNot measured beside jax-js and TensorFlow.js: {error:#}");
            Ok(())
        }
    }
}

/// What the compiler of GPUs that are not here makes of our shaders, and of others' if they can be had.
pub(crate) fn isa() -> Result<()> {
    tools::require(&[Package::Vulkan])?;
    let mut isa = cargo(["run", "--quiet", "--package", "isa", "--"]);
    match capture() {
        Ok(file) => isa.arg(file),
        Err(error) => {
            println!("\nNot beside jax-js and TensorFlow.js: {error:#}");
            &mut isa
        }
    };
    run(&mut isa)
}

/// A file of the shaders that jax-js and TensorFlow.js run in a training step.
fn capture() -> Result<PathBuf> {
    tools::require(&[Package::Chromium])?;
    // The page's packages bring the bundler and what drives the browser.
    site::npm_install_in(&www())?;
    site::npm_install_in(&peers())?;
    let folder = target_dir()?.join("bench");
    fs::create_dir_all(&folder)?;
    let file = folder.join("captured.json");
    run(command("node", [peers().join("capture.mjs")])
        .env("BENCH_SITE", folder.join("capture-site"))
        .env("CAPTURE", &file)
        .env("CHROMIUM", tools::chromium()?))?;
    Ok(file)
}

/// The other programs, and what drives them.
fn peers() -> PathBuf {
    root().join("benches/peers")
}

/// The Python of an environment with JAX in the target folder.
fn install_jax() -> Result<PathBuf> {
    let requirements = peers().join("requirements.txt");
    let home = target_dir()?.join("jax");
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = home.join("installed.txt");
    let wanted = fs::read(&requirements)?;
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let system = which(&["python3", "python"]).context("there is no Python")?;
    run(command(system, ["-m", "venv"]).arg(&home))?;
    run(command(&python, ["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))?;
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// Ours and JAX on the same cores: one, and all.
fn beside_jax(python: &Path) -> Result<()> {
    let cores = std::thread::available_parallelism()?.get();
    println!("\nNatively, beside JAX: steps per second; matrix multiply of 1024³ in GFLOP/s");
    println!("{:<10}{:>8}{:>10}{:>10}{:>10}", "", "threads", "ours", "JAX", "ratio");
    for threads in [1, cores] {
        let (mut ours, mut jax) = (Rates::default(), Rates::default());
        for _ in 0..ROUNDS {
            let mut rates = cargo(["bench", "--quiet", "--bench", "rates", "--", "steps"]);
            ours.read(rates.env("RAYON_NUM_THREADS", threads.to_string()))?;
            let script = peers().join("jax_steps.py");
            jax.read(command(python, [script]).arg(threads.to_string()))?;
        }
        for (name, jax) in &jax.0 {
            let ours = ours.0.get(name).copied().unwrap_or_default();
            let ratio = ours / jax;
            println!("{name:<10}{threads:>8}{ours:>10.1}{jax:>10.1}{ratio:>8.2} ×");
        }
    }
    Ok(())
}

/// The best rates that a program printed, by name.
#[derive(Default)]
struct Rates(BTreeMap<String, f64>);

impl Rates {
    /// Runs a program that prints lines of a name, a tab and a rate.
    fn read(&mut self, program: &mut Command) -> Result<()> {
        let output = program.output().context("could not start what is measured")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "a measurement failed: {errors}");
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((name, rate)) = line.split_once('\t') else { continue };
            let rate: f64 = rate.parse().with_context(|| format!("{rate:?} is no rate"))?;
            let best = self.0.entry(name.to_owned()).or_default();
            *best = best.max(rate);
        }
        Ok(())
    }
}

/// Ours, jax-js and TensorFlow.js in one Chromium.
fn in_chromium() -> Result<()> {
    tools::require(&[Package::Chromium])?;
    // Its packages bring the bundler and what drives the browser.
    site::build()?;
    run(&mut cargo(["build", "--profile", "wasm", "--example", "bench", "--target", WASM_TARGET]))?;
    let target = target_dir()?;
    let compiled = target.join(WASM_TARGET).join("wasm/examples/bench.wasm");
    let package = target.join("bench/package");
    site::make_package(&compiled, &package.join("bench_bg.wasm"))?;
    println!();
    let server = Server::start("/")?;
    run(command("node", [peers().join("run.mjs")])
        .env("SITE_URL", &server.url)
        .env("BENCH_PACKAGE", &package)
        .env("BENCH_SITE", target.join("bench/site"))
        .env("CHROMIUM", tools::chromium()?))
}
