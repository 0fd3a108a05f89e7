//! The figures as tables: for a terminal as text, and the same for the page.

use std::fmt::Write as _;

use polypath_core::time::Duration;
use polypath_scenario::network::senders::{GridPoint, Setting};
use polypath_sim::SendersOutcome;

use super::conclusion::conclusion;
use super::figures::{SettingFigures, StabilityFigures};
use super::{StabilityRecord, settings};
use crate::conclusion::lines;
use crate::media::LabConditions;
use crate::statistics::Estimate;
use crate::table::{dash, plain, shortened, spread, titled};

/// The maximum length of the name of a setting, and of a path, on a terminal, in characters.
const NAME: usize = 17;

/// A table of settings.
pub(super) struct SettingTable {
    /// Its class in the style of the page.
    pub(super) class: &'static str,
    pub(super) caption: &'static str,
    pub(super) columns: &'static [&'static str],
    pub(super) rows: Vec<Vec<String>>,
    /// The first column of numbers.
    first_number: usize,
}

/// A setting with its figures and outcomes.
type SettingResult<'a> = (&'a Setting, &'a SettingFigures, &'a [SendersOutcome]);

/// The figures as tables for a terminal, each mean with half of its 95 % confidence interval.
#[must_use]
pub fn render(record: StabilityRecord<'_>, figures: &StabilityFigures) -> String {
    let network = record.network;
    let mut text = format!("{}\n", titled(&network.name, &network.title));
    let _ = writeln!(
        text,
        "{};\n+- is half of the 95 % interval",
        basis(record, figures)
    );
    for table in tables(record, figures) {
        let mut rows = table.rows;
        for cell in rows
            .iter_mut()
            .flat_map(|row| &mut row[..table.first_number])
        {
            *cell = shortened(cell, NAME);
        }
        let body = plain(table.columns, rows, table.first_number);
        let _ = writeln!(text, "\n{}\n{body}", table.caption);
    }
    let _ = write!(text, "\n{}", lines(&conclusion(record, figures)));
    // A title must not control the terminal.
    text.retain(|c| c == '\n' || !c.is_control());
    text
}

/// The senders, the runs and the rule for unstable ones.
pub(super) fn basis(record: StabilityRecord<'_>, figures: &StabilityFigures) -> String {
    let network = record.network;
    let senders = network.senders();
    let count = senders.map_or(0, |senders| senders.count());
    let utilisation = senders.map_or(0.0, |senders| senders.utilisation());
    let paths = senders.map_or(0, |senders| senders.traffic.ways().len());
    let runs = match record.seeds.len() {
        1 => format!("one run, seed {}", network.seed),
        runs => format!("n = {runs} runs from seed {}", network.seed),
    };
    let measured = network.run.duration - network.run.warm_up;
    let lab = record.lab.map_or_else(String::new, |lab| {
        let LabConditions {
            lateness,
            bound,
            longest,
            ..
        } = lab;
        format!(
            ";\nin the lab, links and sources were late by {lateness} at the 99th percentile (bound {bound}), \
             {longest} at most"
        )
    });
    format!(
        "{count} senders over {paths} paths at a utilisation of {utilisation:.3};\n\
         {runs}, {measured} after a warm-up of {} each;\n\
         a run is unstable if its mean delay exceeds {:.1} ms{lab}",
        network.run.warm_up,
        figures.unstable_above * 1e3
    )
}

/// All tables: those of the settings that are no points of a grid, then the map.
pub(super) fn tables(record: StabilityRecord<'_>, figures: &StabilityFigures) -> Vec<SettingTable> {
    let single: Vec<SettingResult<'_>> = settings(record, figures)
        .filter(|(setting, ..)| setting.point.is_none())
        .collect();
    let map: Vec<Vec<String>> = settings(record, figures)
        .filter_map(|(setting, of, _)| Some(map_row(setting.point?, of)))
        .collect();
    let mut tables = Vec::new();
    if !single.is_empty() {
        tables.extend([
            switches(&single),
            delays(&single),
            costs(&single),
            loads(record, &single),
        ]);
    }
    if !map.is_empty() {
        tables.push(map_table(map));
    }
    tables
}

