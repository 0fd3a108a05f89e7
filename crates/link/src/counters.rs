//! What a link has seen and done.

use polypath_core::units::Rate;

use crate::link::DropReason;

/// Totals of a link since the start of the run.
///
/// A packet is counted when it arrives at the link, also what will happen to it later: it has been
/// transmitted unless it found the queue full, and delivered unless it was dropped at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived at the queue.
    pub packets_in: u64,
    /// Bytes that arrived at the queue.
    pub bytes_in: u64,
    /// Bytes of the packets that found a place, and were transmitted.
    pub bytes_transmitted: u64,
    /// Packets that reach the far end.
    pub packets_delivered: u64,
    /// Bytes that reach the far end.
    pub bytes_delivered: u64,
    /// Packets that found the queue full.
    pub queue_full: u64,
    /// Packets lost each for itself.
    pub random_loss: u64,
    /// Packets lost while the two-state process was down.
    pub down: u64,
    /// Packets lost in a scheduled outage.
    pub outage: u64,
}

impl Counters {
    /// Packets that do not reach the far end, for whatever reason.
    #[must_use]
    pub const fn packets_dropped(&self) -> u64 {
        self.queue_full + self.random_loss + self.down + self.outage
    }

    /// What came in between `earlier` and `self`, both of the same link.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_in: self.packets_in - earlier.packets_in,
            bytes_in: self.bytes_in - earlier.bytes_in,
            bytes_transmitted: self.bytes_transmitted - earlier.bytes_transmitted,
            packets_delivered: self.packets_delivered - earlier.packets_delivered,
            bytes_delivered: self.bytes_delivered - earlier.bytes_delivered,
            queue_full: self.queue_full - earlier.queue_full,
            random_loss: self.random_loss - earlier.random_loss,
            down: self.down - earlier.down,
            outage: self.outage - earlier.outage,
        }
    }

    /// Share of `seconds` in which a link of this rate was transmitting (the PPD paper's path load, 5).
    #[must_use]
    pub fn load(&self, rate: Rate, seconds: f64) -> f64 {
        self.bytes_transmitted as f64 * 8.0 / (rate.as_f64() * seconds)
    }

    pub(crate) fn count_arrival(&mut self, bytes: u64) {
        self.packets_in += 1;
        self.bytes_in += bytes;
    }

    pub(crate) fn count_delivery(&mut self, bytes: u64) {
        self.packets_delivered += 1;
        self.bytes_delivered += bytes;
    }

    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::QueueFull => &mut self.queue_full,
            DropReason::Random => &mut self.random_loss,
            DropReason::Down => &mut self.down,
            DropReason::Outage => &mut self.outage,
        };
        *counter += 1;
    }
}
