//! `sweep status`: the progress of the shards, as their files show it.

use std::process::ExitCode;

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::experiment::sweep::Shard;
use hidden_gaussian::experiment::sweep::folder::Folder;
use serde_json::json;

use super::super::json;
use super::super::table::Table;
use super::PlanFile;
use super::progress::Line;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    plan: PlanFile,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The state of a shard.
struct Standing {
    state: &'static str,
    line: Option<Line>,
}

impl Standing {
    fn of(folder: &Folder, index: usize) -> Result<Self> {
        let line = Line::of(folder, index);
        let state = if folder.result(index)?.is_some() {
            "done"
        } else if line.as_ref().is_some_and(Line::is_running) {
            "running"
        } else if folder.checkpoint_path(index).exists() {
            "stopped"
        } else {
            "missing"
        };
        Ok(Self { state, line })
    }
}

pub(super) fn command(arguments: &Arguments) -> Result<ExitCode> {
    let folder = arguments.plan.open()?;
    let shards = &folder.plan.shards;
    let standings: Vec<Standing> =
        (0..shards.len()).map(|index| Standing::of(&folder, index)).collect::<Result<_>>()?;
    let count = |state: &str| standings.iter().filter(|standing| standing.state == state).count();
    if arguments.json {
        let shard = |(index, (standing, shard)): (usize, (&Standing, &Shard))| json!({ "shard": index, "state": standing.state, "flop": shard.flop, "progress": standing.line });
        let list: Vec<_> = standings.iter().zip(shards).enumerate().map(shard).collect();
        println!("{}", json(&json!({ "plan": folder.plan.hash, "shards": list }))?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["shard", "state", "GFLOP", "pieces", "steps", "seconds"]);
    for (index, (standing, shard)) in standings.iter().zip(shards).enumerate() {
        let of =
            |show: &dyn Fn(&Line) -> String| standing.line.as_ref().map_or_else(String::new, show);
        table.row([
            index.to_string(),
            standing.state.into(),
            format!("{:.1}", shard.flop as f64 / 1e9),
            of(&|line| format!("{}/{}", line.pieces[0], line.pieces[1])),
            of(&|line| format!("{}/{}", line.steps[0], line.steps[1])),
            of(&|line| format!("{:.0}", line.seconds)),
        ]);
    }
    print!("{table}");
    let states = ["done", "running", "stopped", "missing"];
    println!("{}", states.map(|state| format!("{} {state}", count(state))).join(", "));
    let open: Vec<String> = (0..shards.len())
        .filter(|&index| matches!(standings[index].state, "stopped" | "missing"))
        .map(|index| index.to_string())
        .collect();
    if !open.is_empty() && open.len() < shards.len() {
        println!("To submit the others again: --array={}", open.join(","));
    }
    Ok(ExitCode::SUCCESS)
}
