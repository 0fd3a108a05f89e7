//! The quantities of a sweep, read from the reports of its points.

use serde_json::Value;

use super::{Kind, SweepPoint};
use crate::difference::{Bound, Difference};
use crate::statistics::Estimate;
use crate::table;

/// A quantity of each entry of a list in the reports.
pub(super) struct Quantity {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    /// The factor from the report to the unit.
    pub(super) scale: f64,
    /// The list: groups of flows, links or schemes.
    pub(super) list: &'static str,
    /// The key in an entry: a number, or an object with `mean`, `ci95` and `n`.
    pub(super) key: &'static str,
    /// The key of half of the interval of a number, if it has one.
    half: &'static str,
}

const fn of(
    list: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: f64,
    key: &'static str,
) -> Quantity {
    Quantity {
        title,
        unit,
        scale,
        list,
        key,
        half: "",
    }
}

/// The quantities of a network.
const OF_NETWORKS: [Quantity; 7] = [
    of("groups", "Goodput", "Mbit/s", 1e-6, "goodput_bits_s"),
    of("groups", "One-way delay", "ms", 1e3, "delay_s"),
    of("groups", "Window", "segments", 1.0, "window_segments"),
    of("groups", "Jain index", "", 1.0, "jain_index"),
    of("links", "Load", "%", 100.0, "load"),
    of("links", "Loss", "%", 100.0, "loss"),
    of(
        "links",
        "Packets that wait",
        "packets",
        1.0,
        "mean_waiting_packets",
    ),
];

/// The quantities of transfers.
const OF_TRANSFERS: [Quantity; 5] = [
    of("schemes", "Transfer time", "s", 1.0, "transfer_s"),
    of("schemes", "Minus tcp", "s", 1.0, "difference_to_tcp_s"),
    Quantity {
        half: "prebuffer_ci95_s",
        ..of("schemes", "Pre-buffer", "s", 1.0, "prebuffer_s")
    },
    of(
        "schemes",
        "Bytes per byte of packets",
        "",
        1.0,
        "overhead_ratio",
    ),
    of("schemes", "Harm", "", 1.0, "harm"),
];

impl Quantity {
    /// The quantities of a kind of runs.
    pub(super) const fn all(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Network => &OF_NETWORKS,
            Kind::Transfers => &OF_TRANSFERS,
        }
    }

    /// The value in an entry of a report, in the unit.
    pub(super) fn value(&self, entry: &Value) -> Option<Estimate> {
        let value = &entry[self.key];
        let found = match value.as_f64() {
            Some(mean) => Estimate {
                mean,
                ci95: entry[self.half].as_f64(),
                n: 1,
            },
            None => estimate(value)?,
        };
        Some(found.scaled(self.scale))
    }

    /// The value in an entry as a cell of a table, with the marks of every report.
    pub(super) fn cell(&self, entry: &Value) -> String {
        let timed_out = entry["timed_out"].as_u64().unwrap_or(0);
        let timed_out = usize::try_from(timed_out).unwrap_or(usize::MAX);
        let value = self.value(entry);
        match self.key {
            "difference_to_tcp_s" => table::difference(difference(entry)),
            "harm" => table::marked(table::spread(value), value.map(Difference::of_ratio)),
            "transfer_s" => table::bounded(value, Bound::of_time(timed_out)),
            "prebuffer_s" => table::bounded(value, Bound::of_prebuffer(timed_out)),
            _ => table::spread(value),
        }
    }

    /// The value of the entry with a name at a point.
    pub(super) fn at(&self, point: &SweepPoint, name: &str) -> Option<Estimate> {
        let report = point.report.as_ref().ok()?;
        self.value(entry(report, self.list, name)?)
    }

    /// The label of an axis.
    pub(super) fn label(&self) -> String {
        self.title.to_lowercase()
    }
}

/// The entry of a list with a name.
pub(super) fn entry<'a>(report: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
    let entries = report[list].as_array()?;
    entries.iter().find(|entry| entry["name"] == name)
}

/// The names in a list of the reports, in the order of their first appearance.
pub(super) fn names(points: &[SweepPoint], list: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for report in points.iter().filter_map(|point| point.report.as_ref().ok()) {
        for entry in report[list].as_array().into_iter().flatten() {
            let name = entry["name"].as_str().unwrap_or_default();
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// A mean with half of its interval, as reports have it.
pub(super) fn estimate(value: &Value) -> Option<Estimate> {
    Some(Estimate {
        mean: value["mean"].as_f64()?,
        ci95: value["ci95"].as_f64(),
        n: usize::try_from(value["n"].as_u64()?).ok()?,
    })
}

/// A scheme's difference to plain TCP.
pub(super) fn difference(scheme: &Value) -> Option<Difference> {
    Some(Difference {
        estimate: estimate(&scheme["difference_to_tcp_s"])?,
        bound: Bound::from_name(scheme["difference_to_tcp_bound"].as_str()?)?,
    })
}
