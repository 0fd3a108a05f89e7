//! `report.json` of a network: times in seconds, rates in bits a second; `ci95` is half the width
//! of the 95 % interval; what does not exist is null. Counts are totals over all seeds; in
//! `per_run` they are means of a run, with an interval if there are several. Equal runs give equal
//! bytes. `goodput_of_one_minus_first_bits_s` is the goodput of one flow of a group minus that of one
//! of the first group, null for the first; the key that ends in `includes_zero` states whether its
//! interval does, and is null without an interval.

use std::collections::BTreeMap;

use polypath_link::DropReason;
use polypath_scenario::parameters;
use serde::Serialize;

use super::NetworkRecord;
use super::conclusion::conclusion;
use super::figures::{
    self, FileFigures, FlowFigures, FlowMeans, GroupFigures, LinkFigures, NetworkFigures,
};
use crate::json::{Spread, includes_zero, rounded, spread};

/// The version of the format of `report.json`; it changes when a key changes its meaning.
pub const VERSION: u32 = 3;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    name: &'a str,
    title: &'a str,
    seeds: Vec<u64>,
    warm_up_s: f64,
    duration_s: f64,
    groups: Vec<Group<'a>>,
    flows: Vec<Flow<'a>>,
    links: Vec<Link<'a>>,
    conclusion: Vec<String>,
    parameters: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct Group<'a> {
    name: &'a str,
    flows: usize,
    #[serde(flatten)]
    means: Means,
    goodput_lag_one: Option<f64>,
    jain_index: Spread,
    goodput_of_one_minus_first_bits_s: Option<Spread>,
    goodput_of_one_minus_first_includes_zero: Option<bool>,
    delay_percentiles_s: Option<Percentiles>,
    files: Option<Files>,
    #[serde(flatten)]
    totals: Totals,
    per_run: FlowCounts,
}

#[derive(Serialize)]
struct Means {
    goodput_bits_s: Spread,
    delay_s: Spread,
    window_segments: Spread,
    receiver_rtt_s: Spread,
}

#[derive(Serialize)]
struct Percentiles {
    p50: Spread,
    p95: Spread,
    p99: Spread,
}

#[derive(Serialize)]
struct Files {
    finished: u64,
    under_way: u64,
    finished_per_run: Spread,
    under_way_per_run: Spread,
    completion_s: Spread,
    completion_lag_one: Option<f64>,
    completion_median_s: Spread,
    completion_p95_s: Spread,
}

#[derive(Serialize)]
struct FlowCounts {
    goodput_bytes: Spread,
    sent_packets: Spread,
    retransmitted_packets: Spread,
    timeouts: Spread,
    arrived_packets: Spread,
}

#[derive(Serialize)]
struct LinkCounts {
    packets_in: Spread,
    packets_dropped: Spread,
    packets_marked: Spread,
    drops: BTreeMap<&'static str, Spread>,
}

#[derive(Serialize)]
struct Flow<'a> {
    name: &'a str,
    #[serde(flatten)]
    means: Means,
    #[serde(flatten)]
    totals: Totals,
}

#[derive(Serialize)]
struct Totals {
    goodput_bytes: u64,
    sent_packets: u64,
    retransmitted_packets: u64,
    timeouts: u64,
    arrived_packets: u64,
}

#[derive(Serialize)]
struct Link<'a> {
    name: &'a str,
    rate_bits_s: u64,
    load: Spread,
    loss: Spread,
    packets_in: u64,
    packets_delivered: u64,
    packets_marked: u64,
    mean_waiting_packets: Spread,
    drops: serde_json::Map<String, serde_json::Value>,
    per_run: LinkCounts,
}

