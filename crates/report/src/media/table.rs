//! The figures as tables: for a terminal as text, and the same for the page.

use std::fmt::Write as _;

use polypath_core::time::Duration;
use polypath_sim::{Side, WireKind};

use super::conclusion::conclusion;
use super::figures::{MediaFigures, PathFigures, PolicyFigures};
use super::lab::warnings;
use super::{CarrierMeasurement, LabConditions, LabRecord, MediaRecord};
use crate::conclusion::lines;
use crate::difference::Difference;
use crate::statistics::Estimate;
use crate::table::{difference, plain, shortened, spread, titled};

/// The maximum length of the name of a policy on a terminal, in characters.
const NAME: usize = 19;

/// The deadlines in a table, at most, so that it fits into 80 characters.
const DEADLINES: usize = 3;

/// The classes of the tables of lateness.
pub(super) const LATE: &str = "late";
pub(super) const DIFFERENCES: &str = "differences";

/// A table whose first column has the names of policies.
pub(super) struct FigureTable {
    /// Its class in the style of the page.
    pub(super) class: &'static str,
    pub(super) caption: &'static str,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    /// The first column of numbers.
    first_number: usize,
}

/// The figures as tables for a terminal, each mean with half of its 95 % confidence interval.
#[must_use]
pub fn render(record: MediaRecord<'_>, figures: &MediaFigures) -> String {
    let scenario = record.scenario;
    let mut text = format!("{}\n", titled(&scenario.name, &scenario.title));
    let intervals = if record.seeds.len() > 1 {
        ";\n+- is half of the 95 % interval"
    } else {
        ""
    };
    let _ = writeln!(text, "{}{intervals}", basis(record));
    // The conclusion has the differences, and the page their table.
    let shown = tables(record, figures).into_iter();
    for table in shown.filter(|table| table.class != DIFFERENCES) {
        let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        let mut rows = table.rows;
        for row in &mut rows {
            row[0] = shortened(&row[0], NAME);
        }
        let body = plain(&columns, rows, table.first_number);
        let _ = writeln!(text, "\n{}\n{body}", table.caption);
    }
    let _ = write!(text, "\n{}", lines(&conclusion(record, figures)));
    for warning in warnings(record) {
        let _ = writeln!(text, "warning: {warning}");
    }
    // A title must not control the terminal.
    text.retain(|c| c == '\n' || !c.is_control());
    text
}

/// The runs and the stream of a record.
pub(super) fn basis(record: MediaRecord<'_>) -> String {
    let (media, seed) = (&record.scenario.media, record.scenario.seed);
    let runs = match record.seeds.len() {
        1 => format!("one run of each policy, seed {seed}"),
        runs => format!("n = {runs} runs of each policy, seeds derived from {seed}"),
    };
    let mode = record.mode().name();
    let (rate, packet, duration) = (media.rate, media.packet, media.duration);
    format!("{mode}, {runs}:\n{rate} in packets of {packet} for {duration}")
}

/// Whether a difference in a table has the mark of no difference.
pub(super) fn has_marks(figures: &MediaFigures) -> bool {
    let differences = figures.policies.iter().flat_map(|of| &of.late_differences);
    differences.flatten().any(Difference::is_marked)
}

/// All tables.
pub(super) fn tables(record: MediaRecord<'_>, figures: &MediaFigures) -> Vec<FigureTable> {
    let deadlines = &record.scenario.media.deadlines;
    let starts = || (0..deadlines.len()).step_by(DEADLINES);
    let late = starts().map(|first| late(deadlines, first, figures));
    let differences = starts().filter_map(|first| differences(deadlines, first, figures));
    let others = [delays(figures), deliveries(figures), wire(figures)];
    let paths = (record.scenario.paths.len() > 1).then(|| paths(figures));
    let of_lab = record.lab.into_iter();
    let of_lab = of_lab.flat_map(|lab| [host(lab, figures), runs(record.seeds, lab)]);
    let all = late.chain(differences).chain(others);
    all.chain(paths).chain(of_lab).collect()
}

/// The shares of late packets at [`DEADLINES`] deadlines from `first` on.
fn late(deadlines: &[Duration], first: usize, figures: &MediaFigures) -> FigureTable {
    let shown = || deadlines.iter().enumerate().skip(first).take(DEADLINES);
    let row = |of: &PolicyFigures| {
        let shares = shown().map(|(n, _)| percent(of.late.get(n).copied().flatten()));
        [of.name.clone()].into_iter().chain(shares).collect()
    };
    FigureTable {
        class: LATE,
        caption: "Late or lost, % of the packets",
        columns: of_deadlines(shown().map(|(_, deadline)| deadline)),
        rows: figures.policies.iter().map(row).collect(),
        first_number: 1,
    }
}

/// The differences of these shares to those of the first policy, if there are others.
fn differences(
    deadlines: &[Duration],
    first: usize,
    figures: &MediaFigures,
) -> Option<FigureTable> {
    let shown = || deadlines.iter().enumerate().skip(first).take(DEADLINES);
    let (_, others) = figures.policies.split_first()?;
    let row = |of: &PolicyFigures| {
        let cells = shown().map(|(n, _)| {
            let found = of.late_differences.get(n).copied().flatten();
            difference(found.map(|found| found.scaled(100.0)))
        });
        [of.name.clone()].into_iter().chain(cells).collect()
    };
    (!others.is_empty()).then(|| FigureTable {
        class: DIFFERENCES,
        caption: "Late or lost minus that of the first policy in the same run, % of the packets",
        columns: of_deadlines(shown().map(|(_, deadline)| deadline)),
        rows: others.iter().map(row).collect(),
        first_number: 1,
    })
}

