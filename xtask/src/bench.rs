//! Prints rates: natively, beside JAX, PyTorch, NumPy and Burn; in Chromium, beside jax-js and
//! TensorFlow.js; and what is expected of GPUs that are not here.
//!
//! Everything that is compared runs in turns, and the best of several turns counts: other work on
//! the machine then hits all alike.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{cargo, command, root, run, target_dir, which, www},
    serve::Server,
    site::{self, WASM_TARGET},
    tools::{self, Package},
};

/// Turns that everybody takes in a row of the table.
const ROUNDS: usize = 6;

/// Seconds of a turn.
const TURN: f64 = 0.5;

/// The rows: training steps of the presets, and large matrix multiplies.
const ROWS: [&str; 7] =
    ["quick", "main", "faithful", "cifar-quick", "cifar", "matmul-1024", "matmul-2048"];

/// What we are called.
const OURS: &str = "ours";

/// The row whose rate the others are shares of.
const PEAK: &str = "matmul-1024";

/// A table, or a few that belong together.
struct Section {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

const SECTIONS: [Section; 6] = [
    Section {
        name: "engines",
        about: "our engines, matrix multiplies and convolutions",
        run: engines,
    },
    Section { name: "native", about: "beside JAX, PyTorch, NumPy and Burn", run: natively },
    Section { name: "exact", about: "the exact denoisers, beside NumPy", run: exact },
    Section { name: "theories", about: "the theories of Section V, beside D_M", run: theories },
    Section {
        name: "browser",
        about: "in Chromium, beside jax-js and TensorFlow.js",
        run: in_chromium,
    },
    Section { name: "isa", about: "the shaders on GPUs that are not here", run: isa },
];

/// One line of help per section.
pub(crate) fn describe() -> String {
    SECTIONS.iter().map(|section| format!("  {:<8}  {}\n", section.name, section.about)).collect()
}

/// Runs all sections, or those in `only`. A section that fails does not keep the others from running.
pub(crate) fn bench(only: &[String]) -> Result<()> {
    for name in only {
        let known = SECTIONS.iter().any(|section| section.name == name);
        ensure!(known, "unknown section {name:?}; the sections are\n{}", describe());
    }
    let mut failed = Vec::new();
    for Section { name, about, run } in SECTIONS {
        if !only.is_empty() && only.iter().all(|one| one != name) {
            continue;
        }
        println!("\n== {name}: {about}");
        if let Err(error) = run() {
            println!("{name} failed: {error:#}");
            failed.push(name);
        }
    }
    ensure!(failed.is_empty(), "not all sections were measured: {}", failed.join(", "));
    Ok(())
}

fn engines() -> Result<()> {
    run(&mut cargo(["bench", "--bench", "rates", "--bench", "matmul", "--bench", "conv"]))
}

fn exact() -> Result<()> {
    let python = install_python_peers().unwrap_or_else(|error| {
        println!("Not beside NumPy: {error:#}");
        PathBuf::new()
    });
    run(cargo(["bench", "--bench", "exact"]).env("PYTHON", python))
}

fn theories() -> Result<()> {
    run(&mut cargo(["bench", "--bench", "theories"]))
}

/// What the compiler of GPUs that are not here makes of our shaders, and of others' if they can be had.
fn isa() -> Result<()> {
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

/// The Python of an environment with the peers in the target folder.
fn install_python_peers() -> Result<PathBuf> {
    let requirements = peers().join("requirements.txt");
    let home = target_dir()?.join("python-peers");
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = home.join("installed.txt");
    let wanted = fs::read(&requirements)?;
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let system = which(&["python3", "python"]).context("there is no Python")?;
    run(command(system, ["-m", "venv"]).arg(&home))?;
    // The list is complete. What PyTorch asks for besides are gigabytes of CUDA.
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--requirement"];
    run(command(&python, install).arg(requirements))?;
    if cfg!(target_os = "linux") {
        run(&mut command(&python, [peers().join("cuda_stubs.py")]))?;
    }
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// Burn's program, compiled in a workspace of its own.
fn build_burn() -> Result<PathBuf> {
    let folder = target_dir()?.join("burn");
    let manifest = root().join("benches/burn/Cargo.toml");
    let build = cargo(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
    let mut build = build;
    run(build.arg(manifest).arg("--target-dir").arg(&folder))?;
    Ok(folder.join("release").join(format!("burn-steps{}", std::env::consts::EXE_SUFFIX)))
}

/// Ours and others on the same cores: one, and all.
fn natively() -> Result<()> {
    let python = &install_python_peers();
    let burn = build_burn();
    for error in [python.as_ref().err(), burn.as_ref().err()].into_iter().flatten() {
        println!("\nNot everybody takes part: {error:#}");
    }
    let cores = std::thread::available_parallelism()?.get();
    for threads in [1, cores] {
        let ours = cargo(["bench", "--quiet", "--bench", "rates", "--", "turns"]);
        let mut contestants = vec![Contestant::start(OURS, ours, threads)?];
        let script = |name: &str, python: &Path| {
            let script = peers().join(format!("{name}_steps.py"));
            command(python, [script.as_os_str(), threads.to_string().as_ref()])
        };
        for (name, file) in [("JAX", "jax"), ("PyTorch", "torch"), ("NumPy", "numpy")] {
            if let Ok(python) = python {
                contestants.extend(Contestant::try_start(name, script(file, python), threads));
            }
        }
        if let Ok(burn) = &burn {
            let program = command::<&str>(burn, []);
            contestants.extend(Contestant::try_start("Burn", program, threads));
        }
        table(&mut contestants, threads)?;
    }
    Ok(())
}

/// Prints what everybody reaches, in turns.
fn table(contestants: &mut Vec<Contestant>, threads: usize) -> Result<()> {
    // Those that cannot take a single turn are left out.
    let (row, seconds) = (PEAK, 0.01);
    contestants.retain_mut(|contestant| match contestant.turn(row, seconds) {
        Err(error) if contestant.name != OURS => {
            println!("{} does not take part: {error:#}", contestant.name);
            false
        }
        _ => true,
    });
    println!("\nNatively, {threads} threads: steps per second; matrix multiplies in GFLOP/s");
    print!("{:<14}", "");
    contestants.iter().for_each(|contestant| print!("{:>9}", contestant.name));
    println!("{:>18}{:>12}", "ours / fastest", "of matmul");
    let mut peak = f64::NAN;
    // The matrix multiply comes first: the shares need it.
    let rows = [PEAK].into_iter().chain(ROWS.into_iter().filter(|row| *row != PEAK));
    for row in rows {
        let mut best = vec![Rate::NONE; contestants.len()];
        for round in 0..=ROUNDS {
            // In the first turn everything is made, and compiled where it has to be.
            let seconds = if round == 0 { 0.01 } else { TURN };
            for (contestant, best) in contestants.iter_mut().zip(&mut best) {
                // One that has ended in the middle has no rate from then on. Without ours there is no table.
                let rate = match contestant.turn(row, seconds) {
                    Err(_) if contestant.name != OURS => Rate::NONE,
                    rate => rate?,
                };
                if rate.per_second > best.per_second {
                    *best = rate;
                }
            }
        }
        if row == PEAK {
            peak = best[0].per_second;
        }
        let others = best[1..].iter().map(|rate| rate.per_second).fold(0.0, f64::max);
        print!("{row:<14}");
        for rate in &best {
            match rate.per_second {
                0.0 => print!("{:>9}", "—"),
                rate => print!("{rate:>9.1}"),
            }
        }
        print!("{:>16.2} ×", best[0].per_second / others);
        match best[0].gigaflop {
            Some(gigaflop) => println!("{:>10.0} %", 100.0 * gigaflop / peak),
            None => println!(),
        }
    }
    Ok(())
}

/// A program that takes turns: it reads lines of a row's name and seconds, and prints a rate for each.
struct Contestant {
    name: &'static str,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// A rate in the unit of its row, none of which is zero, and perhaps in GFLOP/s.
#[derive(Clone, Copy)]
struct Rate {
    per_second: f64,
    gigaflop: Option<f64>,
}

impl Rate {
    const NONE: Self = Self { per_second: 0.0, gigaflop: None };
}

impl Contestant {
    fn start(name: &'static str, mut program: Command, threads: usize) -> Result<Self> {
        let program = program.env("RAYON_NUM_THREADS", threads.to_string());
        let program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = program.spawn().with_context(|| format!("could not start {name}"))?;
        let input = process.stdin.take().context("it has no input")?;
        let output = BufReader::new(process.stdout.take().context("it has no output")?);
        Ok(Self { name, process, input, output })
    }

    /// Starts one that others do not need.
    fn try_start(name: &'static str, program: Command, threads: usize) -> Option<Self> {
        let started = Self::start(name, program, threads);
        started.inspect_err(|error| println!("{name} does not take part: {error:#}")).ok()
    }

    fn turn(&mut self, row: &str, seconds: f64) -> Result<Rate> {
        writeln!(self.input, "{row} {seconds}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        let rate = numbers.next().with_context(|| format!("{} ended early", self.name))??;
        // Not everybody has every row.
        let per_second = if rate.is_finite() { rate } else { 0.0 };
        Ok(Rate { per_second, gigaflop: numbers.next().transpose()? })
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        // It ended by itself, or it is not needed any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Ours, jax-js and TensorFlow.js in one Chromium.
fn in_chromium() -> Result<()> {
    tools::require(&[Package::Chromium])?;
    site::npm_install_in(&peers())?;
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
