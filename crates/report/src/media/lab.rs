//! The part of a record that only the lab has: the conditions of each run, and measurements of each
//! carrier that a simulator cannot make.

use polypath_core::time::Duration;
use serde::{Deserialize, Serialize};

use super::MediaRecord;

/// The conditions of all runs, and the measurements of all carriers in them.
#[derive(Clone, Copy, Debug)]
pub struct LabRecord<'a> {
    /// The conditions of the run of each seed.
    pub conditions: &'a [LabConditions],
    /// The measurements of each carrier, in the order of the seeds.
    pub measurements: &'a [Vec<CarrierMeasurement>],
}

/// The conditions of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabConditions {
    /// The lateness of the emulated networks: the 99th percentile, of packets or of wakes,
    /// whichever is larger; the largest of the groups.
    pub lateness: Duration,
    /// Its bound, beyond which the run is invalid; the smallest of the groups.
    pub bound: Duration,
    /// The longest lateness of a packet, of a wake or of a source of media, which is that of the
    /// longest stall of the machine.
    pub longest: Duration,
    /// The number of groups in which the carriers were run; with one, all carriers met the same load
    /// of the machine.
    pub groups: u32,
}

/// The measurements of a carrier in a run, beside its outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarrierMeasurement {
    /// The processor time, user and system, of its nodes or programs from the first packet to the
    /// longest deadline after the end of the stream; `None` for a transport of the kernel, whose
    /// work belongs to no process.
    pub processor: Option<Duration>,
    /// Packets that the kernel dropped at full device queues, before the emulated network.
    pub dropped: u64,
    /// Packets that left the emulated network and that the kernel refused.
    pub refused: u64,
    /// Packets that the emulated network had dropped when the use of the paths was checked.
    pub dropped_at_start: u64,
    /// For each path, in the order of the scenario, whether the carrier used it when the stream had
    /// begun; `None` for a carrier that uses one path.
    pub used_at_start: Vec<Option<bool>>,
}

impl LabConditions {
    /// The bound on `longest`: the usual shortest deadline at which packets count as late. A stall
    /// delays few packets by a lot, which the 99th percentile does not show.
    pub const MAX_STALL: Duration = Duration::from_millis(100);

    /// Whether the run is valid.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.is_late() && !self.is_stalled()
    }

    /// Whether the emulated networks were late.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.lateness > self.bound
    }

    /// Whether the machine stalled.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.longest > Self::MAX_STALL
    }

    /// The reason for which the run is invalid, if it is.
    #[must_use]
    pub fn invalid_reason(&self) -> Option<String> {
        let Self {
            lateness,
            bound,
            longest,
            ..
        } = self;
        if self.is_late() {
            return Some(format!(
                "the emulated links were late by {lateness} at the 99th percentile, and at most {bound} \
                 are allowed"
            ));
        }
        self.is_stalled().then(|| {
            let most = Self::MAX_STALL;
            format!("the machine stalled for {longest}, and at most {most} are allowed")
        })
    }

    /// The conditions of a run, of which `self` and `other` are groups.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            lateness: self.lateness.max(other.lateness),
            bound: self.bound.min(other.bound),
            longest: self.longest.max(other.longest),
            groups: self.groups + other.groups,
        }
    }
}

/// The warnings of a record: invalid runs, packets that were lost outside the emulated
/// network, and paths that a carrier did not use.
pub(super) fn warnings(record: MediaRecord<'_>) -> Vec<String> {
    let Some(lab) = record.lab else {
        return Vec::new();
    };
    let runs = record.seeds.iter().zip(lab.conditions);
    let invalid = runs.filter_map(|(seed, conditions)| {
        let why = conditions.invalid_reason()?;
        Some(format!("The run of seed {seed} is invalid: {why}."))
    });
    let carriers = record.carriers.iter().zip(lab.measurements);
    let of_carriers = carriers.flat_map(|(carrier, measurements)| {
        let runs = record.seeds.iter().zip(measurements);
        runs.flat_map(|(seed, measured)| {
            let subject = format!("{}, seed {seed}", carrier.name);
            let lost = lost(&subject, measured);
            lost.into_iter().chain(unused(&subject, record, measured))
        })
    });
    invalid.chain(of_carriers).collect()
}

/// The warning of packets that the kernel lost.
fn lost(subject: &str, measured: &CarrierMeasurement) -> Option<String> {
    let CarrierMeasurement {
        dropped, refused, ..
    } = measured;
    (dropped + refused > 0).then(|| {
        format!(
            "{subject}: the kernel dropped {dropped} packets before the emulated links and refused \
             {refused} after them."
        )
    })
}

/// The warning of paths that were not used.
fn unused(subject: &str, record: MediaRecord<'_>, measured: &CarrierMeasurement) -> Option<String> {
    let paths = record.scenario.paths.iter().zip(&measured.used_at_start);
    let unused = paths.filter(|(_, used)| **used == Some(false));
    let names: Vec<&str> = unused.map(|(path, _)| path.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{subject}: did not use {} at the start of the stream; the emulated links had dropped {} of \
             its packets by then.",
            names.join(", "),
            measured.dropped_at_start
        )
    })
}
