//! Findings as tables of text.

use std::fmt::{self, Display, Formatter};

use hidden_gaussian::experiment::emergence::{self, Sitting};
use hidden_gaussian::experiment::gaussian_bias::Bias;
use hidden_gaussian::experiment::portrait::Look;
use hidden_gaussian::experiment::strong_generalization::Agreement;
use hidden_gaussian::experiment::study::{Differences, Point};
use hidden_gaussian::metrics::Estimate;
use hidden_gaussian::model::Architecture;
use hidden_gaussian::train::Status;

/// Rows of cells under a heading; numbers stand on the right.
#[derive(Debug)]
pub(super) struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(heading: &[&str]) -> Self {
        Self { heading: heading.iter().map(ToString::to_string).collect(), rows: Vec::new() }
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

/// What can be told in a table.
pub(super) trait Tabulate {
    fn table(&self, look: &Look) -> Table;
}

/// Mean and standard error.
pub(super) fn estimate(value: &Estimate) -> String {
    format!("{:.3} ± {:.3}", value.mean, value.standard_error)
}

/// What `show` says of the list's entry at noise level `sigma`, if it was looked at.
fn at<T>(look: &Look, list: &[T], sigma: f32, show: impl Fn(&T) -> String) -> String {
    look.level(sigma).and_then(|level| list.get(level)).map_or_else(String::new, show)
}

/// What all tables tell of a network.
const POINT: [&str; 8] =
    ["images", "steps", "epochs", "memorized", "GL score", "GL of D_G", "lin σ=1", "cos(θ, G)"];

fn point_cells(point: &Point, look: &Look) -> Vec<String> {
    vec![
        point.member.n.to_string(),
        match point.status {
            Status::Learning => point.step.to_string(),
            Status::Diverged { step } => format!("{step}, diverged"),
        },
        format!("{:.0}", point.epochs),
        estimate(&point.closeness.memorized),
        estimate(&point.closeness.gl),
        estimate(&point.closeness_gaussian.gl),
        at(look, &point.linearity, 1.0, |l| estimate(&l.cosine)),
        estimate(&point.cosine_gaussian),
    ]
}

impl Tabulate for Vec<Point> {
    fn table(&self, look: &Look) -> Table {
        let mut table = Table::new(&[&POINT[..], &["lin σ=0.4"]].concat());
        for point in self {
            let linearity = at(look, &point.linearity, 0.4, |l| estimate(&l.cosine));
            table.row(point_cells(point, look).into_iter().chain([linearity]));
        }
        table
    }
}

impl Tabulate for Vec<Bias> {
    fn table(&self, look: &Look) -> Table {
        let more = ["cos(θ, L)", "images at σ=0.55", "θ - L", "θ - G", "θ - M", "axes of D_L"];
        let mut table = Table::new(&[&POINT[..], &more].concat());
        for bias in self {
            let differences = [
                bias.difference_linear.as_ref(),
                Some(&bias.point.difference_gaussian),
                Some(&bias.point.difference_empirical),
            ];
            let middle = |d: Option<&Differences>, of: fn(&Differences) -> &Vec<Estimate>| {
                d.map_or_else(String::new, |d| at(look, of(d), 0.55, estimate))
            };
            let alignment = bias.alignment.as_deref().unwrap_or_default();
            let overlap = at(look, alignment, 1.0, |a| format!("{:.3}", a.overlap));
            let cosine = bias.cosine_linear.as_ref().map_or_else(String::new, estimate);
            let first = point_cells(&bias.point, look).into_iter().chain([cosine]);
            let held_out = differences.map(|d| middle(d, |d| &d.held_out));
            table.row(first.chain(["held out".into()]).chain(held_out).chain([overlap]));
            let blank = std::iter::repeat_n(String::new(), POINT.len() + 1);
            let train = differences.map(|d| middle(d, |d| &d.train));
            table.row(blank.chain(["training".into()]).chain(train));
        }
        table
    }
}

impl Tabulate for emergence::Findings {
    fn table(&self, look: &Look) -> Table {
        let mut table = Table::new(&[&["width", "parameters"], &POINT[..]].concat());
        let lists = [&self.over_width, &self.over_time];
        let sittings = lists.map(|list| emergence::read(list).unwrap_or_default()).into_iter();
        for Sitting { architecture, point } in sittings.flatten() {
            let (Architecture::Mlp { width, .. } | Architecture::UNet { width, .. }) = architecture;
            let first = [width.to_string(), point.parameters.to_string()];
            table.row(first.into_iter().chain(point_cells(&point, look)));
        }
        table
    }
}

impl Tabulate for Vec<Agreement> {
    fn table(&self, _: &Look) -> Table {
        let heading =
            ["images", "cosine", "with other noise", "memorized", "memorized (other half)"];
        let mut table = Table::new(&heading);
        for agreement in self {
            let [a, b] = &agreement.closeness;
            let estimates =
                [&agreement.cosine, &agreement.cosine_other_noise, &a.memorized, &b.memorized];
            let diverged = agreement.status.iter().any(|status| status.is_diverged());
            let n = format!("{}{}", agreement.n, if diverged { ", diverged" } else { "" });
            table.row([n].into_iter().chain(estimates.map(estimate)));
        }
        table
    }
}
