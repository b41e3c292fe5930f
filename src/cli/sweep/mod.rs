//! `sweep`: an experiment over a grid of settings, in shards that a cluster runs.

mod kubernetes;
mod merge;
mod plan;
mod progress;
mod run;
mod slurm;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use hidden_gaussian::Result;
use hidden_gaussian::experiment::sweep::folder::Folder;

/// Exit status of a program that ended early and resumes at the next start (`EX_TEMPFAIL`).
pub(super) const STOPPED: u8 = 75;

/// Exit status if some shards have no result yet.
pub(super) const MISSING: u8 = 3;

#[derive(Debug, Args)]
pub(super) struct Sweep {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Expand a grid into a plan of shards
    Plan(plan::Arguments),
    /// Compute a shard of a plan
    Run(run::Arguments),
    /// Show which shards are done, running, stopped or missing
    Status(status::Arguments),
    /// Merge the results of all shards
    Merge(merge::Arguments),
}

/// Runs the command. Invalid input ends with status 2, as everywhere.
pub(super) fn command(sweep: &Sweep) -> Result<ExitCode> {
    match &sweep.command {
        Command::Plan(arguments) => plan::command(arguments),
        Command::Run(arguments) => run::command(arguments),
        Command::Status(arguments) => status::command(arguments),
        Command::Merge(arguments) => merge::command(arguments),
    }
}

/// The argument that names a plan.
#[derive(Debug, Args)]
struct PlanFile {
    /// The plan, as written by `sweep plan`
    #[arg(long = "plan", value_name = "FILE")]
    path: PathBuf,
}

impl PlanFile {
    fn open(&self) -> Result<Folder> {
        Folder::open(&self.path)
    }
}

pub(super) use merge::swept;

/// Quotes `path` as a word of a shell.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
