//! A network's figures for a terminal.

use std::fmt::Write as _;

use polypath_core::time::Duration;

use super::NetworkRecord;
use super::figures::{GroupFigures, LinkFigures, NetworkFigures};
use crate::statistics::{Estimate, are_correlated};
use crate::table::{align, table};

/// A link that transmits less than this share of the time is left out where there are many.
const IDLE: f64 = 0.01;
/// So many links are shown whatever they do.
const FEW_LINKS: usize = 12;

pub(super) fn render(record: NetworkRecord<'_>, figures: &NetworkFigures) -> String {
    let network = record.network;
    let mut text = match network.title.trim() {
        "" => format!("{}\n", network.name),
        title => format!("{}: {title}\n", network.name),
    };
    let _ = writeln!(text, "{}\n", basis(record));
    let _ = writeln!(text, "{}\n", groups(&figures.groups));
    text.extend(figures.groups.iter().filter_map(warning));
    let shown = worth_showing(&figures.links);
    let _ = writeln!(text, "{}", links(&shown));
    let hidden = figures.links.len() - shown.len();
    if hidden > 0 {
        let _ = writeln!(
            text,
            "{hidden} links with a load below {IDLE} are not shown"
        );
    }
    text
}

/// What the intervals come from.
fn basis(record: NetworkRecord<'_>) -> String {
    let run = record.network.run;
    let measured = if run.warm_up == Duration::ZERO {
        format!("{} without a warm-up", run.duration)
    } else {
        let measured = run.duration - run.warm_up;
        format!("{measured} after a warm-up of {}", run.warm_up)
    };
    match record.replicas {
        [(seed, _)] => format!(
            "sim, seed {seed}, {measured};\n+- is half of the 95 % interval, from n = {} spans",
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

/// That the interval of a group's goodput takes spans for independent that are not.
fn warning(group: &GroupFigures) -> Option<String> {
    let (lag_one, n) = (group.lag_one?, group.goodput?.n);
    are_correlated(lag_one, n).then(|| {
        format!(
            "the goodput of {}\n\
             is correlated from span to span ({lag_one:.2} at lag 1): its interval is too\n\
             narrow; take longer spans, a longer warm-up or --replicas\n\n",
            group.name
        )
    })
}

/// The columns of the flows; they stand in several tables, to fit into 80 characters.
const FLOW_COLUMNS: [&str; 9] = [
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
/// Where their further tables begin, and where they do if counts have intervals.
const FLOW_TABLES: &[usize] = &[5];
const FLOW_TABLES_OF_REPLICAS: &[usize] = &[5, 7];

/// The columns of the links, likewise.
const LINK_COLUMNS: [&str; 7] = [
    "link",
    "rate",
    "load",
    "loss\n%",
    "waiting\npackets",
    "packets",
    "dropped",
];
const LINK_TABLES: &[usize] = &[4];

fn groups(groups: &[GroupFigures]) -> String {
    let rows: Vec<Vec<String>> = groups.iter().map(group_row).collect();
    let sent = groups.iter().filter_map(|group| group.per_run.sent);
    let tables = if sent.map(|sent| sent.n).any(|runs| runs > 1) {
        FLOW_TABLES_OF_REPLICAS
    } else {
        FLOW_TABLES
    };
    in_tables(&FLOW_COLUMNS, tables, &rows)
}

fn group_row(group: &GroupFigures) -> Vec<String> {
    let counts = &group.per_run;
    vec![
        group.name.clone(),
        group.count.to_string(),
        scaled(group.goodput, 1e-6),
        scaled(group.fairness, 1.0),
        scaled(group.delay, 1e3),
        scaled(group.window, 1.0),
        counted(counts.sent),
        counted(counts.retransmitted),
        counted(counts.timeouts),
    ]
}

fn links(links: &[&LinkFigures]) -> String {
    let rows: Vec<Vec<String>> = links.iter().copied().map(link_row).collect();
    in_tables(&LINK_COLUMNS, LINK_TABLES, &rows)
}

fn link_row(link: &LinkFigures) -> Vec<String> {
    vec![
        link.name.clone(),
        link.rate.to_string(),
        scaled(link.load, 1.0),
        scaled(link.loss, 100.0),
        scaled(link.waiting, 1.0),
        counted(link.per_run.packets_in),
        counted(link.per_run.dropped),
    ]
}

/// Tables one below the other: the columns up to the first of `begins`, and those from each on, all behind the names.
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

fn worth_showing(links: &[LinkFigures]) -> Vec<&LinkFigures> {
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

/// An estimate in another unit, `factor` of which are one of its own.
fn scaled(estimate: Option<Estimate>, factor: f64) -> String {
    crate::table::spread(estimate.map(|estimate| Estimate {
        mean: estimate.mean * factor,
        ci95: estimate.ci95.map(|half| half * factor),
        n: estimate.n,
    }))
}

/// A count of a run: exact, or a mean with half of its interval.
fn counted(count: Option<Estimate>) -> String {
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
mod tests {
    use super::*;
    use polypath_core::rng::Seed;
    use polypath_scenario::Network;
    use polypath_sim::run_network;

    const FAST: &str = r#"schema = 1
name = "fast"
run = { duration = "1 s", warm_up = "100 ms" }
[[link]]
name = "backbone-of-the-site"
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "20 ms"
loss = 0.001
queue = "1000 packets"
[[flow]]
name = "bulk-transfers"
count = 20
from = "a"
to = "b"
traffic = { kind = "ftp" }
tcp = { receiver_window = 1000 }
"#;

    fn rendered(text: &str, seeds: &[u64]) -> String {
        let network = Network::parse(text, "fast.toml", &[]).unwrap();
        let run = |seed: &u64| (*seed, run_network(&network, Seed(*seed), &mut ()).unwrap());
        let replicas: Vec<_> = seeds.iter().map(run).collect();
        let record = NetworkRecord {
            network: &network,
            replicas: &replicas,
        };
        render(record, &NetworkFigures::of(record))
    }

    #[test]
    fn it_fits_into_80_columns() {
        for seeds in [&[1][..], &[1, 2]] {
            let text = rendered(FAST, seeds);
            let width = text.lines().map(|line| line.chars().count()).max();
            assert!(width.is_some_and(|width| width <= 80), "{text}");
            assert!(text.contains("900 ms after a warm-up of 100 ms"), "{text}");
        }
    }

    #[test]
    fn spans_that_hang_together_are_pointed_out_in_a_single_run() {
        let told = "the goodput of calls\nis correlated from span to span";
        let calls = r#"[[flow]]
name = "calls"
from = "b"
to = "a"
start = "500 ms"
traffic = { kind = "cbr", packet = "200 B", interval = "1 ms" }
"#;
        let late = format!("{FAST}{calls}");
        assert!(rendered(&late, &[1]).contains(told));
        assert!(!rendered(&late, &[1, 2]).contains(told));
        let always = late.replace("start = \"500 ms\"", "start = \"0 s\"");
        assert!(!rendered(&always, &[1]).contains(told));
    }

    #[test]
    fn replicas_show_what_one_of_them_counts() {
        let again = |text: &str| -> f64 {
            let mut rows = text
                .lines()
                .filter(|line| line.starts_with("bulk-transfers"));
            let counts = rows.next_back().unwrap().split_whitespace().nth(1);
            counts.unwrap().parse().unwrap()
        };
        let both = rendered(FAST, &[1, 2]);
        assert!(both.contains("counts are means of a run"), "{both}");
        let single = [1, 2].map(|seed| {
            let text = rendered(FAST, &[seed]);
            let mut rows = text
                .lines()
                .filter(|line| line.starts_with("bulk-transfers"));
            let mut counts = rows.next_back().unwrap().split_whitespace().rev();
            counts.nth(1).unwrap().parse::<f64>().unwrap()
        });
        let mean = f64::midpoint(single[0], single[1]);
        assert!((again(&both) - mean).abs() <= 0.5, "{both}\n{single:?}");
    }

    #[test]
    fn no_warm_up_is_none_of_0_ns() {
        let text = rendered(&FAST.replace(", warm_up = \"100 ms\"", ""), &[1]);
        assert!(text.contains("seed 1, 1 s without a warm-up;"), "{text}");
    }
}
