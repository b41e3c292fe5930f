//! Measures the networks of a saved run.

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::experiment::Detail;
use hidden_gaussian::experiment::portrait::Look;
use hidden_gaussian::experiment::references::References;
use hidden_gaussian::experiment::study::{Member, Point, Study};
use serde_json::json;

use super::json;
use super::sample::SamplerArgs;
use super::saved::{Saved, SavedRun};
use super::stop::until_stopped;
use super::table::{Table, Tabulate, estimate};

/// What to measure.
#[derive(Debug, Args)]
pub(super) struct Metrics {
    #[command(flatten)]
    saved: Saved,
    /// Noise levels
    #[arg(long, value_name = "σ,…", value_delimiter = ',')]
    sigmas: Option<Vec<f32>>,
    /// Samples to draw from each network, and images to denoise
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
    let mut look = Look { images: args.count, ..args.sampler.look(args.count) };
    if let Some(sigmas) = &args.sigmas {
        look.sigmas.clone_from(sigmas);
    }
    let SavedRun { checkpoint, split, .. } = &run;
    let member = |(range, &seed): (&std::ops::Range<usize>, &u64)| Member {
        first: range.start,
        n: range.len(),
        seed,
    };
    let members: Vec<_> =
        checkpoint.ranges.iter().zip(&checkpoint.config.seeds).map(member).collect();
    let points = until_stopped(async {
        let mut study = Study::new(&engine, split, &members, &checkpoint.config, &look).await?;
        study.session_mut().restore(checkpoint)?;
        let mut references = References::new(&engine, split, &members, &look)?;
        study.points(&mut references, Detail::Full).await
    })?;
    if args.json {
        println!("{}", json(&json!({"sigmas": look.sigmas, "look": look, "points": points}))?);
    } else {
        print!("{}\n{}", points.table(&look), over_sigma(&points, &look));
    }
    Ok(true)
}

/// What changes with the noise level.
fn over_sigma(points: &[Point], look: &Look) -> Table {
    let mut table = Table::new(&[
        "images",
        "σ",
        "linearity",
        "of D_G",
        "of D_M",
        "θ - G",
        "θ - M",
        "error held out",
        "training",
        "of D_G",
    ]);
    for point in points {
        for (level, sigma) in look.sigmas.iter().enumerate() {
            let linearities =
                [&point.linearity, &point.linearity_gaussian, &point.linearity_empirical];
            let estimates = [
                &point.difference_gaussian.held_out,
                &point.difference_empirical.held_out,
                &point.error_held_out,
                &point.error_train,
                &point.error_gaussian,
            ];
            let first = [point.member.n.to_string(), sigma.to_string()];
            let linearities = linearities.map(|list| estimate(&list[level].cosine));
            let estimates = estimates.map(|list| estimate(&list[level]));
            table.row(first.into_iter().chain(linearities).chain(estimates));
        }
    }
    table
}
