//! A network's figures as text for a terminal.

pub(super) mod files;
pub(super) mod losses;

use std::fmt::Write as _;

use polypath_core::time::Duration;

use super::NetworkRecord;
use super::conclusion::conclusion;
use super::figures::{GroupFigures, LinkFigures, NetworkFigures};
use crate::conclusion::lines;
use crate::difference::{Difference, NO_DIFFERENCE_MEANING};
use crate::statistics::{Estimate, are_correlated};
use crate::table::{align, marked, shortened, table, titled};

/// The maximum length of the name of a flow, and of a link, in the tables, in characters.
const FLOW_NAME: usize = 19;
const LINK_NAME: usize = 25;
/// A link below this load is omitted if there are many.
const IDLE: f64 = 0.01;
/// The number of links that are always shown.
const FEW_LINKS: usize = 12;

pub(super) fn render(record: NetworkRecord<'_>, figures: &NetworkFigures) -> String {
    let network = record.network;
    let mut text = format!("{}\n", titled(&network.name, &network.title));
    let _ = writeln!(text, "{}\n", basis(record));
    let _ = writeln!(text, "{}\n", groups(&figures.groups));
    text.extend(differences(&figures.groups));
    text.extend(percentiles(&figures.groups));
    text.extend(files::render(&figures.groups));
    text.extend(figures.groups.iter().flat_map(warnings));
    let shown = worth_showing(&figures.links);
    let _ = writeln!(text, "{}", links(&shown));
    if let Some(losses) = losses::render(&shown) {
        let _ = writeln!(text, "\n{losses}");
    }
    let hidden = figures.links.len() - shown.len();
    if hidden > 0 {
        let _ = writeln!(text, "{}", not_shown(hidden));
    }
    text.extend(losses::warnings(record, &figures.links));
    let _ = write!(text, "\n{}", lines(&conclusion(record, figures)));
    text
}

/// The note on the links that the table leaves out.
pub(super) fn not_shown(hidden: usize) -> String {
    match hidden {
        1 => "one further link is not shown; links.csv has it".to_owned(),
        _ => format!("{hidden} further links are not shown; links.csv has all"),
    }
}

/// The source of the intervals.
pub(super) fn basis(record: NetworkRecord<'_>) -> String {
    let run = record.network.run;
    let measured = if run.warm_up == Duration::ZERO {
        format!("{} without a warm-up", run.duration)
    } else {
        let measured = run.duration - run.warm_up;
        format!("{measured} after a warm-up of {}", run.warm_up)
    };
    match record.replicas {
        [(seed, _)] => format!(
            "sim, seed {seed}, {measured};\n+- is half of the 95 % interval, from n = {} spans\nless those without a packet",
            run.batches
        ),
        replicas => format!(
            "sim, n = {} replicas from seed {}, {measured} each;\n\
             +- is half of the 95 % interval, counts are means of a run",
            replicas.len(),
            record.network.seed
        ),
    }
}

/// A warning that the intervals of a group treat correlated spans as independent.
pub(super) fn warnings(group: &GroupFigures) -> impl Iterator<Item = String> {
    let files = group.files.as_ref();
    let of_files = files.map(|files| (files.lag_one, files.mean));
    let figures = [
        Some(("goodput", (group.lag_one, group.means.goodput))),
        of_files.map(|of_files| ("completion time", of_files)),
    ];
    figures.into_iter().flatten().filter_map(|(what, figures)| {
        let (lag_one, n) = (figures.0?, figures.1?.n);
        are_correlated(lag_one, n).then(|| {
            format!(
                "the {what} of {}\n\
                 is correlated from span to span ({lag_one:.2} at lag 1): its interval is too\n\
                 narrow; take longer spans, a longer warm-up or --replicas\n\n",
                group.name
            )
        })
    })
}

/// The columns of the flows, split over several tables to fit into 80 characters.
pub(super) const FLOW_COLUMNS: [&str; 9] = [
    "flows",
    "count",
    "goodput\nMbit/s",
    "Jain\nindex",
    "delay\nms",
    "window\nsegments",
    "sent",
    "sent\nagain",
    "timeouts",
];
/// The first columns of the further tables, without and with intervals of counts.
const FLOW_TABLES: &[usize] = &[5];
const FLOW_TABLES_OF_REPLICAS: &[usize] = &[5, 7];

/// The columns of the links, likewise.
pub(super) const LINK_COLUMNS: [&str; 7] = [
    "link",
    "rate",
    "load\n%",
    "loss\n%",
    "waiting\npackets",
    "packets",
    "dropped",
];
const LINK_TABLES: &[usize] = &[4];

fn groups(groups: &[GroupFigures]) -> String {
    let rows = shortened_names(groups.iter().map(group_row), FLOW_NAME);
    let mut sent = groups.iter().filter_map(|group| group.per_run.sent);
    let tables = if sent.any(has_replicas) {
        FLOW_TABLES_OF_REPLICAS
    } else {
        FLOW_TABLES
    };
    in_tables(&FLOW_COLUMNS, tables, &rows)
}

/// The columns of the percentiles of delays.
pub(super) const PERCENTILE_COLUMNS: [&str; 4] =
    ["delay within", "50 %\nms", "95 %\nms", "99 %\nms"];

/// Percentiles of the delays; `None` if they were not measured.
fn percentiles(groups: &[GroupFigures]) -> Option<String> {
    let rows = shortened_names(groups.iter().filter_map(percentile_row), FLOW_NAME);
    (!rows.is_empty()).then(|| format!("{}\n\n", in_tables(&PERCENTILE_COLUMNS, &[], &rows)))
}

