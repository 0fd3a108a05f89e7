//! The figures of each policy over all runs.

use std::collections::BTreeSet;

use polypath_core::time::Duration;
use polypath_scenario::Path;
use polypath_sim::{DelayQuantiles, MediaOutcome, Side, WireCount, WireKind};

use super::{CarrierMeasurement, MediaRecord, named};
use crate::difference::Difference;
use crate::statistics::Estimate;

/// The figures of a media stream.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaFigures {
    /// Those of each policy, in the order of the scenario.
    pub policies: Vec<PolicyFigures>,
}

/// The figures of one policy. Shares are from 0 to 1, times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyFigures {
    /// The name of the policy.
    pub name: String,
    /// For each deadline the share of packets that were not delivered within it.
    pub late: Vec<Option<Estimate>>,
    /// For each deadline that share minus the one of the first policy in the same run; empty for
    /// the first.
    pub late_differences: Vec<Option<Difference>>,
    /// The share of packets that were not delivered at all.
    pub lost: Option<Estimate>,
    /// The one-way delay of delivered packets: median, 99th and 99.9th percentile of each run.
    pub delay: [Option<Estimate>; 3],
    /// The longest time without a delivery in each run.
    pub longest_gap: Option<Estimate>,
    /// The share of delivered packets that a later one overtook.
    pub reordered: Option<Estimate>,
    /// Bytes on the wire in both directions over bytes of payload.
    pub wire_ratio: Option<Estimate>,
    /// The parts of it, by the side that sent the packets and their kind.
    pub wire: Vec<WireFigures>,
    /// Each path, in the order of the scenario.
    pub paths: Vec<PathFigures>,
    /// The processor time of its nodes or programs over packets delivered; `None` in a simulation,
    /// and for a transport of the kernel.
    pub processor: Option<Estimate>,
}

/// The packets of one kind that one side sent in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct WireFigures {
    /// The side that sent them.
    pub sender: Side,
    /// Their kind.
    pub kind: WireKind,
    /// Their number and bytes in all runs.
    pub total: WireCount,
    /// Their bytes over bytes of payload.
    pub ratio: Option<Estimate>,
}

/// The use of one path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFigures {
    /// The name of the path.
    pub name: String,
    /// Its share in the bytes on the wire of both directions.
    pub share: Option<Estimate>,
}

impl MediaFigures {
    /// The figures of a record.
    #[must_use]
    pub fn of(record: MediaRecord<'_>) -> Self {
        let first = record.outcomes.first().map_or(&[][..], Vec::as_slice);
        let policies = named(record).zip(0..);
        let figures = |((name, outcomes), position): ((&str, &[MediaOutcome]), usize)| {
            let deadlines = record.scenario.media.deadlines.len();
            let compared = if position == 0 { 0 } else { deadlines };
            PolicyFigures {
                late: (0..deadlines)
                    .map(|n| estimate(outcomes, |of| late(of, n)))
                    .collect(),
                late_differences: (0..compared)
                    .map(|n| difference_of(outcomes, first, |of| late(of, n)))
                    .map(|mean| mean.map(Difference::exact))
                    .collect(),
                paths: paths(record, outcomes),
                processor: record
                    .lab
                    .and_then(|lab| processor(outcomes, lab.measurements.get(position)?)),
                ..PolicyFigures::of(name, outcomes)
            }
        };
        Self {
            policies: policies.map(figures).collect(),
        }
    }
}

