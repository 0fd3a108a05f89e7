//! `report.json` of a media stream: times in seconds, sizes in bytes, rates in bits a second, shares
//! from 0 to 1; `ci95` is half the width of the 95 % interval over the runs; what does not exist is
//! null. `late` has an entry for each deadline: the share of packets that were late or lost, and
//! that share minus the one of the first policy in the same run. `wire` has the frames of each
//! direction and kind in all runs, with their bytes over bytes of payload; `paths` has the share of
//! each path in the bytes on the wire. Only a report of the lab has `lab`: the conditions of each
//! run with all warnings; in each of `runs` the packets that the kernel lost, and for each path
//! whether it was used at the start; and `processor_us`, the processor time of the policy's
//! programs over packets delivered, in microseconds and null for a transport of the kernel. Equal
//! runs give equal bytes.

use polypath_core::time::Duration;
use polypath_scenario::parameters;
use polypath_sim::{MediaOutcome, PathBytes};
use serde::Serialize;

use super::conclusion::conclusion;
use super::figures::{MediaFigures, PathFigures, PolicyFigures, WireFigures};
use super::lab::warnings;
use super::table::{direction, kind_name};
use super::{CarrierMeasurement, LabConditions, LabRecord, MediaRecord};
use crate::json::{Spread, includes_zero, rounded, spread};

/// The version of the format of `report.json`; it changes when a key changes its meaning.
pub const VERSION: u32 = 2;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    lab: Option<Lab>,
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
    paths: Vec<PathShare<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_us: Option<Spread>,
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
struct PathShare<'a> {
    name: &'a str,
    share: Spread,
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
    paths: Vec<PathVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lab: Option<Measured>,
}

/// The part that only a report of the lab has.
#[derive(Serialize)]
struct Lab {
    runs: Vec<Conditions>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Conditions {
    seed: u64,
    groups: u32,
    lateness_p99_s: f64,
    lateness_bound_s: f64,
    longest_lateness_s: f64,
    valid: bool,
}

/// The measurements of a carrier in a run of the lab.
#[derive(Serialize)]
struct Measured {
    processor_s: Option<f64>,
    dropped: u64,
    refused: u64,
    dropped_at_start: u64,
    used_at_start: Vec<Option<bool>>,
}

/// The bytes on a path in a run.
#[derive(Serialize)]
struct PathVolume {
    bytes_to_client: u64,
    bytes_to_server: u64,
}

/// The content of `report.json`, with a line feed at its end.
///
/// # Errors
/// Never in practice: the figures are numbers and text.
pub fn render(record: MediaRecord<'_>, figures: &MediaFigures) -> serde_json::Result<String> {
    let scenario = record.scenario;
    let media = &scenario.media;
    let measured = |at: usize| {
        record
            .lab
            .and_then(|lab| Some(lab.measurements.get(at)?.as_slice()))
    };
    let policies = record
        .carriers
        .iter()
        .zip(record.outcomes)
        .zip(&figures.policies);
    let report = Report {
        version: VERSION,
        name: &scenario.name,
        title: &scenario.title,
        mode: record.mode().name(),
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
            .zip(0..)
            .map(|(((carrier, outcomes), figures), at)| Policy {
                processor_us: record
                    .lab
                    .map(|_| spread(figures.processor.map(|time| time.scaled(1e6)))),
                runs: runs(record.seeds, outcomes, measured(at).unwrap_or_default()),
                ..of_policy(figures, &carrier.kind, &media.deadlines)
            })
            .collect(),
        lab: record.lab.map(|lab| of_lab(record, lab)),
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
        paths: figures.paths.iter().map(path_share).collect(),
        processor_us: None,
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

fn path_share(figures: &PathFigures) -> PathShare<'_> {
    PathShare {
        name: &figures.name,
        share: spread(figures.share),
    }
}

fn of_lab(record: MediaRecord<'_>, lab: LabRecord<'_>) -> Lab {
    let runs = record.seeds.iter().zip(lab.conditions);
    let conditions = |(seed, of): (&u64, &LabConditions)| Conditions {
        seed: *seed,
        groups: of.groups,
        lateness_p99_s: seconds(of.lateness),
        lateness_bound_s: seconds(of.bound),
        longest_lateness_s: seconds(of.longest),
        valid: of.is_valid(),
    };
    Lab {
        runs: runs.map(conditions).collect(),
        warnings: warnings(record),
    }
}

fn runs(seeds: &[u64], outcomes: &[MediaOutcome], measured: &[CarrierMeasurement]) -> Vec<Run> {
    let measured = measured.iter().map(|of| Some(of.into()));
    let measured = measured.chain(std::iter::repeat_with(|| None));
    let runs = seeds.iter().zip(outcomes).zip(measured);
    let run = |((seed, of), lab): ((&u64, &MediaOutcome), Option<Measured>)| Run {
        lab,
        seed: *seed,
        sent: of.sent,
        delivered: of.delivered,
        late: of.late.clone(),
        longest_gap_s: seconds(of.longest_gap),
        reordered: of.reordered,
        payload_bytes: of.payload,
        wire_bytes: of.wire.bytes(),
        paths: of.wire.paths.iter().map(path_volume).collect(),
    };
    runs.map(run).collect()
}

fn path_volume(of: &PathBytes) -> PathVolume {
    PathVolume {
        bytes_to_client: of.forward,
        bytes_to_server: of.backward,
    }
}

impl From<&CarrierMeasurement> for Measured {
    fn from(of: &CarrierMeasurement) -> Self {
        Self {
            processor_s: of.processor.map(seconds),
            dropped: of.dropped,
            refused: of.refused,
            dropped_at_start: of.dropped_at_start,
            used_at_start: of.used_at_start.clone(),
        }
    }
}

fn seconds(span: Duration) -> f64 {
    rounded(span.as_secs_f64())
}
