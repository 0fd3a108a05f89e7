//! The limit of reports: two token buckets, of which the fuller one counts.

use super::report::{PATH_LEN, REPORT_LEN};
use crate::time::Duration;

/// The limit of reports: one part in this many of the bytes of packets.
pub(super) const CEILING: u64 = 50;
/// The limit of reports of a slow stream, in bytes per second: about a report for each packet of a
/// voice call.
pub(super) const FLOOR: u64 = 6000;
/// Unused bytes of the limit that remain, unless reports on many paths need more.
pub(super) const MAX_CREDIT: u64 = 2000;
/// The most that a bucket owes: what the floor permits in 16 ms, after which a stream that becomes
/// slower has a credit again.
const MAX_DEBT: i64 = 100;

/// The bytes that reports may take. What is sent counts against both rates, so that the sum stays
/// below the larger one, whatever the intervals of reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    floor: i64,
    share: i64,
    most: i64,
    /// Bytes of packets of which the share is less than one byte.
    rest: u64,
}

impl Credit {
    /// The full credit of a receiver with `paths` paths.
    pub(super) fn full(paths: u8) -> Self {
        // A report on every path and one more, with an empty bitmap and the headers of IPv6.
        let report = (REPORT_LEN + usize::from(paths) * PATH_LEN) as u64 + 80;
        let most = MAX_CREDIT.max(report * (u64::from(paths) + 1));
        let most = most.cast_signed();
        Self {
            floor: most,
            share: most,
            most,
            rest: 0,
        }
    }

    /// Adds what the limit permits for this time, in which packets of `packet_bytes` arrived.
    pub(super) fn add(&mut self, time: Duration, packet_bytes: u64) {
        let bytes = self.rest.saturating_add(packet_bytes);
        self.rest = bytes % CEILING;
        let share = (bytes / CEILING).cast_signed();
        let most = self.most.max(share.saturating_mul(2));
        let floor = time.scale(FLOOR, 1_000_000_000).0.cast_signed();
        self.floor = self.floor.saturating_add(floor).min(most);
        self.share = self.share.saturating_add(share).min(most);
    }

    /// The most that can be available.
    pub(super) fn most(self) -> u64 {
        self.most.cast_unsigned()
    }

    /// The bytes that may be sent now.
    pub(super) fn available(self) -> u64 {
        self.floor.max(self.share).max(0).cast_unsigned()
    }

    /// Counts bytes that are sent.
    pub(super) fn spend(&mut self, bytes: u64) {
        let bytes = bytes.cast_signed();
        self.floor = self.floor.saturating_sub(bytes).max(-MAX_DEBT);
        self.share = self.share.saturating_sub(bytes).max(-MAX_DEBT);
    }

    /// The time after which `needed` bytes may be sent although no packet arrives.
    pub(super) fn wait(self, needed: u64) -> Duration {
        let missing = needed.cast_signed().saturating_sub(self.floor).max(0);
        Duration::from_nanos(missing.cast_unsigned() * 1_000_000_000 / FLOOR)
    }
}
