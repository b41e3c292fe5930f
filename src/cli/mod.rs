//! The command line: arguments in, tables and files out.

mod check;
mod claims;
mod conduct;
mod data;
mod metrics;
mod pictures;
mod presets;
mod record;
mod sample;
mod saved;
mod stop;
mod sweep;
mod table;
mod train;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hidden_gaussian::compute::Engine;
use hidden_gaussian::experiment::{
    Preset, emergence::Emergence, gaussian_bias::GaussianBias,
    strong_generalization::StrongGeneralization, transition::Transition,
};
use hidden_gaussian::{Error, Result};
use pollster::block_on;

/// Train tiny diffusion denoisers and watch memorization give way to the hidden Gaussian structure.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Figure 1: copies among the samples, and linearity, against the number of training images
    Transition(Asked),
    /// Figure 2: which of D_L, D_G and D_M a network is close to
    GaussianBias(Asked),
    /// Figure 3: small networks and young networks
    Emergence(Asked),
    /// Networks that share no training image, from the same noise
    StrongGeneralization(Asked),
    /// Train networks and save them
    Train(train::Train),
    /// Draw samples from a saved run
    Sample(sample::Sample),
    /// Measure the networks of a saved run
    Metrics(metrics::Metrics),
    /// Tell about a set of images
    Data(Data),
    /// Print the configurations of all presets, as JSON
    Presets,
    /// Record the runs that come with the page
    Record(record::Record),
    /// Check that this machine computes what it should
    Check(check::Check),
    /// Run the experiments and hold them against the claims of the paper
    Reproduce(Reproduce),
    /// Run an experiment over a grid of settings, on a cluster
    Sweep(sweep::Sweep),
}

#[derive(Debug, Args)]
struct Asked {
    /// How large
    #[arg(long, value_enum, default_value = "quick")]
    preset: PresetName,
    /// A configuration, as reports hold it, instead of the preset's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the configuration and stop; changed, it can be given to --config
    #[arg(long)]
    show_config: bool,
    #[command(flatten)]
    common: Common,
    /// Go on with a run that was stopped, as it was begun
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "config", "seed"])]
    resume: Option<PathBuf>,
    /// Write the report, as JSON, to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the report, as JSON, instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Data {
    #[command(flatten)]
    source: data::Source,
    /// How large
    #[arg(long, value_enum, default_value = "quick")]
    preset: PresetName,
    /// Write a sheet of the first images, as PNG, to this file
    #[arg(long, value_name = "FILE")]
    sheet: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Reproduce {
    /// Run the main and the faithful presets, too: a quarter of an hour on two cores
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    common: Common,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// What every experiment is told.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    source: data::Source,
    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
}

impl Common {
    /// What must be said again to go on with a saved run.
    fn again(&self) -> String {
        let data = self.source.named().map(|data| format!(" --data {data}"));
        let engine = self.engine.to_possible_value().filter(|_| self.engine != EngineName::Auto);
        let engine = engine.map(|engine| format!(" --engine {}", engine.get_name()));
        data.unwrap_or_default() + &engine.unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PresetName {
    /// An MLP of 192 units: less than a minute
    Quick,
    /// An MLP of 384 units: minutes
    Main,
    /// A U-Net: much longer
    Faithful,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Quick => Self::Quick,
            PresetName::Main => Self::Main,
            PresetName::Faithful => Self::Faithful,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// The GPU, if there is a real one, else the CPU
    Auto,
    /// This processor, all cores
    Cpu,
    /// The GPU
    Gpu,
}

impl EngineName {
    fn open(self) -> Result<Engine> {
        match self {
            Self::Cpu => Ok(Engine::Cpu),
            Self::Gpu => block_on(Engine::gpu()),
            Self::Auto => match block_on(Engine::gpu()) {
                Ok(Engine::Gpu(gpu)) if !gpu.is_software() => Ok(Engine::Gpu(gpu)),
                _ => Ok(Engine::Cpu),
            },
        }
    }
}

/// Runs the command and tells how it went.
pub(crate) fn main() -> ExitCode {
    let held = match Cli::parse().command {
        Command::Transition(run) => conduct::command::<Transition>(&run),
        Command::GaussianBias(run) => conduct::command::<GaussianBias>(&run),
        Command::Emergence(run) => conduct::command::<Emergence>(&run),
        Command::StrongGeneralization(run) => conduct::command::<StrongGeneralization>(&run),
        Command::Train(args) => train::command(&args),
        Command::Sample(args) => sample::command(&args),
        Command::Metrics(args) => metrics::command(&args),
        Command::Data(args) => data::command(&args),
        Command::Presets => presets::command(),
        Command::Record(args) => record::command(&args),
        Command::Check(args) => check::command(&args),
        Command::Reproduce(args) => claims::command(&args),
        Command::Sweep(args) => {
            return sweep::command(&args).unwrap_or_else(|error| failed(&error));
        }
    };
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error),
    }
}

/// Says what went wrong.
fn failed(error: &Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(2)
}

/// An error of the file system at `path`.
fn file_error(path: &std::path::Path, error: &impl std::fmt::Display) -> Error {
    Error::bad_input(format!("{}: {error}", path.display()), "")
}

/// Something as JSON, indented.
fn json(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    text.map_err(|error| Error::bad_input(format!("The report can't be written: {error}"), ""))
}
