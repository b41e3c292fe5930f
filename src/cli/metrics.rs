//! `metrics`: measures the networks of a saved run.

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::experiment::Detail;
use hidden_gaussian::experiment::ensemble::{Networks, Point};
use hidden_gaussian::experiment::evaluation::{EvalConfig, Measures};
use pollster::block_on;
use serde_json::json;

use super::json;
use super::sample::SamplerArgs;
use super::saved::{Saved, SavedNetworks};
use super::table::{Table, Tabulate, beside, estimate};

/// Arguments of `metrics`.
#[derive(Debug, Args)]
pub(super) struct Metrics {
    #[command(flatten)]
    saved: Saved,
    /// Noise levels to measure at
    #[arg(long, value_name = "σ,…", value_delimiter = ',')]
    sigmas: Option<Vec<f32>>,
    /// Samples to draw per network, and images to denoise
    #[arg(long, default_value_t = 100, value_parser = super::sample::count)]
    count: usize,
    #[command(flatten)]
    sampler: SamplerArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn command(args: &Metrics) -> Result<bool> {
    let (engine, run) = args.saved.open()?;
    let mut evaluation = EvalConfig { images: args.count, ..args.sampler.evaluation(args.count) };
    if let Some(sigmas) = &args.sigmas {
        evaluation.sigmas.clone_from(sigmas);
    }
    let SavedNetworks { checkpoint, split, .. } = &run;
    let members = run.members();
    let points = block_on(async {
        let config = &checkpoint.config;
        let mut networks = Networks::new(&engine, split, &members, config, &evaluation).await?;
        networks.ensemble.session_mut().restore(checkpoint)?;
        networks.points(Detail::Full).await
    })?;
    if args.json {
        let sigmas = serde_json::to_value(&evaluation).map(|value| value["sigmas"].clone()).ok();
        println!(
            "{}",
            json(&json!({"sigmas": sigmas, "evaluation": evaluation, "points": points}))?
        );
    } else {
        print!("{}\n{}", points.table(&evaluation)?, over_sigma(&points, &evaluation)?);
    }
    Ok(true)
}

/// The table of what changes with the noise level.
fn over_sigma(points: &[Point], evaluation: &EvalConfig) -> Result<Table> {
    let beside = beside(&points.iter().collect::<Vec<_>>());
    let letters = || beside.iter().map(|entry| entry.letter());
    let mut heading = vec!["images".to_owned(), "σ".into(), "linearity".into()];
    heading.extend(beside.iter().map(|entry| format!("of {}", entry.symbol)));
    heading.extend(letters().map(|letter| format!("θ - {letter}")));
    heading.extend(["error held out".into(), "training".into()]);
    heading.extend(beside.iter().map(|entry| format!("held out, {}", entry.symbol)));
    let mut table = Table::of(heading);
    for point in points {
        let trained = point.trained()?;
        for (level, sigma) in evaluation.sigmas.iter().enumerate() {
            let linearity = |measures: &Measures| {
                let list = measures.linearity.as_deref().unwrap_or_default();
                list.get(level).map_or_else(String::new, |l| estimate(&l.cosine))
            };
            let mut row = vec![point.member.n.to_string(), sigma.to_string(), linearity(trained)];
            for entry in &beside {
                row.push(linearity(point.of(entry.id)?));
            }
            for entry in &beside {
                let list = trained.against.get(&entry.id).map(|c| &c.difference.held_out[level]);
                row.push(list.map_or_else(String::new, estimate));
            }
            row.push(estimate(&trained.error.held_out[level]));
            row.push(estimate(&trained.error.train[level]));
            for entry in &beside {
                row.push(estimate(&point.of(entry.id)?.error.held_out[level]));
            }
            table.row(row);
        }
    }
    Ok(table)
}
