//! Section V on the command line: the league of theories as a table, and the edge of memorization.

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::experiment::Preset;
use hidden_gaussian::experiment::edge::{self, Config, Edge};
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::experiment::league::{Setting, Standing, Theory};
use hidden_gaussian::experiment::run::FORMAT;
use pollster::block_on;
use serde_json::{Value, json};

use super::data::Source;
use super::table::{Table, Tabulate, estimate};
use super::{Common, PresetName, json};

/// The noise levels of the table's columns.
const SIGMAS: [f32; 3] = [3.0, 1.0, 0.27];

impl Tabulate for Vec<Standing> {
    /// The theories per network, beginning with the one that leaves least unexplained.
    fn table(&self, evaluation: &EvalConfig) -> Result<Table> {
        let levels: Vec<_> = SIGMAS
            .iter()
            .filter_map(|&sigma| Some((sigma, evaluation.level(sigma).ok()?)))
            .collect();
        let mut heading: Vec<String> =
            ["images", "theory", "setting", "unexplained"].map(Into::into).into();
        heading.extend(levels.iter().map(|(sigma, _)| format!("R² σ={sigma}")));
        heading.extend(levels.iter().map(|(sigma, _)| format!("error/D_G σ={sigma}")));
        heading.extend(["R² of samples", "r", "cosine"].map(Into::into));
        let mut table = Table::of(heading);
        for standing in self {
            let mut theories: Vec<&Theory> = standing.theories.iter().collect();
            theories.sort_by(|a, b| a.unexplained().total_cmp(&b.unexplained()));
            for theory in theories {
                let mut cells = vec![
                    standing.member.n.to_string(),
                    theory.id.to_string(),
                    setting(&theory.scores.setting, &levels),
                    format!("{:.4}", theory.unexplained()),
                ];
                let prediction =
                    |&(_, level): &(f32, usize)| estimate(&theory.scores.prediction[level].r2);
                cells.extend(levels.iter().map(prediction));
                cells
                    .extend(levels.iter().map(|&(_, level)| estimate(&theory.scores.error[level])));
                let samples = &theory.samples_prediction;
                cells.extend([&samples.r2, &samples.pearson, &theory.samples_cosine].map(estimate));
                table.row(cells);
            }
            let mut network = vec![standing.member.n.to_string(), "network".into()];
            network.resize(4 + levels.len(), String::new());
            network.extend(levels.iter().map(|&(_, level)| estimate(&standing.error[level])));
            table.row(network);
        }
        Ok(table)
    }
}

/// A theory's free parameter, abbreviated.
fn setting(setting: &Setting, levels: &[(f32, usize)]) -> String {
    if let Some(windows) = &setting.windows {
        let sides: Vec<_> = levels.iter().map(|&(_, level)| windows[level].to_string()).collect();
        return format!("P={}", sides.join(","));
    }
    let threshold = setting.threshold.map(|threshold| format!("τ={threshold}"));
    let components = setting.components.map(|components| format!("K={components}"));
    threshold.or(components).unwrap_or_default()
}

/// Arguments of `edge`.
#[derive(Debug, Args)]
pub(super) struct EdgeArgs {
    /// Preset, which determines the size of the images
    #[arg(long, value_enum, default_value = "main")]
    preset: PresetName,
    #[command(flatten)]
    common: Common,
    /// Print the report as JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Measures the edge of memorization.
pub(super) fn edge(args: &EdgeArgs) -> Result<bool> {
    let (edges, report) =
        measure_edge(args.preset.into(), &args.common.source, &args.common.engine.open()?)?;
    if args.json {
        println!("{}", json(&report)?);
        return Ok(true);
    }
    let mut table = Table::new(&["images", "σ_c predicted", "measured", "ratio"]);
    for Edge { n, predicted, measured, .. } in &edges {
        let measured_or = |show: &dyn Fn(f64) -> String| measured.map_or_else(String::new, show);
        table.row([
            n.to_string(),
            format!("{predicted:.3}"),
            measured_or(&|m| format!("{m:.3}")),
            measured_or(&|m| format!("{:.2}", m / predicted)),
        ]);
    }
    print!("{table}");
    Ok(true)
}

/// Measures the edge on a data set, and returns its report in the form of the recorded runs.
pub(super) fn measure_edge(
    preset: Preset,
    source: &Source,
    engine: &hidden_gaussian::Engine,
) -> Result<(Vec<Edge>, Value)> {
    let dim = source.dataset(preset, 1)?.shape().dim();
    let config = Config { seed: source.seed, ..Config::for_images(dim) };
    let most = config.sizes.iter().copied().max().unwrap_or(0);
    let split = source.split(&source.dataset(preset, most)?)?;
    let start = std::time::Instant::now();
    let edges = block_on(edge::measure(engine, &split, &config))?;
    let report = json!({
        "format": FORMAT, "experiment": "edge", "version": env!("CARGO_PKG_VERSION"),
        "engine": engine.name(), "adapter": engine.adapter(), "shape": split.shape(),
        "data": split.recipe(), "seconds": start.elapsed().as_secs_f64(), "final": true,
        "sigmas": config.sigmas.iter().map(|s| s.to_string().parse().unwrap_or(f64::NAN)).collect::<Vec<f64>>(),
        "config": config, "findings": edges,
    });
    Ok((edges, report))
}
