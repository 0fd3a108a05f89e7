use polypath_link::DropReason;

use super::*;
use crate::figures::Figures;
use crate::fixture::{NARROW, experiment, with_network};
use crate::network::NetworkFigures;

const HEAD: &str = "schema = 1\nname = \"small\"\nrun = { duration = \"5 s\" }\n";

const FLOW: &str = r#"[[flow]]
name = "bulk"
count = 2
start_spread = "1 s"
from = "a"
to = "b"
traffic = { kind = "ftp" }
"#;

/// A point of `seeds`, and the packets that its flows sent in all runs together.
fn point(seeds: &[u64]) -> (SweepPoint, u64) {
    with_network(&format!("{HEAD}{NARROW}{FLOW}"), seeds, |record| {
        let figures = NetworkFigures::of(record);
        let text = crate::network::json(record, &figures).unwrap();
        let point = SweepPoint {
            set: vec![("tcp.variant".to_owned(), "reno".to_owned())],
            report: Ok(serde_json::from_str(&text).unwrap()),
        };
        (point, figures.groups[0].totals.sender.sent)
    })
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
fn a_row_has_its_seed_its_number_of_runs_and_the_counts_per_run() {
    let (three, sent) = point(&[7, 8, 9]);
    let row = first_row(&sheets(Kind::Network, std::slice::from_ref(&three)).unwrap()[0].1);
    assert_eq!((&*row["first_seed"], &*row["replicas"]), ("7", "3"));
    let mean: f64 = row["sent_packets"].parse().unwrap();
    assert!((mean - sent as f64 / 3.0).abs() < 1.0, "{mean} of {sent}");
    assert!(row["sent_ci95_packets"].parse::<f64>().unwrap() > 0.0);
    let row = first_row(&sheets(Kind::Network, &[three]).unwrap()[1].1);
    assert_eq!((&*row["first_seed"], &*row["replicas"]), ("7", "3"));
    assert!(row["packets_dropped"].parse::<f64>().unwrap() > 0.0);
    assert_eq!(row["queue_full"], row["packets_dropped"]);
    assert_eq!(row["queue_full_ci95"], row["packets_dropped_ci95"]);
    assert_eq!((&*row["packets_marked"], &*row["early"]), ("0.0", "0.0"));

    let (one, sent) = point(&[7]);
    let row = first_row(&sheets(Kind::Network, &[one]).unwrap()[0].1);
    assert_eq!(row["sent_packets"], format!("{sent}.0"));
    assert_eq!(row["sent_ci95_packets"], "", "a count of one run is exact");
}

#[test]
fn the_list_has_the_links_of_each_point() {
    let text = json(Kind::Network, &[point(&[7]).0]).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    let links = list["points"][0]["links"].as_array().unwrap();
    assert_eq!(links[0]["name"], "narrow");
    assert_eq!(list["points"][0]["seeds"][0], 7);
}

#[test]
fn a_point_that_did_not_end_keeps_its_number_and_has_an_error() {
    let failed = SweepPoint {
        set: vec![("tcp.variant".to_owned(), "sack".to_owned())],
        report: Err("queue `x` overflows".to_owned()),
    };
    let points = [failed, point(&[7]).0];
    let sheets = sheets(Kind::Network, &points).unwrap();
    for (name, sheet) in sheets {
        let row = first_row(&sheet);
        assert_eq!(
            (&*row["point"], &*row["tcp.variant"]),
            ("1", "reno"),
            "{name}"
        );
        let text = String::from_utf8(sheet).unwrap();
        let mut rows = text.lines().skip(1);
        assert!(rows.all(|row| row.starts_with("1,reno,")), "{text}");
    }
    let list: Value = serde_json::from_str(&json(Kind::Network, &points).unwrap()).unwrap();
    let entry =
        serde_json::json!({ "set": { "tcp.variant": "sack" }, "error": "queue `x` overflows" });
    assert_eq!(list["points"][0], entry);
    assert_eq!(list["points"][1]["seeds"][0], 7);
}

#[test]
fn transfers_have_a_row_for_each_scheme() {
    let experiment = experiment();
    let text = crate::json::render(&experiment, &Figures::of(&experiment)).unwrap();
    let point = SweepPoint {
        set: vec![("transfer.size".to_owned(), "100 kB".to_owned())],
        report: Ok(serde_json::from_str(&text).unwrap()),
    };
    let sheets = sheets(Kind::Transfers, std::slice::from_ref(&point)).unwrap();
    assert_eq!(sheets.len(), 1);
    let row = first_row(&sheets[0].1);
    let cells = [
        "point",
        "transfer.size",
        "first_seed",
        "scheme",
        "transfers",
        "timed_out",
    ];
    assert_eq!(
        cells.map(|name| row[name].as_str()),
        ["0", "100 kB", "7", "tcp", "3", "1"]
    );
    for column in [
        "transfer_s",
        "transfer_ci95_s",
        "prebuffer_s",
        "overhead_ratio",
    ] {
        assert!(
            row[column].parse::<f64>().is_ok_and(|value| value > 0.0),
            "{column}: {row:?}"
        );
    }
    assert_eq!(
        row["minus_tcp_s"], "",
        "of the baseline itself there is none"
    );
    let list: Value = serde_json::from_str(&json(Kind::Transfers, &[point]).unwrap()).unwrap();
    assert_eq!(list["points"][0]["schemes"][1]["name"], "ppd-tcp3");
}

#[test]
fn every_reason_of_a_drop_has_a_column() {
    for reason in DropReason::ALL {
        let of_reason = |(name, _): &&Column| *name == reason.name();
        assert!(
            columns::OF_LINKS.iter().any(|c| of_reason(&c)),
            "{}",
            reason.name()
        );
    }
}
