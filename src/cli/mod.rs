//! The command line: arguments in, tables and files out.

mod check;
mod checkpoint;
mod claims;
mod clocks;
mod data;
mod league;
mod metrics;
mod pictures;
mod record;
mod run_to_end;
mod sample;
mod saved;
mod stop;
mod sweep;
mod table;
mod tables;
mod train;

use std::path::PathBuf;
use std::process::ExitCode;

use checkpoint::CheckpointEvery;
use clap::{Args, Parser, Subcommand, ValueEnum};
use hidden_gaussian::compute::Engine;
use hidden_gaussian::experiment::{
    Experiment, Preset, clocks::Clocks, emergence::Emergence, gaussian_bias::GaussianBias,
    league::League, modes::Modes, strong_generalization::StrongGeneralization,
    transition::Transition,
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
    /// Figure 1: memorized samples and linearity against the number of training images
    #[command(name = Transition::NAME)]
    Transition(RunArgs),
    /// Figure 2: which of D_L, D_G and D_M a network is close to
    #[command(name = GaussianBias::NAME)]
    GaussianBias(RunArgs),
    /// Figure 3: small networks and young networks
    #[command(name = Emergence::NAME)]
    Emergence(RunArgs),
    /// Networks that share no training image, sampled from the same noise
    #[command(name = StrongGeneralization::NAME)]
    StrongGeneralization(RunArgs),
    /// How well theories predict a network and denoise
    #[command(name = League::NAME)]
    League(RunArgs),
    /// At which noise level the memorizing denoiser begins to memorize
    Edge(league::EdgeArgs),
    /// Two clocks: when networks begin to generalize, and when they begin to memorize
    #[command(name = Clocks::NAME)]
    Clocks(RunArgs),
    /// Two clocks in the random-features model, in closed form
    RandomFeatures(clocks::Features),
    /// Modes in order: when samples gain the variance of the images along each principal axis
    #[command(name = Modes::NAME)]
    Modes(RunArgs),
    /// Train networks and save them
    Train(train::Train),
    /// Draw samples from a saved run
    Sample(sample::Sample),
    /// Measure the networks of a saved run
    Metrics(metrics::Metrics),
    /// Describe a data set, and draw a contact sheet
    Data(Data),
    /// Download a data set that is not shipped with this program
    Fetch(data::Fetch),
    /// Print the tables of denoisers, experiments, data sets and presets as JSON
    Tables(tables::Tables),
    /// Record the runs that are shipped with the page
    Record(record::Record),
    /// Check that this machine computes correctly
    Check(check::Check),
    /// Run the experiments and compare them with the claims of the paper
    Reproduce(Reproduce),
    /// Run an experiment over a grid of settings, on a cluster
    Sweep(sweep::Sweep),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Preset, which determines the size of the experiment
    #[arg(long, value_enum, default_value = "quick")]
    preset: PresetName,
    /// Configuration in the form of a report's, instead of the preset's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the configuration and stop; edit it and pass it to --config
    #[arg(long)]
    show_config: bool,
    #[command(flatten)]
    common: Common,
    /// Resume a run that was stopped, with its own configuration
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "config", "seed"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    checkpoints: CheckpointEvery,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the report as JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Data {
    #[command(flatten)]
    source: data::Source,
    /// Preset, which determines the size of the images
    #[arg(long, value_enum, default_value = "quick")]
    preset: PresetName,
    /// Write a contact sheet of the first images as PNG to this file
    #[arg(long, value_name = "FILE")]
    sheet: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Reproduce {
    /// Also run the main and faithful presets, which take minutes on two cores, and CIFAR-10, which takes a
    /// quarter of an hour
    #[arg(long)]
    all: bool,
    /// Run only Figure 1 on CIFAR-10, in colour: a quarter of an hour on two cores
    #[arg(long, conflicts_with = "all")]
    cifar: bool,
    /// Judge CIFAR-10 by an existing report, or by the one in a folder of recorded runs
    #[arg(long, value_name = "PATH")]
    recorded: Option<PathBuf>,
    /// Check claims of later papers instead
    #[arg(long, conflicts_with_all = ["all", "cifar"])]
    beyond: bool,
    #[command(flatten)]
    common: Common,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Where the images come from, and where to compute.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    source: data::Source,
    /// Engine to compute on
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
}

impl Common {
    /// The options that must be repeated to resume a run.
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
    /// A U-Net of 16 channels, for CIFAR-10
    CifarQuick,
    /// A U-Net of 32 channels, for CIFAR-10
    Cifar,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Quick => Self::Quick,
            PresetName::Main => Self::Main,
            PresetName::Faithful => Self::Faithful,
            PresetName::CifarQuick => Self::CifarQuick,
            PresetName::Cifar => Self::Cifar,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// The GPU if there is one in hardware, otherwise the CPU
    Auto,
    /// This processor, with all cores
    Cpu,
    /// The GPU
    Gpu,
}

impl EngineName {
    /// Opens the engine, whose work Ctrl-C cancels.
    fn open(self) -> Result<Engine> {
        let engine = match self {
            Self::Cpu => Engine::cpu(),
            Self::Gpu => block_on(Engine::gpu())?,
            Self::Auto => match block_on(Engine::gpu()) {
                Ok(gpu) if gpu.as_gpu().is_some_and(|gpu| !gpu.is_software()) => gpu,
                _ => Engine::cpu(),
            },
        };
        Ok(engine.with_control(stop::control()?))
    }
}

/// Runs the command.
pub(crate) fn main() -> ExitCode {
    let held = match Cli::parse().command {
        Command::Transition(run) => run_to_end::command::<Transition>(&run),
        Command::GaussianBias(run) => run_to_end::command::<GaussianBias>(&run),
        Command::Emergence(run) => run_to_end::command::<Emergence>(&run),
        Command::StrongGeneralization(run) => run_to_end::command::<StrongGeneralization>(&run),
        Command::League(run) => run_to_end::command::<League>(&run),
        Command::Edge(args) => league::edge(&args),
        Command::Clocks(run) => run_to_end::command::<Clocks>(&run),
        Command::RandomFeatures(args) => clocks::features(&args),
        Command::Modes(run) => run_to_end::command::<Modes>(&run),
        Command::Train(args) => train::command(&args),
        Command::Sample(args) => sample::command(&args),
        Command::Metrics(args) => metrics::command(&args),
        Command::Data(args) => data::command(&args),
        Command::Fetch(args) => data::fetch(&args),
        Command::Tables(args) => tables::command(&args),
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

/// Prints an error.
fn failed(error: &Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(2)
}

/// Turns an error of the file system at `path` into ours.
fn file_error(path: &std::path::Path, error: &impl std::fmt::Display) -> Error {
    Error::bad_input(format!("{}: {error}", path.display()), "")
}

/// Formats a value as indented JSON.
fn json(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    text.map_err(|error| Error::internal(format!("The output could not be written: {error}")))
}
