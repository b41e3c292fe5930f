//! `sweep merge`: merges all shards into one report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hidden_gaussian::experiment::sweep::folder::{self, Folder};
use hidden_gaussian::experiment::sweep::{Merged, merge};
use hidden_gaussian::{Error, Result, serial};
use serde_json::Value;

use super::super::file_error;
use super::progress::Line;
use super::{MISSING, PlanFile};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    plan: PlanFile,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write all numbers as CSV to this file, one line per network
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Merge the existing results even if some shards have none
    #[arg(long)]
    partial: bool,
}

pub(super) fn command(arguments: &Arguments) -> Result<ExitCode> {
    let folder = arguments.plan.open()?;
    let indices = 0..folder.plan.shards.len();
    let results = indices.map(|index| folder.result(index)).collect::<Result<Vec<_>>>()?;
    let missing: Vec<String> = results
        .iter()
        .enumerate()
        .filter(|(_, result)| result.is_none())
        .map(|(index, _)| index.to_string())
        .collect();
    if !missing.is_empty() {
        let (count, list) = (missing.len(), missing.join(","));
        eprintln!("{count} of {} shards have no result: {list}", results.len());
        if !arguments.partial {
            eprintln!("Run them (--array={list}), or merge the others with --partial");
            return Ok(ExitCode::from(MISSING));
        }
    }
    let Merged { report, csv, .. } = merge(&folder.plan, &results)?;
    write(&arguments.out, &report)?;
    if let Some(path) = &arguments.csv {
        write(path, &csv)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the report of the sweep planned at `path`, if it is a single experiment and all shards are done. It
/// includes their total time.
pub(in crate::cli) fn swept(path: &Path) -> Result<Value> {
    let folder = Folder::open(path)?;
    let (mut results, mut seconds) = (Vec::new(), 0.0);
    for index in 0..folder.plan.shards.len() {
        let result = folder.result(index)?;
        let result = result.filter(|_| folder.plan.sweep.grid.is_empty()).ok_or_else(|| {
            let message = format!("{} is not one experiment with all its results", path.display());
            Error::bad_input(message, "Run all shards of a sweep without a grid")
        })?;
        results.push(Some(result));
        seconds += Line::of(&folder, index).map_or(0.0, |line| line.seconds);
    }
    let mut report: Value = serial::parse(&merge(&folder.plan, &results)?.report)?;
    report["seconds"] = seconds.into();
    Ok(report)
}

fn write(path: &Path, text: &str) -> Result<()> {
    folder::write(path, text.as_bytes()).map_err(|error| file_error(path, &error))
}
