//! Draws samples from the networks of a saved run, or from the exact denoisers beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use hidden_gaussian::compute::{Buffer, Engine, Loaded, Program, Routine};
use hidden_gaussian::denoiser::{Denoiser, Empirical, Gaussian};
use hidden_gaussian::experiment::portrait::Look;
use hidden_gaussian::kernels::noise;
use hidden_gaussian::sampler::{Method, Sampler};
use hidden_gaussian::train::Plan;
use hidden_gaussian::{Error, Result};
use serde_json::json;

use super::json;
use super::pictures::{write_npy, write_sheet};
use super::saved::{Saved, SavedRun};
use super::stop::until_stopped;

/// Which samples, and where to.
#[derive(Debug, Args)]
pub(super) struct Sample {
    #[command(flatten)]
    saved: Saved,
    /// Images to draw from each network, from the same noise
    #[arg(long, default_value_t = 100, value_parser = count)]
    count: usize,
    /// Whose samples
    #[arg(long, value_enum, default_value = "trained")]
    denoiser: DenoiserName,
    #[command(flatten)]
    sampler: SamplerArgs,
    /// A sheet (.png) or an array of pixels in [-1, 1] (.npy), network after network; may be given
    /// twice
    #[arg(long, value_name = "FILE", default_value = "samples.png")]
    out: Vec<PathBuf>,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

/// How to come from noise to images.
#[derive(Debug, Args)]
pub(super) struct SamplerArgs {
    /// The sampler's method
    #[arg(long, value_enum, default_value = "heun")]
    sampler: MethodName,
    /// Steps of the sampler
    #[arg(long, default_value_t = 14)]
    steps: usize,
    /// Seed of the noise
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl SamplerArgs {
    /// What to look at with this sampler.
    pub(super) fn look(&self, samples: usize) -> Look {
        let method = match self.sampler {
            MethodName::Euler => Method::Euler,
            MethodName::Heun => Method::Heun,
        };
        Look { samples, method, sampler_steps: self.steps, seed: self.seed, ..Look::default() }
    }
}

/// Reads a number of samples that programs have room for.
pub(super) fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=4096).contains(count));
    count.ok_or_else(|| "choose 1 to 4096".into())
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MethodName {
    /// First order, one evaluation a step
    Euler,
    /// Second order, two evaluations a step
    Heun,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DenoiserName {
    /// D_θ, the networks
    Trained,
    /// D_G, the optimum for a Gaussian with the training images' mean and covariance
    Gaussian,
    /// D_M, the optimum for the training images themselves
    Empirical,
}

/// Images in a row of a sheet, at most.
const COLUMNS: usize = 20;

pub(super) fn command(args: &Sample) -> Result<bool> {
    // Before any work: an ending that nobody can write.
    let kinds = args.out.iter().map(|path| Kind::of(path)).collect::<Result<Vec<_>>>()?;
    let (engine, run) = args.saved.open()?;
    let look = args.sampler.look(args.count);
    let mut samples = until_stopped(draw(&engine, &run, args.denoiser, &look))?;
    run.split.standardization().undo(&mut samples);
    let (shape, members) = (run.split.shape(), run.checkpoint.ranges.len());
    let groups: Vec<&[f32]> = samples.chunks_exact(args.count * shape.dim()).collect();
    for (path, kind) in args.out.iter().zip(kinds) {
        match kind {
            Kind::Sheet => write_sheet(path, shape, &groups, args.count.min(COLUMNS))?,
            Kind::Array => write_npy(path, shape, &samples)?,
        }
    }
    if args.json {
        let ranges = &run.checkpoint.ranges;
        let told = json!({"out": args.out, "shape": shape, "count": args.count, "ranges": ranges});
        println!("{}", json(&told)?);
    } else {
        let files: Vec<_> = args.out.iter().map(|path| path.display().to_string()).collect();
        println!("{} samples of {members} networks: {}", args.count, files.join(", "));
    }
    Ok(true)
}

/// What a file holds.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Sheet,
    Array,
}

impl Kind {
    fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("png") => Ok(Self::Sheet),
            Some("npy") => Ok(Self::Array),
            _ => Err(Error::bad_input(
                format!("{} is neither .png nor .npy", path.display()),
                "Give the file one of these endings",
            )),
        }
    }
}

/// The samples of all members, standardized.
async fn draw(
    engine: &Engine,
    run: &SavedRun,
    denoiser: DenoiserName,
    look: &Look,
) -> Result<Vec<f32>> {
    let exact: Box<dyn Denoiser> = match denoiser {
        DenoiserName::Trained => {
            let mut plan = Plan::new(engine, run.checkpoint.config.clone(), &run.sets)?;
            let trained = plan.denoiser();
            let sampling = Sampling::record(&mut plan.program, &trained, look)?;
            let mut session = plan.load(engine).await?;
            session.restore(&run.checkpoint)?;
            return sampling.run(&mut session.loaded).await;
        }
        DenoiserName::Gaussian => Box::new(Gaussian::fit(&run.sets)?),
        DenoiserName::Empirical => Box::new(Empirical::new(run.sets.clone())),
    };
    let mut program = engine.program(run.sets.ranges().len())?;
    let sampling = Sampling::record(&mut program, &*exact, look)?;
    sampling.run(&mut engine.load(program).await?).await
}

/// What draws samples, in a program.
struct Sampling {
    routine: Routine,
    end: Buffer,
}

impl Sampling {
    fn record(program: &mut Program, denoiser: &dyn Denoiser, look: &Look) -> Result<Self> {
        let (sampler, shape): (Sampler, _) = (look.sampler()?, [look.samples, denoiser.dim()]);
        let clock: Arc<[f32]> = noise::clock(look.seed, 0).map(f32::from_bits).into();
        let clock = program.constant("clock", &clock)?;
        let start = program.buffer("starting noise", shape[0] * shape[1])?;
        let placed = denoiser.place(program, look.samples)?;
        let mut end = start;
        let routine = program.routine("sample", |p| {
            sampler.record_noise(p, clock.into(), start.into(), shape)?;
            end = sampler.record(p, &*placed, start)?.end();
            Ok(())
        })?;
        Ok(Self { routine, end })
    }

    async fn run(&self, loaded: &mut Loaded) -> Result<Vec<f32>> {
        loaded.run_breathing(self.routine, 1).await?;
        loaded.read(self.end).await
    }
}
