//! CSV files: every flow and link in every span of every replica.

use std::io;

use polypath_core::time::Duration;
use polypath_link::{Counters, DropReason};
use polypath_sim::{FlowCounters, FlowOutcome, StreamSpan};
use serde::Serialize;

use super::NetworkRecord;
use crate::sheets;

/// The replica, span and name of a flow's row.
#[derive(Serialize)]
struct FlowPlace<'a> {
    seed: u64,
    flow: &'a str,
    span: usize,
    start_s: String,
}

/// The counters of a flow in a span.
#[derive(Serialize)]
struct FlowCounts {
    goodput_bytes: u64,
    sent_packets: u64,
    retransmitted_packets: u64,
    timeouts: u64,
    arrived_packets: u64,
}

/// Its sampled state, and its files.
#[derive(Serialize)]
struct FlowMeans {
    delay_mean_s: Option<String>,
    window_mean_segments: Option<String>,
    receiver_rtt_mean_s: Option<String>,
    finished_files: usize,
    files_under_way: u8,
    completion_mean_s: Option<String>,
}

/// The state of a stream over several connections at its receiver.
#[derive(Default, Serialize)]
struct StreamMeans {
    connections_mean: Option<String>,
    receiver_windows_mean_segments: Option<String>,
    player_stops: Option<u32>,
}

/// `flows.csv`.
pub(super) fn flows(record: NetworkRecord<'_>) -> io::Result<Vec<u8>> {
    let mut rows = Vec::new();
    for (seed, outcome) in record.replicas {
        for flow in &outcome.flows {
            rows.extend((0..flow.spans.len()).map(|span| {
                let place = FlowPlace {
                    seed: *seed,
                    flow: &flow.name,
                    span,
                    start_s: sheets::seconds(outcome.begin_of(span).as_secs_f64()),
                };
                (
                    place,
                    flow_counts(&flow.spans[span]),
                    flow_means(flow, span),
                    stream_means(flow.streams.get(span)),
                )
            }));
        }
    }
    sheets::write(rows)
}

fn flow_counts(counters: &FlowCounters) -> FlowCounts {
    FlowCounts {
        goodput_bytes: counters.goodput,
        sent_packets: counters.sender.sent,
        retransmitted_packets: counters.sender.retransmitted,
        timeouts: counters.sender.timeouts,
        arrived_packets: counters.delays.count,
    }
}

fn flow_means(flow: &FlowOutcome, span: usize) -> FlowMeans {
    let delay = flow.spans[span].delays.mean();
    let files = &flow.files[span];
    FlowMeans {
        delay_mean_s: delay.map(|delay| format!("{delay:.9}")),
        window_mean_segments: flow.windows[span].map(|window| format!("{window:.3}")),
        receiver_rtt_mean_s: flow.receiver_rtts[span].map(|rtt| format!("{rtt:.9}")),
        finished_files: files.finished.len(),
        files_under_way: u8::from(files.under_way),
        completion_mean_s: mean_seconds(&files.finished),
    }
}

fn stream_means(stream: Option<&StreamSpan>) -> StreamMeans {
    stream.map_or_else(StreamMeans::default, |stream| StreamMeans {
        connections_mean: stream.connections.map(|mean| format!("{mean:.3}")),
        receiver_windows_mean_segments: stream.windows.map(|mean| format!("{mean:.3}")),
        player_stops: Some(stream.stops),
    })
}

fn mean_seconds(times: &[Duration]) -> Option<String> {
    let sum: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
    (!times.is_empty()).then(|| format!("{:.9}", sum / times.len() as f64))
}

/// The replica, span and name of a link's row.
#[derive(Serialize)]
struct LinkPlace<'a> {
    seed: u64,
    link: &'a str,
    span: usize,
    start_s: String,
}

/// The counters of a link in a span.
#[derive(Serialize)]
struct LinkCounts {
    packets_in: u64,
    bytes_in: u64,
    bytes_transmitted: u64,
    packets_delivered: u64,
    packets_marked: u64,
    packets_dropped: u64,
    dropped_for: String,
    mean_waiting_packets: String,
}

/// `links.csv`.
pub(super) fn links(record: NetworkRecord<'_>) -> io::Result<Vec<u8>> {
    let mut rows = Vec::new();
    for (seed, outcome) in record.replicas {
        let seconds = outcome.span.as_secs_f64();
        for link in &outcome.links {
            rows.extend(link.spans.iter().enumerate().map(|(span, counters)| {
                let place = LinkPlace {
                    seed: *seed,
                    link: &link.name,
                    span,
                    start_s: sheets::seconds(outcome.begin_of(span).as_secs_f64()),
                };
                (place, link_counts(counters, seconds))
            }));
        }
    }
    sheets::write(rows)
}

fn link_counts(counters: &Counters, seconds: f64) -> LinkCounts {
    LinkCounts {
        packets_in: counters.packets_in,
        bytes_in: counters.bytes_in,
        bytes_transmitted: counters.bytes_transmitted,
        packets_delivered: counters.packets_delivered,
        packets_marked: counters.packets_marked,
        packets_dropped: counters.packets_dropped(),
        dropped_for: reasons(counters),
        mean_waiting_packets: format!("{:.6}", counters.mean_waiting(seconds)),
    }
}

/// The number of dropped packets by reason.
fn reasons(counters: &Counters) -> String {
    let counts = DropReason::ALL.map(|reason| (reason, counters.drops.of(reason)));
    let found = counts.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = found
        .map(|(reason, count)| format!("{} {count}", reason.name()))
        .collect();
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use polypath_core::rng::Seed;
    use polypath_scenario::Network;
    use polypath_sim::run_network;

    use super::super::{NetworkFigures, json};
    use super::*;

    const FILES: &str = r#"schema = 1
name = "files"
run = { duration = "2 s", batches = 2 }
[[link]]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"
queue = "50 packets"
[[flow]]
name = "short"
from = "a"
to = "b"
traffic = { kind = "file", size = "10 kB" }
[[flow]]
name = "long"
from = "a"
to = "b"
traffic = { kind = "file", size = "1 MB" }
"#;

    #[test]
    fn unfinished_files_are_counted_separately() {
        let network = Network::parse(FILES, "files.toml", &[]).unwrap();
        let outcome = run_network(&network, Seed(1), &mut ()).unwrap();
        let record = NetworkRecord {
            network: &network,
            replicas: &[(1, outcome)],
        };
        let sheet = flows(record).unwrap();
        let mut reader = csv::Reader::from_reader(&sheet[..]);
        let columns = ["flow", "span", "finished_files", "files_under_way"];
        let header = reader.headers().unwrap().clone();
        let places = columns.map(|name| header.iter().position(|column| column == name).unwrap());
        let rows = reader.records().map(|row| {
            let row = row.unwrap();
            places.map(|place| row[place].to_owned()).join(" ")
        });
        let wanted = ["short 0 1 0", "short 1 0 0", "long 0 0 1", "long 1 0 1"];
        assert_eq!(rows.collect::<Vec<_>>(), wanted);
        let report = json(record, &NetworkFigures::of(record)).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        for (group, finished, under_way) in [(0, 1, 0), (1, 0, 1)] {
            let files = &report["groups"][group]["files"];
            assert_eq!(files["finished"], finished);
            assert_eq!(files["under_way"], under_way);
            assert_eq!(files["under_way_per_run"]["mean"], f64::from(under_way));
            assert_eq!(files["completion_median_s"]["n"], finished, "{files}");
        }
    }
}
