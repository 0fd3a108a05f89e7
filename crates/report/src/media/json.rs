//! `report.json` of a media stream: times in seconds, sizes in bytes, rates in bits a second, shares
//! from 0 to 1; `ci95` is half the width of the 95 % interval over the runs; what does not exist is
//! null. `late` has an entry for each deadline: the share of packets that were late or lost, and
//! that share minus the one of the first policy in the same run. `wire` has the frames of each
//! direction and kind in all runs, with their bytes over bytes of payload. Equal runs give equal
//! bytes.

use polypath_core::time::Duration;
use polypath_scenario::parameters;
use polypath_sim::MediaOutcome;
use serde::Serialize;

use super::conclusion::conclusion;
use super::figures::{MediaFigures, PolicyFigures, WireFigures};
use super::table::{direction, kind_name};
use super::{MediaRecord, named};
use crate::json::{Spread, includes_zero, rounded, spread};

/// The version of the format of `report.json`; it changes when a key changes its meaning.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    name: &'a str,
    title: &'a str,
    mode: &'static str,
    seeds: &'a [u64],
    stream: Stream,
    deadlines_s: Vec<f64>,
    policies: Vec<Policy<'a>>,
    conclusion: Vec<String>,
    parameters: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct Stream {
    rate_bits_s: u64,
    payload_bytes: u64,
    packet_bytes: u64,
    packets: u64,
    duration_s: f64,
}

#[derive(Serialize)]
struct Policy<'a> {
    name: &'a str,
    kind: &'a str,
    late: Vec<Late>,
    lost: Spread,
    delay_s: Delays,
    longest_gap_s: Spread,
    reordered: Spread,
    wire_ratio: Spread,
    wire: Vec<Wire>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Late {
    deadline_s: f64,
    share: Spread,
    minus_first: Option<Spread>,
    minus_first_includes_zero: Option<bool>,
}

#[derive(Serialize)]
struct Delays {
    p50: Spread,
    p99: Spread,
    p999: Spread,
}

#[derive(Serialize)]
struct Wire {
    direction: &'static str,
    kind: String,
    frames: u64,
    bytes: u64,
    ratio: Spread,
}

#[derive(Serialize)]
struct Run {
    seed: u64,
    sent: u64,
    delivered: u64,
    late: Vec<u64>,
    longest_gap_s: f64,
    reordered: u64,
    payload_bytes: u64,
    wire_bytes: u64,
}

/// The content of `report.json`, with a line feed at its end.
///
/// # Errors
/// Never in practice: the figures are numbers and text.
pub fn render(record: MediaRecord<'_>, figures: &MediaFigures) -> serde_json::Result<String> {
    let scenario = record.scenario;
    let media = &scenario.media;
    let policies = named(record).zip(&figures.policies).zip(record.carriers);
    let report = Report {
        version: VERSION,
        name: &scenario.name,
        title: &scenario.title,
        mode: record.mode.name(),
        seeds: record.seeds,
        stream: Stream {
            rate_bits_s: media.rate.0,
            payload_bytes: media.packet.0,
            packet_bytes: media.packet_len().0,
            packets: media.packets(),
            duration_s: seconds(media.duration),
        },
        deadlines_s: media.deadlines.iter().copied().map(seconds).collect(),
        policies: policies
            .map(|(((_, outcomes), figures), carrier)| Policy {
                runs: runs(record.seeds, outcomes),
                ..of_policy(figures, &carrier.kind, &media.deadlines)
            })
            .collect(),
        conclusion: conclusion(record, figures),
        parameters: parameters(scenario)
            .into_iter()
            .map(|(key, value)| (key, value.into()))
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&report)?;
    text.push('\n');
    Ok(text)
}

/// The figures of a policy, without its runs.
fn of_policy<'a>(figures: &'a PolicyFigures, kind: &'a str, deadlines: &[Duration]) -> Policy<'a> {
    let [p50, p99, p999] = figures.delay.map(spread);
    let late = |(n, deadline): (usize, &Duration)| {
        let difference = figures.late_differences.get(n).copied().flatten();
        Late {
            deadline_s: seconds(*deadline),
            share: spread(figures.late.get(n).copied().flatten()),
            minus_first: difference.map(|of| spread(Some(of.estimate))),
            minus_first_includes_zero: includes_zero(difference),
        }
    };
    Policy {
        name: &figures.name,
        kind,
        late: deadlines.iter().enumerate().map(late).collect(),
        lost: spread(figures.lost),
        delay_s: Delays { p50, p99, p999 },
        longest_gap_s: spread(figures.longest_gap),
        reordered: spread(figures.reordered),
        wire_ratio: spread(figures.wire_ratio),
        wire: figures.wire.iter().map(wire).collect(),
        runs: Vec::new(),
    }
}

fn wire(figures: &WireFigures) -> Wire {
    Wire {
        direction: direction(figures.sender),
        kind: kind_name(figures.kind),
        frames: figures.total.frames,
        bytes: figures.total.bytes,
        ratio: spread(figures.ratio),
    }
}

fn runs(seeds: &[u64], outcomes: &[MediaOutcome]) -> Vec<Run> {
    let run = |(seed, of): (&u64, &MediaOutcome)| Run {
        seed: *seed,
        sent: of.sent,
        delivered: of.delivered,
        late: of.late.clone(),
        longest_gap_s: seconds(of.longest_gap),
        reordered: of.reordered,
        payload_bytes: of.payload,
        wire_bytes: of.wire.bytes(),
    };
    seeds.iter().zip(outcomes).map(run).collect()
}

fn seconds(span: Duration) -> f64 {
    rounded(span.as_secs_f64())
}
