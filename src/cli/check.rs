//! `check`: whether this machine computes correctly.

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::self_check::self_check;
use pollster::block_on;

use super::table::Table;
use super::{EngineName, json};

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Engine to compute on
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the checks and returns whether all hold.
pub(super) fn command(args: &Check) -> Result<bool> {
    let engine = args.engine.open()?;
    let checks = block_on(self_check(&engine))?;
    if args.json {
        println!("{}", json(&checks)?);
    } else {
        let mut table = Table::new(&["check", "largest error", "tolerance", "holds?", ""]);
        for check in &checks {
            let holds = if check.holds { "yes" } else { "NO" };
            let numbers = [check.error, check.tolerance].map(|number| format!("{number:.1e}"));
            let [error, tolerance] = numbers;
            table.row([check.name.into(), error, tolerance, holds.into(), check.about.into()]);
        }
        print!("{table}");
    }
    Ok(checks.iter().all(|check| check.holds))
}
