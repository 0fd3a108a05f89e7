//! The counters of a link.

use derive_more::{Add, Sub, Sum};
use polypath_core::time::Duration;
use polypath_core::units::Rate;

use crate::drop_reason::DropReason;

/// The totals of a link since the start of the run.
///
/// A packet is counted when its fate is decided, including later events: when it arrives, or
/// when it leaves a queue that holds packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct Counters {
    /// Packets that arrived at the queue.
    pub packets_in: u64,
    /// Bytes that arrived at the queue.
    pub bytes_in: u64,
    /// Bytes that were transmitted, including those that wait for the line, unless the totals are
    /// those [at a time](crate::Link::counters_at).
    pub bytes_transmitted: u64,
    /// Packets that reach the far end.
    pub packets_delivered: u64,
    /// Bytes that reach the far end.
    pub bytes_delivered: u64,
    /// Packets whose ECN field the queue set to CE.
    pub packets_marked: u64,
    /// The sum of the times that transmitted packets waited before their first bit left. Divided by
    /// a span of time it is the mean number of packets that wait (Little's law). The whole wait of
    /// a packet counts when its fate is decided. Totals [at a time](crate::Link::counters_at)
    /// exclude, except where the queue holds packets, the wait after that time; with a recorded
    /// rate to within an opportunity.
    pub waited: Duration,
    /// Packets that do not reach the far end, by the reason.
    pub drops: Drops,
}

/// The packets that a link dropped, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct Drops {
    /// The queue was full.
    pub queue_full: u64,
    /// The queue had [`MAX_PACKETS`](crate::MAX_PACKETS).
    pub overflow: u64,
    /// RED dropped them early.
    pub early: u64,
    /// `CoDel` dropped them since packets waited too long.
    pub sojourn: u64,
    /// They were lost independently.
    pub random: u64,
    /// The Gilbert-Elliott chain lost them.
    pub burst: u64,
    /// The on-off process was off.
    pub down: u64,
    /// A scheduled outage lost them.
    pub outage: u64,
}

impl Drops {
    /// The drops for one reason.
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

    /// The drops at the queue.
    #[must_use]
    pub const fn queue(&self) -> u64 {
        self.queue_full + self.overflow + self.early + self.sojourn
    }

    /// All drops.
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
    /// The packets that do not reach the far end.
    #[must_use]
    pub const fn packets_dropped(&self) -> u64 {
        self.drops.total()
    }

    /// The difference to earlier totals of the same link.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        *self - *earlier
    }

    /// The share of `seconds` in which a link of this rate was transmitting (the path load of the
    /// PPD paper, section 5).
    #[must_use]
    pub fn load(&self, rate: Rate, seconds: f64) -> f64 {
        self.bytes_transmitted as f64 * 8.0 / (rate.as_f64() * seconds)
    }

    /// The mean number of packets that waited behind the one in transmission, over `seconds`.
    #[must_use]
    pub fn mean_waiting(&self, seconds: f64) -> f64 {
        self.waited.as_secs_f64() / seconds
    }
}
