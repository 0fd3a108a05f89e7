//! `report.json` of senders that choose among the same paths. Each key ends in its unit; shares are
//! from 0 to 1, `switch_rate_per_sender_s` is in switches of a sender per second and
//! `heartbeat_rate_per_sender_s` in heartbeats; `wire_ratio` is all bytes on the wire over those of
//! the datagrams; `ci95` is half the width of the 95 % interval over the
//! runs; what does not exist is null. Equal runs give equal bytes.

use polypath_core::time::Duration;
use polypath_scenario::network::PathLimits;
use polypath_scenario::network::senders::{GridPoint, RunMode, Setting};
use polypath_scenario::parameters;
use polypath_sim::SendersOutcome;
use serde::Serialize;

use super::conclusion::conclusion;
use super::figures::{SettingFigures, StabilityFigures, is_unstable};
use super::{StabilityRecord, settings};
use crate::json::{Spread, rounded, spread};
use crate::media::LabConditions;
use crate::statistics::Estimate;

/// The version of the format of `report.json`; it changes when a key changes its meaning.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    name: &'a str,
    title: &'a str,
    seed: u64,
    seeds: &'a [u64],
    senders: u32,
    utilisation: f64,
    duration_s: f64,
    warm_up_s: f64,
    unstable_above_ms: f64,
    paths: Vec<Path>,
    lab: Option<Lab>,
    settings: Vec<SettingReport<'a>>,
    recommended: Option<&'a str>,
    conclusion: Vec<String>,
    parameters: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct Path {
    name: String,
    rate_bits_s: u64,
    idle_delay_ms: f64,
    full_delay_ms: f64,
}

/// The lateness of the emulated links and of the sources in the lab.
#[derive(Serialize)]
struct Lab {
    lateness_p99_ms: f64,
    lateness_bound_ms: f64,
    longest_lateness_ms: f64,
    is_valid: bool,
}

#[derive(Serialize)]
struct SettingReport<'a> {
    name: &'a str,
    mode: RunMode,
    point: Option<Point>,
    policy: serde_json::Value,
    switch_rate_per_sender_s: Spread,
    heartbeat_rate_per_sender_s: Spread,
    wire_ratio: Spread,
    mean_delay_ms: Spread,
    delay_ms: Delays,
    lost_share: Spread,
    unstable_runs: usize,
    unstable_share: Option<f64>,
    paths: Vec<Load>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "each key of the file ends in its unit"
)]
struct Point {
    hysteresis_ms: f64,
    guard_time_ms: f64,
    heartbeat_ms: f64,
}

#[derive(Serialize)]
struct Delays {
    p50: Spread,
    p90: Spread,
    p99: Spread,
}

#[derive(Serialize)]
struct Load {
    share: Spread,
    deviation: Spread,
}

#[derive(Serialize)]
struct Run {
    seed: u64,
    switches: u64,
    sent: u64,
    heartbeats: u64,
    wire_bytes: Option<u64>,
    mean_delay_ms: Option<f64>,
    lost_share: Option<f64>,
    is_unstable: bool,
}

/// The content of `report.json`, with a line feed at its end.
///
/// # Errors
/// Never in practice: the figures are numbers and text.
pub fn render(
    record: StabilityRecord<'_>,
    figures: &StabilityFigures,
) -> serde_json::Result<String> {
    let network = record.network;
    let senders = network.senders();
    let all = settings(record, figures).map(|(of, figures_of, outcomes)| {
        setting(
            of,
            figures_of,
            runs(record.seeds, outcomes, figures.unstable_above),
        )
    });
    let report = Report {
        version: VERSION,
        name: &network.name,
        title: &network.title,
        seed: network.seed,
        seeds: record.seeds,
        senders: senders.map_or(0, |senders| senders.count()),
        utilisation: rounded(senders.map_or(0.0, |senders| senders.utilisation())),
        duration_s: rounded(network.run.duration.as_secs_f64()),
        warm_up_s: rounded(network.run.warm_up.as_secs_f64()),
        unstable_above_ms: rounded(figures.unstable_above * 1e3),
        paths: senders
            .map_or(Vec::new(), |senders| senders.paths())
            .into_iter()
            .map(Path::from)
            .collect(),
        lab: record.lab.map(Lab::from),
        settings: all.collect::<serde_json::Result<_>>()?,
        recommended: figures
            .recommended
            .map(|position| record.settings[position].name.as_str()),
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

fn setting<'a>(
    setting: &'a Setting,
    figures: &SettingFigures,
    runs: Vec<Run>,
) -> serde_json::Result<SettingReport<'a>> {
    let [p50, p90, p99] = figures.delay.map(in_ms);
    let paths = figures.paths.iter().map(|path| Load {
        share: spread(path.share),
        deviation: spread(path.deviation),
    });
    Ok(SettingReport {
        name: &setting.name,
        mode: setting.mode,
        point: setting.point.map(Point::from),
        policy: serde_json::to_value(setting.policy)?,
        switch_rate_per_sender_s: spread(figures.switch_rate),
        heartbeat_rate_per_sender_s: spread(figures.heartbeat_rate),
        wire_ratio: spread(figures.wire_ratio),
        mean_delay_ms: in_ms(figures.mean_delay),
        delay_ms: Delays { p50, p90, p99 },
        lost_share: spread(figures.lost),
        unstable_runs: figures.unstable,
        unstable_share: figures.unstable_share().map(rounded),
        paths: paths.collect(),
        runs,
    })
}

fn runs(seeds: &[u64], outcomes: &[SendersOutcome], unstable_above: f64) -> Vec<Run> {
    let runs = seeds.iter().zip(outcomes).map(|(seed, run)| Run {
        seed: *seed,
        switches: run.switches,
        sent: run.sent,
        heartbeats: run.heartbeats,
        wire_bytes: run.wire_bytes,
        mean_delay_ms: run.mean_delay.map(|delay| rounded(delay * 1e3)),
        lost_share: run.due.lost().map(rounded),
        is_unstable: is_unstable(run, unstable_above),
    });
    runs.collect()
}

impl From<LabConditions> for Lab {
    fn from(lab: LabConditions) -> Self {
        Self {
            lateness_p99_ms: milliseconds(lab.lateness),
            lateness_bound_ms: milliseconds(lab.bound),
            longest_lateness_ms: milliseconds(lab.longest),
            is_valid: lab.is_valid(),
        }
    }
}

impl From<PathLimits> for Path {
    fn from(path: PathLimits) -> Self {
        Self {
            name: path.name,
            rate_bits_s: path.rate.0,
            idle_delay_ms: milliseconds(path.idle_delay),
            full_delay_ms: milliseconds(path.full_delay),
        }
    }
}

impl From<GridPoint> for Point {
    fn from(point: GridPoint) -> Self {
        Self {
            hysteresis_ms: milliseconds(point.hysteresis),
            guard_time_ms: milliseconds(point.guard_time),
            heartbeat_ms: milliseconds(point.heartbeat),
        }
    }
}

fn in_ms(seconds: Option<Estimate>) -> Spread {
    spread(seconds.map(|seconds| seconds.scaled(1e3)))
}

fn milliseconds(span: Duration) -> f64 {
    rounded(span.as_secs_f64() * 1e3)
}
