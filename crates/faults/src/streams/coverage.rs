//! Counts of what schedules of streams exercise.

use std::collections::BTreeMap;
use std::fmt;

use polypath_core::connections::StreamEnd;
use polypath_core::time::Duration;

use super::schedule::StreamFaultKind;
use crate::coverage::Total;

/// Sums over one or more schedules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamCoverage {
    /// Schedules.
    pub schedules: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets before which the sender waited for the source.
    pub application_limited: u64,
    /// Packets that arrived twice, and were delivered once.
    pub duplicates: u64,
    /// Streams that were received to their end.
    pub completed: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Connections that failed, or could not be opened.
    pub failed: u64,
    /// Connections that the server refused.
    pub refused: u64,
    /// Streams that began at the server when their receiver was ending.
    pub begun_late: u64,
    /// Names of failed connections that the server read.
    pub named: u64,
    /// Faults by their kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Ends of streams at the server by their reason.
    pub ends: BTreeMap<&'static str, u64>,
    /// The longest time from the last fault to the next packet.
    pub slowest_recovery: Duration,
}

impl StreamCoverage {
    pub(super) fn count_fault(&mut self, kind: &StreamFaultKind) {
        *self.faults.entry(kind.name()).or_default() += 1;
    }

    pub(super) fn count_end(&mut self, end: StreamEnd) {
        let name = match end {
            StreamEnd::Complete => "complete",
            StreamEnd::Left => "left",
            StreamEnd::Orphaned => "orphaned",
            StreamEnd::Source => "failed source",
        };
        *self.ends.entry(name).or_default() += 1;
    }
}

impl StreamFaultKind {
    /// Its name in counts.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reset(_) => "reset",
            Self::Silence { .. } => "silence",
            Self::Cut(_) => "cut",
            Self::Outage(_) => "outage",
            Self::Restart(_) => "restart",
            Self::Stall(_) => "stall",
            Self::SlowOpenings(_) => "slow openings",
        }
    }
}

impl Total for StreamCoverage {
    fn add(&mut self, other: &Self) {
        let Self {
            schedules,
            delivered,
            application_limited,
            duplicates,
            completed,
            opened,
            failed,
            refused,
            begun_late,
            named,
            faults,
            ends,
            slowest_recovery,
        } = other;
        self.schedules += schedules;
        self.delivered += delivered;
        self.application_limited += application_limited;
        self.duplicates += duplicates;
        self.completed += completed;
        self.opened += opened;
        self.failed += failed;
        self.refused += refused;
        self.begun_late += begun_late;
        self.named += named;
        for (sums, counts) in [(&mut self.faults, faults), (&mut self.ends, ends)] {
            for (name, count) in counts {
                *sums.entry(name).or_default() += count;
            }
        }
        self.slowest_recovery = self.slowest_recovery.max(*slowest_recovery);
    }
}

impl fmt::Display for StreamCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |counts: &BTreeMap<&str, u64>| {
            let texts = counts.iter().map(|(name, count)| format!("{name} {count}"));
            texts.collect::<Vec<_>>().join(", ")
        };
        writeln!(
            f,
            "{} streams: {} packets delivered in order ({} arrived twice, {} application-limited), {} streams complete",
            self.schedules,
            self.delivered,
            self.duplicates,
            self.application_limited,
            self.completed
        )?;
        writeln!(
            f,
            "connections: {} opened, {} failed ({} named to the server), {} refused",
            self.opened, self.failed, self.named, self.refused
        )?;
        writeln!(f, "faults: {}", list(&self.faults))?;
        writeln!(
            f,
            "ends at the server: {}; {} streams began while their receiver ended",
            list(&self.ends),
            self.begun_late
        )?;
        write!(
            f,
            "slowest recovery {:.1} s",
            self.slowest_recovery.as_secs_f64()
        )
    }
}
