//! Findings as tables of text.

use std::fmt::{self, Display, Formatter};

use hidden_gaussian::Result;
use hidden_gaussian::denoiser::{DenoiserId, Entry};
use hidden_gaussian::experiment::emergence;
use hidden_gaussian::experiment::ensemble::Point;
use hidden_gaussian::experiment::evaluation::{BySet, Comparison, EvalConfig};
use hidden_gaussian::experiment::gaussian_bias::Bias;
use hidden_gaussian::experiment::strong_generalization::Agreement;
use hidden_gaussian::metrics::Estimate;
use hidden_gaussian::train::Status;

/// Rows of cells under a heading; numbers are right-aligned.
#[derive(Debug)]
pub(super) struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(heading: &[&str]) -> Self {
        Self::of(heading.iter().map(ToString::to_string))
    }

    pub(super) fn of(heading: impl IntoIterator<Item = String>) -> Self {
        Self { heading: heading.into_iter().collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.heading).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        for row in lines() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                if cell.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                    write!(f, "{gap}{cell:>width$}")?;
                } else {
                    write!(f, "{gap}{cell:<width$}")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Findings that can be shown as a table.
pub(super) trait Tabulate {
    fn table(&self, evaluation: &EvalConfig) -> Result<Table>;
}

/// Formats a mean and its standard error.
pub(super) fn estimate(value: &Estimate) -> String {
    format!("{:.3} ± {:.3}", value.mean, value.standard_error)
}

/// Shows the list's entry at noise level `sigma`; empty if nothing was measured there.
fn at<T>(evaluation: &EvalConfig, list: &[T], sigma: f32, show: impl Fn(&T) -> String) -> String {
    let level = evaluation.level(sigma).ok();
    level.and_then(|level| list.get(level)).map_or_else(String::new, show)
}

/// The denoisers beside a network, in the order of the table.
pub(super) fn beside(points: &[&Point]) -> Vec<&'static Entry> {
    let ids = points.first().into_iter().flat_map(|point| point.denoisers.keys());
    ids.filter(|&&id| id != DenoiserId::TRAINED).filter_map(|id| id.entry()).collect()
}

/// The columns that every table has for a network.
fn heading(beside: &[&Entry]) -> Vec<String> {
    let mut heading: Vec<String> =
        ["images", "seed", "steps", "epochs", "memorized", "GL score"].map(Into::into).into();
    heading.extend(beside.iter().map(|entry| format!("GL of {}", entry.symbol)));
    heading.push("lin σ=1".into());
    heading.extend(beside.iter().map(|entry| format!("cos(θ, {})", entry.letter())));
    heading
}

fn cells(point: &Point, beside: &[&Entry], evaluation: &EvalConfig) -> Result<Vec<String>> {
    let trained = point.trained()?;
    let linearity = trained.linearity.as_deref().unwrap_or_default();
    let mut cells = vec![
        point.member.n.to_string(),
        point.member.seed.to_string(),
        match point.status {
            Status::Learning => point.step.to_string(),
            Status::Diverged { step } => format!("{step}, diverged"),
        },
        format!("{:.0}", point.epochs),
        estimate(&trained.closeness.memorized),
        estimate(&trained.closeness.gl),
    ];
    for entry in beside {
        cells.push(estimate(&point.of(entry.id)?.closeness.gl));
    }
    cells.push(at(evaluation, linearity, 1.0, |l| estimate(&l.cosine)));
    for entry in beside {
        let comparison = trained.against.get(&entry.id);
        cells.push(comparison.map_or_else(String::new, |c| estimate(&c.cosine)));
    }
    Ok(cells)
}

impl Tabulate for Vec<Point> {
    fn table(&self, evaluation: &EvalConfig) -> Result<Table> {
        let beside = beside(&self.iter().collect::<Vec<_>>());
        let mut table = Table::of(heading(&beside).into_iter().chain(["lin σ=0.4".into()]));
        for point in self {
            let linearity = point.trained()?.linearity.as_deref().unwrap_or_default();
            let linearity = at(evaluation, linearity, 0.4, |l| estimate(&l.cosine));
            table.row(cells(point, &beside, evaluation)?.into_iter().chain([linearity]));
        }
        Ok(table)
    }
}

impl Tabulate for Vec<Bias> {
    fn table(&self, evaluation: &EvalConfig) -> Result<Table> {
        let beside = beside(&self.iter().map(|bias| &bias.point).collect::<Vec<_>>());
        let heading = heading(&beside);
        let columns = heading.len();
        let differences = beside.iter().map(|entry| format!("θ - {}", entry.letter()));
        let more = ["images at σ=0.55".to_owned()].into_iter().chain(differences);
        let mut table =
            Table::of(heading.into_iter().chain(more).chain(["axes of D_L".to_owned()]));
        for bias in self {
            let against = &bias.point.trained()?.against;
            let middle = |of: fn(&BySet) -> &Vec<Estimate>| {
                let cell = |entry: &&Entry| {
                    let comparison = against.get(&entry.id);
                    let show = |c: &Comparison| at(evaluation, of(&c.difference), 0.55, estimate);
                    comparison.map_or_else(String::new, show)
                };
                beside.iter().map(cell).collect::<Vec<_>>()
            };
            let alignment = bias.alignment.as_deref().unwrap_or_default();
            let overlap = at(evaluation, alignment, 1.0, |a| format!("{:.3}", a.overlap));
            let first = cells(&bias.point, &beside, evaluation)?.into_iter();
            let held_out = middle(|d| &d.held_out);
            table.row(first.chain(["held out".into()]).chain(held_out).chain([overlap]));
            let blank = std::iter::repeat_n(String::new(), columns);
            table.row(blank.chain(["training".into()]).chain(middle(|d| &d.train)));
        }
        Ok(table)
    }
}

impl Tabulate for emergence::Findings {
    fn table(&self, evaluation: &EvalConfig) -> Result<Table> {
        let points: Vec<&Point> = self.over_width.iter().chain(&self.over_time).collect();
        let beside = beside(&points);
        let first = ["width", "parameters"].map(String::from);
        let mut table = Table::of(first.into_iter().chain(heading(&beside)));
        for point in points {
            let first = [point.architecture.width(), point.parameters].map(|n| n.to_string());
            table.row(first.into_iter().chain(cells(point, &beside, evaluation)?));
        }
        Ok(table)
    }
}

impl Tabulate for Vec<Agreement> {
    fn table(&self, _: &EvalConfig) -> Result<Table> {
        let heading =
            ["images", "seeds", "cosine", "with other noise", "memorized", "memorized (other set)"];
        let mut table = Table::new(&heading);
        for Agreement { n, cosine, cosine_other_noise, networks } in self {
            let [a, b] = networks;
            let memorized = |point: &Point| Ok(estimate(&point.trained()?.closeness.memorized));
            let diverged = networks.iter().any(|point| point.status.is_diverged());
            let n = format!("{n}{}", if diverged { ", diverged" } else { "" });
            let cosines = [cosine, cosine_other_noise].map(estimate);
            let seeds = format!("{}, {}", a.member.seed, b.member.seed);
            table.row([n, seeds].into_iter().chain(cosines).chain([memorized(a)?, memorized(b)?]));
        }
        Ok(table)
    }
}
