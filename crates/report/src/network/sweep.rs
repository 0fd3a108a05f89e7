//! The runs of a sweep side by side, from their `report.json`.

use std::io;

use serde::Serialize;
use serde_json::Value;

/// One combination of parameters and its report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// The keys that were set, with their values.
    pub set: Vec<(String, String)>,
    /// What its `report.json` says.
    pub report: Value,
}

/// The keys of a group of flows that stand in `sweep.csv`, each with the way to it in `report.json`.
const GROUP_COLUMNS: [(&str, &[&str]); 15] = [
    ("group", &["name"]),
    ("flows", &["flows"]),
    ("goodput_bits_s", &["goodput_bits_s", "mean"]),
    ("goodput_ci95_bits_s", &["goodput_bits_s", "ci95"]),
    ("jain_index", &["jain_index", "mean"]),
    ("jain_index_ci95", &["jain_index", "ci95"]),
    ("delay_s", &["delay_s", "mean"]),
    ("delay_ci95_s", &["delay_s", "ci95"]),
    ("window_segments", &["window_segments", "mean"]),
    ("window_ci95_segments", &["window_segments", "ci95"]),
    ("goodput_bytes", &["goodput_bytes"]),
    ("sent_packets", &["sent_packets"]),
    ("retransmitted_packets", &["retransmitted_packets"]),
    ("timeouts", &["timeouts"]),
    ("arrived_packets", &["arrived_packets"]),
];

/// The same for a link and `sweep-links.csv`.
const LINK_COLUMNS: [(&str, &[&str]); 10] = [
    ("link", &["name"]),
    ("rate_bits_s", &["rate_bits_s"]),
    ("load", &["load", "mean"]),
    ("load_ci95", &["load", "ci95"]),
    ("loss", &["loss", "mean"]),
    ("loss_ci95", &["loss", "ci95"]),
    ("waiting_packets", &["mean_waiting_packets", "mean"]),
    ("waiting_ci95_packets", &["mean_waiting_packets", "ci95"]),
    ("packets_in", &["packets_in"]),
    ("packets_delivered", &["packets_delivered"]),
];

/// `sweep.csv`: a row for each group of flows of each point.
pub fn groups_csv(points: &[SweepPoint]) -> io::Result<Vec<u8>> {
    sheet(points, "groups", &GROUP_COLUMNS)
}

/// `sweep-links.csv`: a row for each link of each point that packets came to.
pub fn links_csv(points: &[SweepPoint]) -> io::Result<Vec<u8>> {
    sheet(points, "links", &LINK_COLUMNS)
}

/// `sweep.json`: the points with their parameters, groups and seeds.
pub fn json(points: &[SweepPoint]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Point<'a> {
        set: serde_json::Map<String, Value>,
        seeds: &'a Value,
        groups: &'a Value,
    }
    let listed: Vec<Point<'_>> = points
        .iter()
        .map(|point| Point {
            set: point
                .set
                .iter()
                .map(|(key, value)| (key.clone(), value.clone().into()))
                .collect(),
            seeds: &point.report["seeds"],
            groups: &point.report["groups"],
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&serde_json::json!({
        "version": 2,
        "points": listed,
    }))?;
    text.push('\n');
    Ok(text)
}

fn sheet(points: &[SweepPoint], rows: &str, columns: &[(&str, &[&str])]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let keys = points.first().map_or(&[][..], |point| &point.set);
    let names = keys.iter().map(|(key, _)| key.as_str());
    let names = ["point"].into_iter().chain(names);
    writer.write_record(names.chain(columns.iter().map(|(name, _)| *name)))?;
    for (number, point) in points.iter().enumerate() {
        for row in point.report[rows].as_array().into_iter().flatten() {
            if row["packets_in"] == 0 {
                continue;
            }
            let set = point.set.iter().map(|(_, value)| value.clone());
            let head = [number.to_string()].into_iter().chain(set);
            let cells = columns.iter().map(|(_, way)| cell(row, way));
            writer.write_record(head.chain(cells))?;
        }
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

/// The value at the end of a way; empty where there is none.
fn cell(row: &Value, way: &[&str]) -> String {
    match way.iter().fold(row, |value, key| &value[*key]) {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