fn of_deadlines<'a>(deadlines: impl Iterator<Item = &'a Duration>) -> Vec<String> {
    let names = deadlines.map(|deadline| format!("at {deadline}"));
    ["policy".to_owned()].into_iter().chain(names).collect()
}

fn delays(figures: &MediaFigures) -> FigureTable {
    let row = |of: &PolicyFigures| {
        let cells = of.delay.map(milliseconds);
        [of.name.clone()].into_iter().chain(cells).collect()
    };
    FigureTable {
        class: "delays",
        caption: "One-way delay of delivered packets, ms",
        columns: ["policy", "p50", "p99", "p99.9"].map(str::to_owned).into(),
        rows: figures.policies.iter().map(row).collect(),
        first_number: 1,
    }
}

fn deliveries(figures: &MediaFigures) -> FigureTable {
    let row = |of: &PolicyFigures| {
        vec![
            of.name.clone(),
            percent(of.lost),
            milliseconds(of.longest_gap),
            percent(of.reordered),
        ]
    };
    let columns = ["policy", "lost\n%", "longest\ngap ms", "reordered\n%"];
    FigureTable {
        class: "deliveries",
        caption: "Packets never delivered, longest time without a delivery, packets overtaken",
        columns: columns.map(str::to_owned).into(),
        rows: figures.policies.iter().map(row).collect(),
        first_number: 1,
    }
}

fn wire(figures: &MediaFigures) -> FigureTable {
    let row = |policy: &PolicyFigures, [direction, kind]: [&str; 2], frames: u64, ratio| {
        let [name, direction, kind] = [&policy.name, direction, kind].map(str::to_owned);
        vec![name, direction, kind, frames.to_string(), spread(ratio)]
    };
    let rows = figures.policies.iter().flat_map(|policy| {
        let frames = policy.wire.iter().map(|of| of.total.frames).sum();
        let all = row(policy, ["both", "all"], frames, policy.wire_ratio);
        let parts = policy.wire.iter().map(move |of| {
            let part = [direction(of.sender), &kind_name(of.kind)];
            row(policy, part, of.total.frames, of.ratio)
        });
        [all].into_iter().chain(parts)
    });
    let columns = [
        "policy",
        "direction",
        "kind",
        "frames",
        "bytes over\npayload",
    ];
    FigureTable {
        class: "wire",
        caption: "Frames of all runs by kind, and their bytes over bytes of payload",
        columns: columns.map(str::to_owned).into(),
        rows: rows.collect(),
        first_number: 3,
    }
}

/// The share of each path.
fn paths(figures: &MediaFigures) -> FigureTable {
    let row = |policy: &PolicyFigures, path: &PathFigures| {
        vec![policy.name.clone(), path.name.clone(), percent(path.share)]
    };
    let rows = figures.policies.iter();
    let rows = rows.flat_map(|policy| policy.paths.iter().map(|path| row(policy, path)));
    FigureTable {
        class: "paths",
        caption: "Bytes on the wire of both directions by path",
        columns: ["policy", "path", "share\n%"].map(str::to_owned).into(),
        rows: rows.collect(),
        first_number: 2,
    }
}

/// The processor time and the packets that the kernel lost.
fn host(lab: LabRecord<'_>, figures: &MediaFigures) -> FigureTable {
    let row = |(of, measured): (&PolicyFigures, &Vec<CarrierMeasurement>)| {
        let sum = |of: fn(&CarrierMeasurement) -> u64| measured.iter().map(of).sum::<u64>();
        vec![
            of.name.clone(),
            spread(of.processor.map(|time| time.scaled(1e6))),
            sum(|of| of.dropped).to_string(),
            sum(|of| of.refused).to_string(),
        ]
    };
    let columns = ["policy", "us a\npacket", "dropped", "refused"];
    FigureTable {
        class: "host",
        caption: "Processor time (- of the kernel), packets that the kernel lost",
        columns: columns.map(str::to_owned).into(),
        rows: figures
            .policies
            .iter()
            .zip(lab.measurements)
            .map(row)
            .collect(),
        first_number: 1,
    }
}

/// The conditions of each run.
fn runs(seeds: &[u64], lab: LabRecord<'_>) -> FigureTable {
    let row = |(seed, of): (&u64, &LabConditions)| {
        let counts = if of.is_valid() { "yes" } else { "NO" };
        let milliseconds = |span: Duration| format!("{:.3}", span.as_secs_f64() * 1e3);
        let [lateness, bound, longest] = [of.lateness, of.bound, of.longest].map(milliseconds);
        vec![
            seed.to_string(),
            of.groups.to_string(),
            lateness,
            bound,
            longest,
            counts.to_owned(),
        ]
    };
    let columns = [
        "seed",
        "groups",
        "lateness\np99 ms",
        "at most\nms",
        "longest\nms",
        "counts",
    ];
    FigureTable {
        class: "runs",
        caption: "Lateness of the emulated links in each run, and the groups of policies that ran at once",
        columns: columns.map(str::to_owned).into(),
        rows: seeds.iter().zip(lab.conditions).map(row).collect(),
        first_number: 1,
    }
}

/// The direction of the frames of a side.
pub(super) const fn direction(sender: Side) -> &'static str {
    match sender {
        Side::Server => "to client",
        Side::Client => "to server",
    }
}

/// The name of a kind of packets: that of frames as event streams have it.
pub(super) fn kind_name(kind: WireKind) -> String {
    let WireKind::Frame(kind) = kind else {
        return "other".to_owned();
    };
    let value = serde_json::to_value(kind).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn percent(share: Option<Estimate>) -> String {
    spread(share.map(|share| share.scaled(100.0)))
}

fn milliseconds(seconds: Option<Estimate>) -> String {
    spread(seconds.map(|seconds| seconds.scaled(1e3)))
}
