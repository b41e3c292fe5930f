//! The results of all shards as one report, and as a table.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::checkpoint::{PieceResult, ShardResult};
use super::plan::{Cell, Piece, Plan};
use super::{Axes, Sweep};
use crate::data::Recipe;
use crate::error::{Error, Result};
use crate::experiment::run::FORMAT;
use crate::serial;
use crate::shape::Shape;

/// The merged results of a sweep.
#[derive(Debug)]
pub struct Merged {
    /// The report as JSON: that of the experiment if the sweep has no grid, and otherwise one with a report
    /// per cell.
    pub report: String,
    /// One line per finding, with the values on the axes.
    pub csv: String,
}

/// The report of a cell. Its fields are those of every report, except for the time, which depends on the
/// machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    format: u32,
    experiment: &'a str,
    version: &'a str,
    engine: &'a str,
    adapter: Option<String>,
    shape: Shape,
    data: &'a Recipe,
    seconds: Option<f64>,
    r#final: bool,
    sigmas: &'a [f64],
    config: &'a Value,
    findings: Value,
}

/// The report of a sweep with a grid.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SweepReport<'a> {
    format: u32,
    experiment: &'static str,
    version: &'a str,
    r#final: bool,
    sweep: &'a Sweep,
    cells: Vec<CellReport<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CellReport<'a> {
    axes: &'a Axes,
    report: Report<'a>,
}

/// Appends the findings of another part: lists, or objects of lists, are concatenated.
fn append(findings: &mut Value, more: &Value) -> Result<()> {
    match (findings, more) {
        (Value::Array(list), Value::Array(more)) => list.extend_from_slice(more),
        (Value::Object(lists), Value::Object(more)) => {
            for (name, more) in more {
                append(lists.entry(name).or_insert_with(|| Vec::<Value>::new().into()), more)?;
            }
        }
        _ => return Err(Error::internal("The findings of two parts do not fit")),
    }
    Ok(())
}

/// Each finding, with the name of its list if there are several lists.
fn each(findings: &Value) -> Vec<(Option<&str>, &Value)> {
    fn of<'a>(name: Option<&'a str>, list: &'a Value) -> Vec<(Option<&'a str>, &'a Value)> {
        list.as_array().into_iter().flatten().map(|finding| (name, finding)).collect()
    }
    let lists = findings.as_object().into_iter().flat_map(Map::iter);
    let by_name = lists.flat_map(|(name, list)| of(Some(name), list));
    of(None, findings).into_iter().chain(by_name).collect()
}

/// Merges the results of the shards. Where there is no result, its findings are missing.
pub fn merge(plan: &Plan, results: &[Option<ShardResult>]) -> Result<Merged> {
    let missing = plan.shards.iter().enumerate();
    let missing = missing.filter(|(index, _)| !matches!(results.get(*index), Some(Some(_))));
    let incomplete: BTreeSet<usize> =
        missing.flat_map(|(_, shard)| &shard.pieces).map(|piece| piece.cell).collect();
    let mut by_piece: BTreeMap<Piece, &PieceResult> = BTreeMap::new();
    for result in results.iter().flatten() {
        by_piece.extend(result.pieces.iter().map(|result| (result.piece, result)));
    }
    let mut cells = Vec::new();
    for (index, cell) in plan.cells.iter().enumerate() {
        let pieces = by_piece.iter().filter(|(piece, _)| piece.cell == index);
        let pieces: Vec<&PieceResult> = pieces.map(|(_, result)| *result).collect();
        if let Some(report) = report(plan, cell, &pieces, !incomplete.contains(&index))? {
            cells.push(CellReport { axes: &cell.axes, report });
        }
    }
    let csv = csv(&cells);
    let text = if plan.sweep.grid.is_empty() {
        let nothing = || Error::bad_input("No shard has a result yet", "Run them first");
        serial::to_json(&cells.first().ok_or_else(nothing)?.report)
    } else {
        serial::to_json(&SweepReport {
            format: FORMAT,
            experiment: "sweep",
            version: &plan.version,
            r#final: incomplete.is_empty(),
            sweep: &plan.sweep,
            cells,
        })
    };
    let report = text? + "\n";
    Ok(Merged { report, csv })
}

