//! Marked and dropped packets, and queues whose parameters do not fit the packets.

use polypath_core::units::Bytes;
use polypath_link::DropReason;

use super::super::NetworkRecord;
use super::super::figures::LinkFigures;
use super::{LINK_NAME, counted, shortened_names};
use crate::statistics::Estimate;
use crate::table::{align, table};

pub(in crate::network) const COLUMNS: [&str; 4] =
    ["link", "outcome", "packets", "% of those\nthat came"];
/// The factor between a mean packet and the one that a queue is configured for, above which a
/// warning follows.
const FAR: f64 = 2.0;

/// The table of marks and drops; `None` if there are none.
pub(super) fn render(links: &[&LinkFigures]) -> Option<String> {
    let mut table = table(&COLUMNS.map(str::to_owned));
    for row in shortened_names(rows(links).into_iter(), LINK_NAME) {
        table.add_row(row);
    }
    align(&mut table, 2);
    (!table.is_empty()).then(|| table.to_string())
}

/// A row for the marks of each link, and for each drop reason.
pub(in crate::network) fn rows(links: &[&LinkFigures]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for link in links {
        let counts = &link.per_run;
        let dropped = counts.dropped_for.iter();
        let dropped = dropped.map(|(reason, count)| (reason.name(), *count));
        let outcomes = [("marked", counts.marked)].into_iter().chain(dropped);
        for (outcome, count) in
            outcomes.filter(|(_, count)| count.is_some_and(|count| count.mean > 0.0))
        {
            rows.push(row(link, outcome, count));
        }
    }
    rows
}

fn row(link: &LinkFigures, outcome: &str, count: Option<Estimate>) -> Vec<String> {
    let mean = |count: Option<Estimate>| count.map_or(0.0, |count| count.mean);
    let came = mean(link.per_run.packets_in);
    // Packets that arrived in the warm-up can be dropped later, when none arrive.
    let share = (came > 0.0).then(|| format!("{:.3}", 100.0 * mean(count) / came));
    vec![
        link.name.clone(),
        outcome.to_owned(),
        counted(count),
        share.unwrap_or_else(|| "-".to_owned()),
    ]
}

/// A warning that an active RED queue sees packets of another size than its thresholds and weight
/// assume.
pub(in crate::network) fn warnings(
    record: NetworkRecord<'_>,
    links: &[LinkFigures],
) -> Vec<String> {
    let graph = record.network.graph();
    let pairs = graph.links.iter().zip(links);
    let warnings = pairs.filter_map(|(link, figures)| {
        let mean_packet = link.link.queue.mean_packet()?;
        let totals = &figures.totals;
        let acts = totals.packets_marked + totals.drops.of(DropReason::Early) > 0;
        let mean = totals.bytes_in as f64 / totals.packets_in as f64;
        let ratio = mean / mean_packet.0 as f64;
        let is_far = acts && !(1.0 / FAR..=FAR).contains(&ratio);
        is_far.then(|| warning(&figures.name, mean, mean_packet))
    });
    warnings.collect()
}

fn warning(link: &str, mean: f64, mean_packet: Bytes) -> String {
    format!(
        "\n{link}:\n\
         its packets have {mean:.0} B on average, and `mean_packet` of its queue is {mean_packet}:\n\
         state the former, or its default thresholds, its weight and its idle times are off\n"
    )
}