fn switches(settings: &[SettingResult<'_>]) -> SettingTable {
    let row = |(setting, of, _): &SettingResult<'_>| {
        vec![
            setting.name.clone(),
            spread(of.switch_rate),
            unstable(of),
            percent(of.lost),
        ]
    };
    SettingTable {
        class: "switches",
        caption: "Path switches of a sender, unstable runs, lost datagrams",
        columns: &["setting", "switches\n1/s", "unstable\nruns", "lost\n%"],
        rows: settings.iter().map(row).collect(),
        first_number: 1,
    }
}

fn costs(settings: &[SettingResult<'_>]) -> SettingTable {
    let row = |(setting, of, _): &SettingResult<'_>| {
        vec![
            setting.name.clone(),
            spread(of.heartbeat_rate),
            spread(of.wire_ratio),
        ]
    };
    SettingTable {
        class: "costs",
        caption: "Heartbeats of a sender; all bytes on the wire over those of the datagrams",
        columns: &["setting", "heartbeats\n1/s", "wire"],
        rows: settings.iter().map(row).collect(),
        first_number: 1,
    }
}

fn delays(settings: &[SettingResult<'_>]) -> SettingTable {
    let row = |(setting, of, _): &SettingResult<'_>| {
        let [p50, p90, p99] = of.delay;
        let cells = [of.mean_delay, p50, p90, p99].map(milliseconds);
        [setting.name.clone()].into_iter().chain(cells).collect()
    };
    SettingTable {
        class: "delays",
        caption: "One-way delay of the datagrams, ms",
        columns: &["setting", "mean", "p50", "p90", "p99"],
        rows: settings.iter().map(row).collect(),
        first_number: 1,
    }
}

fn loads(record: StabilityRecord<'_>, settings: &[SettingResult<'_>]) -> SettingTable {
    let senders = record.network.senders();
    let paths = senders.map_or(Vec::new(), |senders| senders.paths());
    let rows = settings.iter().flat_map(|(setting, of, _)| {
        let paths = paths.iter().zip(&of.paths);
        paths.map(|(path, load)| {
            vec![
                setting.name.clone(),
                path.name.clone(),
                percent(load.share),
                percent(load.deviation),
            ]
        })
    });
    SettingTable {
        class: "loads",
        caption: "Load share of each path, and its standard deviation over time, % of the senders",
        columns: &["setting", "path", "share", "deviation"],
        rows: rows.collect(),
        first_number: 2,
    }
}

fn map_table(rows: Vec<Vec<String>>) -> SettingTable {
    SettingTable {
        class: "map",
        caption: "Map over hysteresis (or threshold), mean guard time and mean heartbeat interval",
        columns: &[
            "hysteresis",
            "guard time",
            "heartbeats",
            "switches\n1/s",
            "p99\nms",
            "unstable\nruns",
        ],
        rows,
        first_number: 3,
    }
}

fn map_row(point: GridPoint, of: &SettingFigures) -> Vec<String> {
    let spans = [point.hysteresis, point.guard_time, point.heartbeat];
    let values = [
        spread(of.switch_rate),
        milliseconds(of.delay[2]),
        unstable(of),
    ];
    let spans = spans.map(|span| match span {
        Duration::ZERO => "none".to_owned(),
        span => span.to_string(),
    });
    spans.into_iter().chain(values).collect()
}

fn unstable(of: &SettingFigures) -> String {
    format!("{} of {}", of.unstable, of.runs)
}

fn percent(share: Option<Estimate>) -> String {
    spread(share.map(|share| share.scaled(100.0)))
}

/// To a tenth of a millisecond, so that four fit into a row.
fn milliseconds(seconds: Option<Estimate>) -> String {
    let Some(Estimate { mean, ci95, .. }) = seconds.map(|seconds| seconds.scaled(1e3)) else {
        return dash();
    };
    ci95.map_or_else(
        || format!("{mean:.1}"),
        |half| format!("{mean:.1} +- {half:.1}"),
    )
}
