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

/// What stands in front of each row besides the parameters: the first seed of the point, and how many runs it has.
const RUN_COLUMNS: [&str; 2] = ["seed", "replicas"];

/// The keys of a group of flows that stand in `sweep.csv`, each with the way to it in `report.json`; counts are those
/// of a run.
const GROUP_COLUMNS: [(&str, &[&str]); 20] = [
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
    ("goodput_bytes", &["per_run", "goodput_bytes", "mean"]),
    ("goodput_ci95_bytes", &["per_run", "goodput_bytes", "ci95"]),
    ("sent_packets", &["per_run", "sent_packets", "mean"]),
    ("sent_ci95_packets", &["per_run", "sent_packets", "ci95"]),
    (
        "retransmitted_packets",
        &["per_run", "retransmitted_packets", "mean"],
    ),
    (
        "retransmitted_ci95_packets",
        &["per_run", "retransmitted_packets", "ci95"],
    ),
    ("timeouts", &["per_run", "timeouts", "mean"]),
    ("timeouts_ci95", &["per_run", "timeouts", "ci95"]),
    ("arrived_packets", &["per_run", "arrived_packets", "mean"]),
    (
        "arrived_ci95_packets",
        &["per_run", "arrived_packets", "ci95"],
    ),
];

/// The same for a link and `sweep-links.csv`.
const LINK_COLUMNS: [(&str, &[&str]); 12] = [
    ("link", &["name"]),
    ("rate_bits_s", &["rate_bits_s"]),
    ("load", &["load", "mean"]),
    ("load_ci95", &["load", "ci95"]),
    ("loss", &["loss", "mean"]),
    ("loss_ci95", &["loss", "ci95"]),
    ("waiting_packets", &["mean_waiting_packets", "mean"]),
    ("waiting_ci95_packets", &["mean_waiting_packets", "ci95"]),
    ("packets_in", &["per_run", "packets_in", "mean"]),
    ("packets_in_ci95", &["per_run", "packets_in", "ci95"]),
    ("packets_dropped", &["per_run", "packets_dropped", "mean"]),
    (
        "packets_dropped_ci95",
        &["per_run", "packets_dropped", "ci95"],
    ),
];

/// `sweep.csv`: a row for each group of flows of each point.
pub fn groups_csv(points: &[SweepPoint]) -> io::Result<Vec<u8>> {
    sheet(points, "groups", &GROUP_COLUMNS)
}

/// `sweep-links.csv`: a row for each link of each point that packets came to.
pub fn links_csv(points: &[SweepPoint]) -> io::Result<Vec<u8>> {
    sheet(points, "links", &LINK_COLUMNS)
}

/// `sweep.json`: the points with their parameters, seeds, groups and links.
pub fn json(points: &[SweepPoint]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Point<'a> {
        set: serde_json::Map<String, Value>,
        seeds: &'a Value,
        groups: &'a Value,
        links: &'a Value,
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
            links: &point.report["links"],
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
    let names = ["point"].into_iter().chain(names).chain(RUN_COLUMNS);
    writer.write_record(names.chain(columns.iter().map(|(name, _)| *name)))?;
    for (number, point) in points.iter().enumerate() {
        for row in point.report[rows].as_array().into_iter().flatten() {
            if row["packets_in"] == 0 {
                continue;
            }
            let set = point.set.iter().map(|(_, value)| value.clone());
            let head = [number.to_string()]
                .into_iter()
                .chain(set)
                .chain(runs(point));
            let cells = columns.iter().map(|(_, way)| cell(row, way));
            writer.write_record(head.chain(cells))?;
        }
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

/// The cells of [`RUN_COLUMNS`].
fn runs(point: &SweepPoint) -> [String; 2] {
    let seeds = &point.report["seeds"];
    let count = seeds.as_array().map_or(0, Vec::len);
    [cell(&seeds[0], &[]), count.to_string()]
}

/// The value at the end of a way; empty where there is none.
fn cell(row: &Value, way: &[&str]) -> String {
    match way.iter().fold(row, |value, key| &value[*key]) {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use polypath_core::rng::Seed;
    use polypath_scenario::Network;
    use polypath_sim::run_network;

    use super::*;
    use crate::network::{NetworkFigures, NetworkRecord};

    const NETWORK: &str = r#"schema = 1
name = "small"
run = { duration = "5 s" }
[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "20 ms"
queue = "10 packets"
[[flow]]
name = "bulk"
count = 2
start_spread = "1 s"
from = "a"
to = "b"
traffic = { kind = "ftp" }
"#;

    /// A point of `seeds`, and the packets that its flows sent in all runs together.
    fn point(seeds: &[u64]) -> (SweepPoint, u64) {
        let network = Network::parse(NETWORK, "small.toml", &[]).unwrap();
        let run = |seed: &u64| (*seed, run_network(&network, Seed(*seed), &mut ()).unwrap());
        let replicas: Vec<_> = seeds.iter().map(run).collect();
        let record = NetworkRecord {
            network: &network,
            replicas: &replicas,
        };
        let figures = NetworkFigures::of(record);
        let text = crate::network::json(record, &figures).unwrap();
        let point = SweepPoint {
            set: vec![("tcp.variant".to_owned(), "reno".to_owned())],
            report: serde_json::from_str(&text).unwrap(),
        };
        (point, figures.groups[0].totals.sender.sent)
    }

    /// The first row under its header.
    fn first_row(sheet: &[u8]) -> std::collections::BTreeMap<String, String> {
        let mut reader = csv::Reader::from_reader(sheet);
        let names: Vec<String> = reader
            .headers()
            .unwrap()
            .iter()
            .map(str::to_owned)
            .collect();
        let row = reader.records().next().unwrap().unwrap();
        names
            .into_iter()
            .zip(row.iter().map(str::to_owned))
            .collect()
    }

    #[test]
    fn a_row_says_its_seed_its_runs_and_what_one_of_them_counted() {
        let (three, sent) = point(&[7, 8, 9]);
        let row = first_row(&groups_csv(std::slice::from_ref(&three)).unwrap());
        assert_eq!((&*row["seed"], &*row["replicas"]), ("7", "3"));
        let mean: f64 = row["sent_packets"].parse().unwrap();
        assert!((mean - sent as f64 / 3.0).abs() < 1.0, "{mean} of {sent}");
        assert!(row["sent_ci95_packets"].parse::<f64>().unwrap() > 0.0);
        let row = first_row(&links_csv(&[three]).unwrap());
        assert_eq!((&*row["seed"], &*row["replicas"]), ("7", "3"));
        assert!(row["packets_dropped"].parse::<f64>().unwrap() > 0.0);

        let (one, sent) = point(&[7]);
        let row = first_row(&groups_csv(&[one]).unwrap());
        assert_eq!(row["sent_packets"], format!("{sent}.0"));
        assert_eq!(row["sent_ci95_packets"], "", "a count of one run is exact");
    }

    #[test]
    fn the_list_has_the_links_of_each_point() {
        let text = json(&[point(&[7]).0]).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        let links = list["points"][0]["links"].as_array().unwrap();
        assert_eq!(links[0]["name"], "narrow");
        assert_eq!(list["points"][0]["seeds"][0], 7);
    }
}