impl PolicyFigures {
    /// The figures that depend neither on deadlines nor on paths.
    fn of(name: &str, outcomes: &[MediaOutcome]) -> Self {
        let seconds = |quantile: fn(&DelayQuantiles) -> Duration| {
            let of = |run: &MediaOutcome| Some(quantile(run.delay.as_ref()?).as_secs_f64());
            estimate(outcomes, of)
        };
        Self {
            name: name.to_owned(),
            late: Vec::new(),
            late_differences: Vec::new(),
            lost: estimate(outcomes, |of| share(of.sent - of.delivered, of.sent)),
            delay: [
                seconds(|delay| delay.p50),
                seconds(|delay| delay.p99),
                seconds(|delay| delay.p999),
            ],
            longest_gap: estimate(outcomes, |of| Some(of.longest_gap.as_secs_f64())),
            reordered: estimate(outcomes, |of| share(of.reordered, of.delivered)),
            wire_ratio: estimate(outcomes, |of| share(of.wire.bytes(), of.payload)),
            wire: wire(outcomes),
            paths: Vec::new(),
            processor: None,
        }
    }
}

/// The packets of every kind that occurs, those of the server first.
fn wire(outcomes: &[MediaOutcome]) -> Vec<WireFigures> {
    let sides = [Side::Server, Side::Client].into_iter();
    let of_side = |sender: Side| {
        let kinds = outcomes
            .iter()
            .flat_map(move |of| of.wire.of(sender).keys());
        let kinds: BTreeSet<WireKind> = kinds.copied().collect();
        kinds.into_iter().map(move |kind| {
            let count =
                |of: &MediaOutcome| of.wire.of(sender).get(&kind).copied().unwrap_or_default();
            let total = outcomes
                .iter()
                .map(count)
                .fold(WireCount::default(), |a, b| WireCount {
                    frames: a.frames + b.frames,
                    bytes: a.bytes + b.bytes,
                });
            let ratio = estimate(outcomes, |of| share(count(of).bytes, of.payload));
            WireFigures {
                sender,
                kind,
                total,
                ratio,
            }
        })
    };
    sides.flat_map(of_side).collect()
}

/// The share of each path.
fn paths(record: MediaRecord<'_>, outcomes: &[MediaOutcome]) -> Vec<PathFigures> {
    let paths = record.scenario.paths.iter().enumerate();
    let of_path = |(n, path): (usize, &Path)| PathFigures {
        name: path.name.clone(),
        share: estimate(outcomes, |of| path_share(of, n)),
    };
    paths.map(of_path).collect()
}

/// The share of the path at position `n` in the bytes on the wire.
fn path_share(outcome: &MediaOutcome, n: usize) -> Option<f64> {
    let all = outcome.wire.paths.iter().map(|path| path.both()).sum();
    share(outcome.wire.paths.get(n)?.both(), all)
}

/// The mean processor time over packets delivered, in seconds.
fn processor(outcomes: &[MediaOutcome], measured: &[CarrierMeasurement]) -> Option<Estimate> {
    let runs = outcomes.iter().zip(measured);
    let times = runs.filter_map(|(of, measured)| {
        let delivered = (of.delivered > 0).then_some(of.delivered as f64)?;
        Some(measured.processor?.as_secs_f64() / delivered)
    });
    Estimate::of(&times.collect::<Vec<f64>>())
}

/// The mean over the runs that have a value.
pub(super) fn estimate(
    outcomes: &[MediaOutcome],
    value: impl Fn(&MediaOutcome) -> Option<f64>,
) -> Option<Estimate> {
    let values: Vec<f64> = outcomes.iter().filter_map(value).collect();
    Estimate::of(&values)
}

/// The mean of a value minus that of the other outcome of the same run, over the runs in which both
/// have it.
pub(super) fn difference_of(
    outcomes: &[MediaOutcome],
    others: &[MediaOutcome],
    value: impl Fn(&MediaOutcome) -> Option<f64>,
) -> Option<Estimate> {
    let pairs = outcomes.iter().zip(others);
    let differences = pairs.filter_map(|(of, other)| Some(value(of)? - value(other)?));
    let values: Vec<f64> = differences.collect();
    Estimate::of(&values)
}

/// The share of packets that were not delivered within the deadline at position `n`.
pub(super) fn late(outcome: &MediaOutcome, n: usize) -> Option<f64> {
    share(*outcome.late.get(n)?, outcome.sent)
}

pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