/// A row under [`PERCENTILE_COLUMNS`].
pub(super) fn percentile_row(group: &GroupFigures) -> Option<Vec<String>> {
    let delays = group.delay_percentiles?;
    let cells = [delays.p50, delays.p95, delays.p99].map(|delay| scaled(delay, 1e3));
    Some([&[group.name.clone()][..], &cells].concat())
}

/// The goodput of a flow of each group compared with one of the first; `None` if there is one
/// group.
fn differences(groups: &[GroupFigures]) -> Option<String> {
    let rows = shortened_names(difference_rows(groups)?.into_iter(), FLOW_NAME);
    let columns = difference_columns(&shortened(&groups[0].name, FLOW_NAME));
    let compared = groups.iter().filter_map(|group| group.difference.as_ref());
    let has_mark = compared.into_iter().any(Difference::is_marked);
    let legend = if has_mark {
        format!("\n{NO_DIFFERENCE_MEANING}")
    } else {
        String::new()
    };
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    Some(format!("{}{legend}\n\n", in_tables(&columns, &[], &rows)))
}

/// The columns of the table of differences to a group.
pub(super) fn difference_columns(first: &str) -> [String; 3] {
    [
        "one flow of".to_owned(),
        "goodput\nMbit/s".to_owned(),
        format!("minus one of {first}\nMbit/s"),
    ]
}

/// The rows of the table of differences; `None` if there is one group.
pub(super) fn difference_rows(groups: &[GroupFigures]) -> Option<Vec<Vec<String>>> {
    let row = |group: &GroupFigures| {
        let of_one = 1e-6 / group.count as f64;
        let difference = group.difference;
        vec![
            group.name.clone(),
            scaled(group.means.goodput, of_one),
            marked(scaled(difference.map(|d| d.estimate), 1e-6), difference),
        ]
    };
    (groups.len() > 1).then(|| groups.iter().map(row).collect())
}

/// Rows with names of at most `most` characters.
fn shortened_names(rows: impl Iterator<Item = Vec<String>>, most: usize) -> Vec<Vec<String>> {
    let short = |mut row: Vec<String>| {
        row[0] = shortened(&row[0], most);
        row
    };
    rows.map(short).collect()
}

/// A row under [`FLOW_COLUMNS`].
pub(super) fn group_row(group: &GroupFigures) -> Vec<String> {
    let counts = &group.per_run;
    vec![
        group.name.clone(),
        group.count.to_string(),
        scaled(group.means.goodput, 1e-6),
        scaled(group.fairness, 1.0),
        scaled(group.means.delay, 1e3),
        scaled(group.means.window, 1.0),
        counted(counts.sent),
        counted(counts.retransmitted),
        counted(counts.timeouts),
    ]
}

fn links(links: &[&LinkFigures]) -> String {
    let rows = shortened_names(links.iter().copied().map(link_row), LINK_NAME);
    in_tables(&LINK_COLUMNS, LINK_TABLES, &rows)
}

/// A row under [`LINK_COLUMNS`].
pub(super) fn link_row(link: &LinkFigures) -> Vec<String> {
    vec![
        link.name.clone(),
        link.rate.to_string(),
        scaled(link.load, 100.0),
        scaled(link.loss, 100.0),
        scaled(link.waiting, 1.0),
        counted(link.per_run.packets_in),
        counted(link.per_run.dropped),
    ]
}

/// Tables one below the other: the columns up to the first of `begins`, and those from each on, all
/// after the names.
fn in_tables(columns: &[&str], begins: &[usize], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let ends = begins.iter().copied().chain([columns.len()]);
    let begins = [1].into_iter().chain(begins.iter().copied());
    let parts = begins.zip(ends).map(|(begin, end)| {
        let shown = begin..end;
        let cells = |row: &[String]| [&row[..1], &row[shown.clone()]].concat();
        let mut part = table(&cells(&header));
        for row in rows {
            part.add_row(cells(row));
        }
        align(&mut part, 1);
        part.to_string()
    });
    parts.collect::<Vec<String>>().join("\n\n")
}

/// The links with traffic, the most loaded first if there are many.
pub(super) fn worth_showing(links: &[LinkFigures]) -> Vec<&LinkFigures> {
    let busy = |link: &&LinkFigures| {
        let load = link.load.map_or(0.0, |load| load.mean);
        links.len() <= FEW_LINKS || load >= IDLE || link.totals.packets_dropped() > 0
    };
    let mut shown: Vec<&LinkFigures> = links.iter().filter(busy).collect();
    if shown.len() > FEW_LINKS {
        let load = |link: &&LinkFigures| link.load.map_or(0.0, |load| load.mean);
        shown.sort_by(|a, b| load(b).total_cmp(&load(a)));
        shown.truncate(FEW_LINKS);
    }
    shown
}

/// An estimate in another unit: the values times `factor`.
pub(super) fn scaled(estimate: Option<Estimate>, factor: f64) -> String {
    crate::table::spread(estimate.map(|estimate| estimate.scaled(factor)))
}

/// Whether a count of a run is a mean over several.
fn has_replicas(count: Estimate) -> bool {
    count.n > 1
}

/// A count of a run: exact, or a mean with half of its interval.
pub(super) fn counted(count: Option<Estimate>) -> String {
    match count {
        Some(Estimate {
            mean,
            ci95: Some(half),
            ..
        }) => {
            let digits = usize::from(mean < 1000.0);
            format!("{mean:.digits$} +- {half:.digits$}")
        }
        Some(Estimate { mean, .. }) => format!("{mean:.0}"),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests;