/// The report of a cell, from the results of its pieces in order.
fn report<'a>(
    plan: &'a Plan,
    cell: &'a Cell,
    pieces: &[&'a PieceResult],
    whole: bool,
) -> Result<Option<Report<'a>>> {
    let Some((first, others)) = pieces.split_first() else { return Ok(None) };
    let mut findings = first.findings.clone();
    for piece in others {
        if piece.engine != first.engine {
            return Err(Error::bad_input(
                format!(
                    "Some shards ran on the {} engine and some on the {} engine",
                    first.engine, piece.engine
                ),
                "Run all of them with the same --engine",
            ));
        }
        append(&mut findings, &piece.findings)?;
    }
    let adapters: BTreeSet<&str> = pieces.iter().filter_map(|p| p.adapter.as_deref()).collect();
    let adapters: Vec<&str> = adapters.into_iter().collect();
    Ok(Some(Report {
        format: FORMAT,
        experiment: &plan.sweep.experiment,
        version: &plan.version,
        engine: &first.engine,
        adapter: (!adapters.is_empty()).then(|| adapters.join(", ")),
        shape: cell.images.shape,
        data: &cell.images.recipe,
        seconds: None,
        r#final: whole,
        sigmas: &first.sigmas,
        config: &cell.config,
        findings,
    }))
}

/// Columns that come first.
const FIRST: [&str; 4] = ["findings", "n", "seed", "step"];

/// Longer texts are images, which do not belong in a table.
const LONGEST_TEXT: usize = 40;

/// One line per finding. A column is the path of a number in the finding; in lists over noise levels, the
/// path has the level instead of the index.
fn csv(cells: &[CellReport<'_>]) -> String {
    let mut rows: Vec<BTreeMap<String, String>> = Vec::new();
    let (mut axes, mut columns) = (BTreeSet::new(), BTreeSet::new());
    for CellReport { axes: values, report } in cells {
        axes.extend(values.keys().cloned());
        for (list, finding) in each(&report.findings) {
            let mut row = BTreeMap::new();
            row.extend(list.map(|list| ("findings".to_owned(), list.to_owned())));
            flatten(finding, String::new(), report.sigmas, &mut row);
            columns.extend(row.keys().cloned());
            row.extend(values.iter().map(|(axis, value)| (format!("axis {axis}"), plain(value))));
            rows.push(row);
        }
    }
    let (first, others) = (FIRST.iter().map(|&name| name.to_owned()), columns.iter());
    let first = first.filter(|name| columns.contains(name));
    let others = others.filter(|name| !FIRST.contains(&name.as_str())).cloned();
    let keys: Vec<String> =
        axes.iter().map(|axis| format!("axis {axis}")).chain(first).chain(others).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
    };
    let titles = keys.iter().map(|key| key.strip_prefix("axis ").unwrap_or(key));
    let mut text = line(&mut { titles });
    for row in &rows {
        text += &line(&mut keys.iter().map(|key| row.get(key).map_or("", String::as_str)));
    }
    text
}

fn flatten(value: &Value, path: String, sigmas: &[f64], row: &mut BTreeMap<String, String>) {
    let join =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                flatten(field, join(name), sigmas, row);
            }
        }
        Value::Array(list) => {
            for (i, item) in list.iter().enumerate() {
                let place = if list.len() == sigmas.len() {
                    format!("{path}@{}", sigmas[i])
                } else {
                    join(&i.to_string())
                };
                flatten(item, place, sigmas, row);
            }
        }
        Value::String(text) if text.len() > LONGEST_TEXT => {}
        _ => {
            row.insert(path, plain(value));
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A cell of a CSV file.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn findings_flatten_to_columns() {
        let finding = json!({ "n": 4, "status": "learning", "samples": "x".repeat(99),
            "error": [{ "mean": 0.5 }, { "mean": null }], "pair": [1, 2, 3] });
        let mut row = BTreeMap::new();
        flatten(&finding, String::new(), &[1.0, 0.4], &mut row);
        let row: Vec<_> = row.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let expected = [
            ("error@0.4.mean", ""),
            ("error@1.mean", "0.5"),
            ("n", "4"),
            ("pair.0", "1"),
            ("pair.1", "2"),
            ("pair.2", "3"),
            ("status", "learning"),
        ];
        assert_eq!(row, expected);
    }

    #[test]
    fn cells_of_a_table_are_quoted_where_they_must_be() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
