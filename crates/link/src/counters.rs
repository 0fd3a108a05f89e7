//! What a link has seen and done.

use derive_more::{Add, Sub, Sum};
use polypath_core::time::Duration;
use polypath_core::units::Rate;

use crate::link::DropReason;

/// Totals of a link since the start of the run.
///
/// A packet is counted when its fate is decided, also what will happen to it later: when it arrives, or with
/// `CoDel` when it leaves the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct Counters {
    /// Packets that arrived at the queue.
    pub packets_in: u64,
    /// Bytes that arrived at the queue.
    pub bytes_in: u64,
    /// Bytes that were transmitted; those that wait for the line count too, unless the totals are those
    /// [at a time](crate::Link::counters_at).
    pub bytes_transmitted: u64,
    /// Packets that reach the far end.
    pub packets_delivered: u64,
    /// Bytes that reach the far end.
    pub bytes_delivered: u64,
    /// Packets whose ECN field the queue set to CE.
    pub packets_marked: u64,
    /// Sum of the times that the transmitted packets waited before their first bit left; over a span of time, divided
    /// by that, it is the mean number of packets that wait (Little's law). A packet brings its whole wait when its fate
    /// is decided, unless the totals are those [at a time](crate::Link::counters_at): then, but under `CoDel`, what is to
    /// come of it does not count, of a recorded rate to within an opportunity.
    pub waited: Duration,
    /// Packets that do not reach the far end.
    pub drops: Drops,
}

/// Packets that a link dropped, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct Drops {
    /// They found the queue full.
    pub queue_full: u64,
    /// The queue was to grow beyond [`MOST_PACKETS`](crate::MOST_PACKETS).
    pub overflow: u64,
    /// RED picked them.
    pub early: u64,
    /// `CoDel` found that packets had waited too long.
    pub sojourn: u64,
    /// They were lost each for itself.
    pub random: u64,
    /// The Gilbert-Elliott chain lost them.
    pub burst: u64,
    /// The two-state process was down.
    pub down: u64,
    /// They fell into a scheduled outage.
    pub outage: u64,
}

impl Drops {
    /// Drops for one reason.
    #[must_use]
    pub const fn of(&self, reason: DropReason) -> u64 {
        match reason {
            DropReason::QueueFull => self.queue_full,
            DropReason::Overflow => self.overflow,
            DropReason::Early => self.early,
            DropReason::Sojourn => self.sojourn,
            DropReason::Random => self.random,
            DropReason::Burst => self.burst,
            DropReason::Down => self.down,
            DropReason::Outage => self.outage,
        }
    }

    /// Drops at the queue.
    #[must_use]
    pub const fn queue(&self) -> u64 {
        self.queue_full + self.overflow + self.early + self.sojourn
    }

    /// Drops for whatever reason.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.queue() + self.random + self.burst + self.down + self.outage
    }

    pub(crate) fn count(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::QueueFull => &mut self.queue_full,
            DropReason::Overflow => &mut self.overflow,
            DropReason::Early => &mut self.early,
            DropReason::Sojourn => &mut self.sojourn,
            DropReason::Random => &mut self.random,
            DropReason::Burst => &mut self.burst,
            DropReason::Down => &mut self.down,
            DropReason::Outage => &mut self.outage,
        };
        *counter += 1;
    }
}

impl Counters {
    /// Packets that do not reach the far end, for whatever reason.
    #[must_use]
    pub const fn packets_dropped(&self) -> u64 {
        self.drops.total()
    }

    /// What came in between `earlier` and `self`, both of the same link.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        *self - *earlier
    }

    /// Share of `seconds` in which a link of this rate was transmitting (the PPD paper's path load, 5).
    #[must_use]
    pub fn load(&self, rate: Rate, seconds: f64) -> f64 {
        self.bytes_transmitted as f64 * 8.0 / (rate.as_f64() * seconds)
    }

    /// Mean number of packets that waited behind the one in transmission, over `seconds`.
    #[must_use]
    pub fn mean_waiting(&self, seconds: f64) -> f64 {
        self.waited.as_secs_f64() / seconds
    }
}
