//! Networks over their training, as tables of text.

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::experiment::clocks::{self, Laws, Time};
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::experiment::modes;
use hidden_gaussian::experiment::power_law::PowerLaw;
use hidden_gaussian::experiment::random_features::{RandomFeatures, Setting};
use hidden_gaussian::model::Architecture;

use super::json;
use super::table::{Table, Tabulate};

fn network(architecture: &Architecture) -> String {
    let kind = match architecture {
        Architecture::Mlp { .. } => "MLP",
        Architecture::UNet { .. } => "U-Net",
    };
    format!("{kind} {}", architecture.width())
}

fn law(of: &str, law: Option<PowerLaw>) -> String {
    law.map_or("-".into(), |law| {
        format!("{of}^{:.2} ({:.2} to {:.2})", law.exponent, law.low, law.high)
    })
}

impl Tabulate for Vec<clocks::Course> {
    /// One row per network, and below those of one kind, how its clocks grow with N.
    fn table(&self, _: &EvalConfig) -> Result<Table> {
        let heading = [
            "network",
            "optimizer",
            "images",
            "seed",
            "τ_gen",
            "overfits",
            "τ_mem",
            "τ_mem / N",
            "memorized at the end",
        ];
        let mut table = Table::new(&heading);
        for courses in self.chunk_by(clocks::Course::same_training) {
            for course in courses {
                let time = |time: Option<&Time>| {
                    let show = |t: &Time| format!("{:.0} ({:.0} to {:.0})", t.step, t.low, t.high);
                    time.map_or("-".into(), show)
                };
                let times = &course.times;
                let per_image =
                    |t: &Time| format!("{:.0}", t.step / course.network.member.n as f64);
                let end = course.moments.last().map_or(f64::NAN, |moment| moment.memorized.mean);
                table.row([
                    network(&course.network.architecture),
                    format!("{} {}", course.network.optimizer.name(), course.network.rate),
                    course.network.member.n.to_string(),
                    course.network.member.seed.to_string(),
                    time(times.before_copies()),
                    time(times.overfitted.as_ref()),
                    time(times.memorized.as_ref()),
                    times.memorized.as_ref().map_or("-".into(), per_image),
                    format!("{end:.3}"),
                ]);
            }
            let laws = Laws::of(&courses.iter().collect::<Vec<_>>());
            let first = ["grows as", "", "", ""].map(String::from);
            let laws = [laws.generalized, laws.overfitted, laws.memorized].map(|l| law("N", l));
            table.row(first.into_iter().chain(laws));
        }
        Ok(table)
    }
}

impl Tabulate for Vec<modes::Course> {
    /// One row per network: how the time after which an axis emerges depends on its variance.
    fn table(&self, _: &EvalConfig) -> Result<Table> {
        let heading = [
            "network",
            "optimizer",
            "images",
            "seed",
            "axes",
            "gaining variance",
            "losing variance",
        ];
        let mut table = Table::new(&heading);
        for course in self {
            let laws = course.laws();
            table.row([
                network(&course.network.architecture),
                format!("{} {}", course.network.optimizer.name(), course.network.rate),
                course.network.member.n.to_string(),
                course.network.member.seed.to_string(),
                laws.iter().flatten().map(|law| law.count).sum::<usize>().to_string(),
                law("λ", laws[0]),
                law("λ", laws[1]),
            ]);
        }
        Ok(table)
    }
}

/// Arguments of the random-features model.
#[derive(Debug, Args)]
pub(super) struct Features {
    /// Numbers of training images, as multiples of the dimension
    #[arg(long, value_delimiter = ',', default_values_t = RATIOS)]
    ratios: Vec<usize>,
    /// Seed of weights, images and noise
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print all curves as JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// The numbers of training images that the page shows, as multiples of the dimension.
pub(super) const RATIOS: [usize; 4] = [2, 4, 8, 16];

pub(super) fn features(args: &Features) -> Result<bool> {
    let setting = Setting { seed: args.seed, ..Setting::default() };
    let model = RandomFeatures::new(setting)?;
    let solve = |&ratio: &usize| model.curves(ratio.saturating_mul(setting.dim));
    let solved = args.ratios.iter().map(solve).collect::<Result<Vec<_>>>()?;
    if args.json {
        println!("{}", json(&solved)?);
        return Ok(true);
    }
    let heading =
        ["images", "τ_gen", "τ_mem", "least test loss", "training loss at the end", "test loss"];
    let mut table = Table::new(&heading);
    for curves in &solved {
        let end = |list: &[f64]| list.last().map_or_else(String::new, |v| format!("{v:.3}"));
        let least = curves.test.iter().copied().fold(f64::INFINITY, f64::min);
        table.row([
            curves.images.to_string(),
            format!("{:.1}", curves.generalized),
            format!("{:.0}", curves.memorized),
            format!("{least:.3}"),
            end(&curves.train),
            end(&curves.test),
        ]);
    }
    print!("{table}");
    Ok(true)
}