pub(super) fn render(
    record: NetworkRecord<'_>,
    figures: &NetworkFigures,
) -> serde_json::Result<String> {
    let network = record.network;
    let report = Report {
        version: VERSION,
        name: &network.name,
        title: &network.title,
        seeds: record.replicas.iter().map(|(seed, _)| *seed).collect(),
        warm_up_s: network.run.warm_up.as_secs_f64(),
        duration_s: network.run.duration.as_secs_f64(),
        groups: figures.groups.iter().map(group).collect(),
        flows: figures.flows.iter().map(flow).collect(),
        links: figures.links.iter().map(link).collect(),
        conclusion: conclusion(record, figures),
        parameters: parameters(network)
            .into_iter()
            .map(|(key, value)| (key, value.into()))
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&report)?;
    text.push('\n');
    Ok(text)
}

fn group(figures: &GroupFigures) -> Group<'_> {
    Group {
        name: &figures.name,
        flows: figures.count,
        means: means(&figures.means),
        goodput_lag_one: figures.lag_one.map(rounded),
        jain_index: spread(figures.fairness),
        goodput_of_one_minus_first_bits_s: figures.difference.map(|d| spread(Some(d.estimate))),
        goodput_of_one_minus_first_includes_zero: includes_zero(figures.difference),
        delay_percentiles_s: figures.delay_percentiles.map(|delays| Percentiles {
            p50: spread(delays.p50),
            p95: spread(delays.p95),
            p99: spread(delays.p99),
        }),
        files: figures.files.as_ref().map(files),
        totals: totals(&figures.totals),
        per_run: FlowCounts {
            goodput_bytes: spread(figures.per_run.goodput),
            sent_packets: spread(figures.per_run.sent),
            retransmitted_packets: spread(figures.per_run.retransmitted),
            timeouts: spread(figures.per_run.timeouts),
            arrived_packets: spread(figures.per_run.arrived),
        },
    }
}

fn means(figures: &FlowMeans) -> Means {
    Means {
        goodput_bits_s: spread(figures.goodput),
        delay_s: spread(figures.delay),
        window_segments: spread(figures.window),
        receiver_rtt_s: spread(figures.receiver_rtt),
    }
}

fn files(figures: &FileFigures) -> Files {
    Files {
        finished: figures.finished,
        under_way: figures.under_way,
        finished_per_run: spread(figures.per_run.finished),
        under_way_per_run: spread(figures.per_run.under_way),
        completion_s: spread(figures.mean),
        completion_lag_one: figures.lag_one.map(rounded),
        completion_median_s: spread(figures.median),
        completion_p95_s: spread(figures.p95),
    }
}

fn flow(figures: &FlowFigures) -> Flow<'_> {
    Flow {
        name: &figures.name,
        means: means(&figures.means),
        totals: totals(&figures.totals),
    }
}

fn totals(counters: &polypath_sim::FlowCounters) -> Totals {
    Totals {
        goodput_bytes: counters.goodput,
        sent_packets: counters.sender.sent,
        retransmitted_packets: counters.sender.retransmitted,
        timeouts: counters.sender.timeouts,
        arrived_packets: counters.delays.count,
    }
}

fn link(figures: &LinkFigures) -> Link<'_> {
    let totals = &figures.totals;
    Link {
        name: &figures.name,
        rate_bits_s: figures.rate.0,
        load: spread(figures.load),
        loss: spread(figures.loss),
        packets_in: totals.packets_in,
        packets_delivered: totals.packets_delivered,
        packets_marked: totals.packets_marked,
        mean_waiting_packets: spread(figures.waiting),
        drops: DropReason::ALL
            .map(|reason| (reason.name().to_owned(), totals.drops.of(reason).into()))
            .into_iter()
            .collect(),
        per_run: link_counts(&figures.per_run),
    }
}

fn link_counts(counts: &figures::LinkCounts) -> LinkCounts {
    let dropped_for = counts.dropped_for.iter();
    LinkCounts {
        packets_in: spread(counts.packets_in),
        packets_dropped: spread(counts.dropped),
        packets_marked: spread(counts.marked),
        drops: dropped_for
            .map(|(reason, count)| (reason.name(), spread(*count)))
            .collect(),
    }
}
