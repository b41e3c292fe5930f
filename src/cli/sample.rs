//! `sample`: draws samples from saved networks, or from the denoisers beside them.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use hidden_gaussian::compute::Engine;
use hidden_gaussian::denoiser::{Denoiser, DenoiserId, Entry, Fit, Origin, TABLE};
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::sampler::{Method, Noise, sample};
use hidden_gaussian::{Error, Result};
use pollster::block_on;
use serde_json::json;

use super::data::seed;
use super::json;
use super::pictures::{write_npy, write_sheet};
use super::saved::{Saved, SavedNetworks};

/// Arguments of `sample`.
#[derive(Debug, Args)]
pub(super) struct Sample {
    #[command(flatten)]
    saved: Saved,
    /// Images to draw per network, from the same noise
    #[arg(long, default_value_t = 100, value_parser = count)]
    count: usize,
    /// Denoiser to sample from
    #[arg(long, value_parser = denoisers(), default_value = DenoiserId::TRAINED.name())]
    denoiser: &'static Entry,
    #[command(flatten)]
    sampler: SamplerArgs,
    /// Output file: a sheet (.png) or an array of pixels in [-1, 1] (.npy), network after network; may be
    /// given twice
    #[arg(long, value_name = "FILE", default_value = "samples.png")]
    out: Vec<PathBuf>,
    /// Print the names of the files as JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of the sampler.
#[derive(Debug, Args)]
pub(super) struct SamplerArgs {
    /// The sampler's method
    #[arg(long, value_enum, default_value = "heun")]
    sampler: MethodName,
    /// Steps of the sampler
    #[arg(long, default_value_t = 14)]
    steps: usize,
    /// Seed of the noise, or `random` for a fresh one
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = seed)]
    seed: u64,
}

impl SamplerArgs {
    /// The configuration of an evaluation with this sampler.
    pub(super) fn evaluation(&self, samples: usize) -> EvalConfig {
        let method = match self.sampler {
            MethodName::Euler => Method::Euler,
            MethodName::Heun => Method::Heun,
        };
        EvalConfig {
            samples,
            method,
            sampler_steps: self.steps,
            seed: self.seed,
            ..EvalConfig::default()
        }
    }
}

/// Parses the id of a denoiser in the table.
fn denoisers() -> impl TypedValueParser<Value = &'static Entry> {
    let value = |entry: &Entry| {
        PossibleValue::new(entry.id.name()).help(format!("{}: {}", entry.symbol, entry.about))
    };
    PossibleValuesParser::new(TABLE.iter().map(value)).try_map(|name| {
        let id: DenoiserId = name.parse()?;
        id.entry().ok_or_else(|| Error::internal(format!("“{id}” is not in the table")))
    })
}

/// Parses a number of samples that fits into a program.
pub(super) fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=4096).contains(count));
    count.ok_or_else(|| "choose 1 to 4096".into())
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MethodName {
    /// First order, one evaluation per step
    Euler,
    /// Second order, two evaluations per step
    Heun,
}

/// Most images per row of a sheet.
const COLUMNS: usize = 20;

pub(super) fn command(args: &Sample) -> Result<bool> {
    // Refuse file types that cannot be written before doing any work.
    let kinds = args.out.iter().map(|path| Kind::of(path)).collect::<Result<Vec<_>>>()?;
    let (engine, run) = args.saved.open()?;
    let evaluation = args.sampler.evaluation(args.count);
    let mut samples = block_on(draw(&engine, &run, args.denoiser, &evaluation))?;
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
        let described =
            json!({"out": args.out, "shape": shape, "count": args.count, "ranges": ranges});
        println!("{}", json(&described)?);
    } else {
        let files: Vec<_> = args.out.iter().map(|path| path.display().to_string()).collect();
        println!(
            "Wrote {} samples of each of {members} networks to {}",
            args.count,
            files.join(", ")
        );
    }
    Ok(true)
}

/// The format of an output file.
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

/// Draws the samples of all members, standardized.
async fn draw(
    engine: &Engine,
    run: &SavedNetworks,
    entry: &Entry,
    evaluation: &EvalConfig,
) -> Result<Vec<f32>> {
    let noise = Noise { count: evaluation.samples, seed: evaluation.seed };
    let sampler = evaluation.sampler()?;
    let denoiser: Box<dyn Denoiser> = match entry.origin {
        Origin::Training => Box::new(run.checkpoint.denoiser()?),
        Origin::Distillation => Box::new(run.distil(engine, evaluation).await?),
        Origin::Fit(_) => {
            let mut samples = Vec::new();
            for member in 0..run.sets.ranges().len() {
                let sets = &run.sets.only(member)?;
                let denoiser = entry.fit(&Fit { engine, sets, shape: run.split.shape() }).await?;
                samples.extend(sample(engine, &*denoiser, &sampler, noise).await?);
            }
            return Ok(samples);
        }
    };
    sample(engine, &*denoiser, &sampler, noise).await
}
