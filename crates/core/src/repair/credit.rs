//! The limit of reports: two token buckets, of which the fuller one counts.

use crate::time::Duration;

/// The limit of reports: one part in this many of the bytes of packets.
pub(super) const CEILING: u64 = 50;
/// The limit of reports of a slow stream, in bytes per second: about a report for each packet of a
/// voice call.
pub(super) const FLOOR: u64 = 6000;
/// Unused bytes of the limit that remain.
pub(super) const MAX_CREDIT: u64 = 2000;

/// The bytes that reports may take. What is sent counts against both rates, so that the sum stays
/// below the larger one, whatever the intervals of reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    floor: i64,
    share: i64,
}

impl Credit {
    pub(super) const fn full() -> Self {
        let full = MAX_CREDIT.cast_signed();
        Self {
            floor: full,
            share: full,
        }
    }

    /// Adds what the limit permits for this time, in which packets of `packet_bytes` arrived.
    pub(super) fn add(&mut self, time: Duration, packet_bytes: u64) {
        let share = packet_bytes / CEILING;
        // Bounded, but never less than a report on every path needs.
        let most = MAX_CREDIT.max(2 * share).cast_signed();
        let floor = time.scale(FLOOR, 1_000_000_000).0.cast_signed();
        self.floor = self.floor.saturating_add(floor).min(most);
        self.share = self.share.saturating_add(share.cast_signed()).min(most);
    }

    /// The bytes that may be sent now.
    pub(super) fn available(self) -> u64 {
        self.floor.max(self.share).max(0).cast_unsigned()
    }

    /// Counts bytes that are sent.
    pub(super) fn spend(&mut self, bytes: u64) {
        let bytes = bytes.cast_signed();
        // A debt without bound would silence a stream that becomes faster.
        let least = -MAX_CREDIT.cast_signed();
        self.floor = self.floor.saturating_sub(bytes).max(least);
        self.share = self.share.saturating_sub(bytes).max(least);
    }

    /// The time after which `needed` bytes may be sent although no packet arrives.
    pub(super) fn wait(self, needed: u64) -> Duration {
        let missing = needed.cast_signed().saturating_sub(self.floor).max(0);
        Duration::from_nanos(missing.cast_unsigned() * 1_000_000_000 / FLOOR)
    }
}
