//! The points of a sweep side by side, from their `report.json`.

mod axes;
mod columns;
mod conclusion;
mod page;
mod quantities;
mod table;

use std::io;

use serde_json::{Value, json};

use crate::page::PageError;
use columns::{Column, KeyPath};
pub use conclusion::conclusion;

/// One combination of parameters and its report.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// The keys that were set, with their values.
    pub set: Vec<(String, String)>,
    /// Its `report.json`, or why a run of it did not end.
    pub report: Result<Value, String>,
}

/// The kind of runs of the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Flows over a network.
    Network,
    /// Transfers over paths.
    Transfers,
}

/// The name of the file for programs, with the output of [`json()`].
pub const JSON: &str = "sweep.json";

/// The name of the page with the output of [`page()`].
pub const PAGE: &str = "report.html";

/// A CSV file: a row for each entry of a list in each report.
struct CsvFile {
    name: &'static str,
    /// The key of the list.
    rows: &'static str,
    columns: &'static [Column],
}

impl Kind {
    /// Each kind.
    pub const ALL: [Self; 2] = [Self::Network, Self::Transfers];

    /// The names of the files of a sweep: its sheets, [`JSON`] and [`PAGE`].
    pub fn files(self) -> impl Iterator<Item = &'static str> {
        let sheets = self.sheets().iter().map(|sheet| sheet.name);
        sheets.chain([JSON, PAGE])
    }

    /// The leading columns after the parameters.
    const fn run_columns(self) -> &'static [&'static str] {
        match self {
            Self::Network => &["first_seed", "replicas"],
            Self::Transfers => &["first_seed"],
        }
    }

    /// The cells of these columns: the first seed of the point, and its number of runs.
    fn runs(self, report: &Value) -> Vec<String> {
        match self {
            Self::Network => {
                let seeds = &report["seeds"];
                let count = seeds.as_array().map_or(0, Vec::len);
                vec![cell(&seeds[0], &[]), count.to_string()]
            }
            Self::Transfers => vec![cell(report, &["seed"])],
        }
    }

    const fn sheets(self) -> &'static [CsvFile] {
        match self {
            Self::Network => &[
                CsvFile {
                    name: "sweep.csv",
                    rows: "groups",
                    columns: &columns::OF_GROUPS,
                },
                CsvFile {
                    name: "sweep-links.csv",
                    rows: "links",
                    columns: &columns::OF_LINKS,
                },
            ],
            Self::Transfers => &[CsvFile {
                name: "sweep.csv",
                rows: "schemes",
                columns: &columns::OF_SCHEMES,
            }],
        }
    }

    /// The keys of a report that `sweep.json` includes.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Network => &["seeds", "groups", "links"],
            Self::Transfers => &["seed", "schemes"],
        }
    }
}

/// A value that the reports of all finished points have in common; the seed and the number of runs
/// can be parameters of the sweep.
fn common<'a>(
    points: impl IntoIterator<Item = &'a SweepPoint>,
    value: impl Fn(&Value) -> &Value,
) -> Option<&'a Value> {
    let reports = points
        .into_iter()
        .filter_map(|point| point.report.as_ref().ok());
    let mut values = reports.map(value);
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// The sheets with their names. For networks `sweep.csv` has a row for each group of flows of each
/// point, and `sweep-links.csv` one for each link with arrivals; for transfers `sweep.csv` has one
/// for each scheme. A point that did not end has none.
pub fn sheets(kind: Kind, points: &[SweepPoint]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let sheets = kind.sheets().iter();
    sheets
        .map(|sheet| Ok((sheet.name, write(kind, sheet, points)?)))
        .collect()
}

/// `sweep.json`: the points with their parameters and the figures of their reports, or the `error`.
pub fn json(kind: Kind, points: &[SweepPoint]) -> serde_json::Result<String> {
    let listed = points.iter().map(|point| {
        let set = point.set.iter();
        let set = set.map(|(key, value)| (key.clone(), value.clone().into()));
        let mut entry = serde_json::Map::new();
        entry.insert("set".to_owned(), Value::Object(set.collect()));
        match &point.report {
            Ok(report) => {
                let keys = kind.keys().iter();
                entry.extend(keys.map(|key| ((*key).to_owned(), report[key].clone())));
            }
            Err(error) => _ = entry.insert("error".to_owned(), error.clone().into()),
        }
        entry
    });
    let mut text = serde_json::to_string_pretty(&json!({
        "version": 3,
        "conclusion": conclusion(kind, points),
        "points": listed.collect::<Vec<_>>(),
    }))?;
    text.push('\n');
    Ok(text)
}

/// The points as tables for a terminal, with the conclusion at the end.
#[must_use]
pub fn render(kind: Kind, points: &[SweepPoint]) -> String {
    table::render(kind, points)
}

/// `report.html`: the pictures of each quantity over the swept parameters, and the table.
///
/// # Errors
/// If a picture cannot be drawn.
pub fn page(name: &str, kind: Kind, points: &[SweepPoint]) -> Result<String, PageError> {
    page::render(name, kind, points)
}

fn write(kind: Kind, sheet: &CsvFile, points: &[SweepPoint]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let keys = points.first().map_or(&[][..], |point| &point.set);
    let names = keys.iter().map(|(key, _)| key.as_str());
    let names = ["point"].into_iter().chain(names);
    let names = names.chain(kind.run_columns().iter().copied());
    writer.write_record(names.chain(sheet.columns.iter().map(|(name, _)| *name)))?;
    for (number, point) in points.iter().enumerate() {
        let Ok(report) = &point.report else { continue };
        for row in report[sheet.rows].as_array().into_iter().flatten() {
            if row["packets_in"] == 0 {
                continue;
            }
            let set = point.set.iter().map(|(_, value)| value.clone());
            let head = [number.to_string()].into_iter().chain(set);
            let head = head.chain(kind.runs(report));
            let cells = sheet.columns.iter().map(|(_, path)| cell(row, path));
            writer.write_record(head.chain(cells))?;
        }
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

/// The value at a key path; empty if there is none.
fn cell(row: &Value, path: KeyPath) -> String {
    match path.iter().fold(row, |value, key| &value[*key]) {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
