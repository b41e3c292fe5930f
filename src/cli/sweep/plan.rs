//! `sweep plan`: expands a grid, and prints what a scheduler needs to run it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::experiment::sweep::folder::{Folder, at};
use hidden_gaussian::experiment::sweep::{Images, Plan, Settings, Sweep};

use super::super::{data, file_error};
use super::kubernetes::{self, Kubernetes};
use super::slurm::{self, Slurm};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The sweep file: an experiment with a grid of settings
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Number of shards; a few that take minutes are better than many that take seconds
    #[arg(long, value_name = "N")]
    shards: usize,
    /// Folder for the plan and its results, which all machines can access
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Print a script that submits the sweep to Slurm
    #[arg(long)]
    slurm: bool,
    /// Print a manifest that runs the sweep on Kubernetes
    #[arg(long, conflicts_with = "slurm")]
    kubernetes: bool,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    on_slurm: Slurm,
    #[command(flatten)]
    on_kubernetes: Kubernetes,
}

/// The resources of each shard.
#[derive(Debug, Args)]
pub(super) struct Resources {
    /// Processors per shard, for --slurm and --kubernetes
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(super) cpus: usize,
    /// Memory per shard in GB
    #[arg(long, value_name = "GB", default_value_t = 4)]
    pub(super) memory: usize,
}

pub(super) fn command(arguments: &Arguments) -> Result<ExitCode> {
    let path = &arguments.config;
    let text = fs::read_to_string(path).map_err(|error| file_error(path, &error))?;
    let sweep = Sweep::parse(&text).map_err(|error| at(path, &error))?;
    // Cells that differ in other settings share images, which may take long to read.
    let mut known: HashMap<_, Images> = HashMap::new();
    let plan = Plan::new(sweep, arguments.shards, |settings, train| {
        let key = (settings.data.clone(), settings.preset()?.name(), settings.seed, train);
        Ok(match known.entry(key) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => entry.insert(images(settings, train)?).clone(),
        })
    })?;
    let folder = Folder::create(&arguments.out, plan)?;
    let plan = &folder.plan;
    let (cells, shards) = (plan.cells.len(), plan.shards.len());
    let gigaflop = plan.flop() as f64 / 1e9;
    eprintln!("Plan {} in {}", &plan.hash[..8], folder.plan_path().display());
    eprintln!("Experiments: {cells}; shards: {shards}; total: about {gigaflop:.0} GFLOP");
    if shards < arguments.shards {
        eprintln!("There is not enough work for {} shards", arguments.shards);
    }
    if let Some(heaviest) = plan.shards.iter().map(|shard| shard.flop).max() {
        let times = heaviest as f64 * shards as f64 / plan.flop().max(1) as f64;
        eprintln!("The largest shard is {times:.2} times the average");
    }
    if arguments.slurm {
        print!("{}", slurm::script(&folder, &arguments.resources, &arguments.on_slurm)?);
    }
    if arguments.kubernetes {
        print!(
            "{}",
            kubernetes::manifest(&folder, &arguments.resources, &arguments.on_kubernetes)?
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The images of a cell, with at least `train` to train on if they can be drawn.
fn images(settings: &Settings, train: usize) -> Result<Images> {
    let source = data::Source::new(&settings.data, settings.seed);
    let set = source.dataset(settings.preset()?, train)?;
    Ok(Images::of(&source.split(&set)?))
}
