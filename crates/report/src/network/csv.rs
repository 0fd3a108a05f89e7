//! Sheets: every flow and link in every span of every replica.

use std::io;

use polypath_core::time::Duration;
use polypath_link::{Counters, DropReason};
use serde::Serialize;

use super::NetworkRecord;
use crate::sheets;

/// `flows.csv`.
pub(super) fn flows(record: NetworkRecord<'_>) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Row<'a> {
        seed: u64,
        flow: &'a str,
        span: usize,
        start_s: String,
        goodput_bytes: u64,
        sent_packets: u64,
        retransmitted_packets: u64,
        timeouts: u64,
        arrived_packets: u64,
        delay_mean_s: Option<String>,
        window_mean_segments: Option<String>,
        receiver_rtt_mean_s: Option<String>,
        finished_files: usize,
        files_under_way: u8,
        completion_mean_s: Option<String>,
    }
    let mut rows = Vec::new();
    for (seed, outcome) in record.replicas {
        for flow in &outcome.flows {
            let sampled = flow.windows.iter().zip(&flow.receiver_rtts);
            for (span, (counters, (window, rtt))) in flow.spans.iter().zip(sampled).enumerate() {
                rows.push(Row {
                    seed: *seed,
                    flow: &flow.name,
                    span,
                    start_s: sheets::seconds(outcome.begin_of(span).as_secs_f64()),
                    goodput_bytes: counters.goodput,
                    sent_packets: counters.sender.sent,
                    retransmitted_packets: counters.sender.retransmitted,
                    timeouts: counters.sender.timeouts,
                    arrived_packets: counters.delays.count,
                    delay_mean_s: counters.delays.mean().map(|delay| format!("{delay:.9}")),
                    window_mean_segments: window.map(|window| format!("{window:.3}")),
                    finished_files: flow.files[span].finished.len(),
                    files_under_way: u8::from(flow.files[span].under_way),
                    completion_mean_s: mean_seconds(&flow.files[span].finished),
                    receiver_rtt_mean_s: rtt.map(|rtt| format!("{rtt:.9}")),
                });
            }
        }
    }
    sheets::write(rows)
}

fn mean_seconds(times: &[Duration]) -> Option<String> {
    let sum: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
    (!times.is_empty()).then(|| format!("{:.9}", sum / times.len() as f64))
}

/// A row of `links.csv`.
#[derive(Serialize)]
struct LinkRow<'a> {
    seed: u64,
    link: &'a str,
    span: usize,
    start_s: String,
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
            for (span, counters) in link.spans.iter().enumerate() {
                rows.push(LinkRow {
                    seed: *seed,
                    link: &link.name,
                    span,
                    start_s: sheets::seconds(outcome.begin_of(span).as_secs_f64()),
                    packets_in: counters.packets_in,
                    bytes_in: counters.bytes_in,
                    bytes_transmitted: counters.bytes_transmitted,
                    packets_delivered: counters.packets_delivered,
                    packets_marked: counters.packets_marked,
                    packets_dropped: counters.packets_dropped(),
                    dropped_for: reasons(counters),
                    mean_waiting_packets: format!("{:.6}", counters.mean_waiting(seconds)),
                });
            }
        }
    }
    sheets::write(rows)
}

/// The reasons for which packets were dropped, each with their number.
fn reasons(counters: &Counters) -> String {
    let counts = DropReason::ALL.map(|reason| (reason, counters.drops.of(reason)));
    let found = counts.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = found
        .map(|(reason, count)| format!("{} {count}", reason.name()))
        .collect();
    words.join("; ")
}
