//! A network's figures for a terminal.

use std::fmt::Write as _;

use super::NetworkRecord;
use super::figures::{GroupFigures, LinkFigures, NetworkFigures};
use crate::statistics::Estimate;
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
    let measured = format!(
        "{} after a warm-up of {}",
        run.duration - run.warm_up,
        run.warm_up
    );
    match record.replicas {
        [(seed, _)] => format!(
            "sim, seed {seed}, {measured}; +- is half of the 95 % interval, from n = {} spans",
            run.batches
        ),
        replicas => format!(
            "sim, n = {} replicas from seed {}, {measured} each; +- is half of the 95 % interval",
            replicas.len(),
            record.network.seed
        ),
    }
}

fn groups(groups: &[GroupFigures]) -> String {
    let mut table = table(
        &[
            "flows",
            "count",
            "goodput Mbit/s",
            "Jain index",
            "delay ms",
            "window segments",
            "sent",
            "sent again",
            "timeouts",
        ]
        .map(str::to_owned),
    );
    for group in groups {
        table.add_row(vec![
            group.name.clone(),
            group.count.to_string(),
            scaled(group.goodput, 1e-6),
            group
                .fairness
                .map_or("-".to_owned(), |index| format!("{index:.3}")),
            scaled(group.delay, 1e3),
            scaled(group.window, 1.0),
            group.totals.sender.sent.to_string(),
            group.totals.sender.retransmitted.to_string(),
            group.totals.sender.timeouts.to_string(),
        ]);
    }
    align(&mut table, 1);
    table.to_string()
}

fn links(links: &[&LinkFigures]) -> String {
    let mut table = table(
        &[
            "link",
            "rate",
            "load",
            "loss %",
            "waiting packets",
            "packets",
            "dropped",
        ]
        .map(str::to_owned),
    );
    for link in links {
        table.add_row(vec![
            link.name.clone(),
            link.rate.to_string(),
            scaled(link.load, 1.0),
            scaled(link.loss, 100.0),
            scaled(link.waiting, 1.0),
            link.totals.packets_in.to_string(),
            link.totals.packets_dropped().to_string(),
        ]);
    }
    align(&mut table, 1);
    table.to_string()
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
