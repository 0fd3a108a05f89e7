//! The report of a receiver to a sender.

use alloc::vec::Vec;

use crate::frame::PathId;
use crate::time::{Duration, Time};
use crate::truncated::{BITS, expand_up_to, truncate};

/// Length of a report without paths and bitmap, in bytes.
pub const REPORT_LEN: usize = 4;
/// Length of the part of a path, in bytes.
pub const PATH_LEN: usize = 10;
/// The longest bitmap in bytes, of 4096 packets.
pub const MAX_BITMAP: usize = 512;

/// The state of a receiver at the time that its frame states as its send time: everything that
/// arrived before is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// Every packet below this sequence number has arrived, or is no longer awaited.
    pub base: u64,
    /// The paths on which a frame arrived lately.
    pub paths: Vec<PathArrival>,
    /// The packets from `base` on: bit `i % 8` of byte `i / 8` is set if packet `base + i` has
    /// arrived. Packets behind the end have not.
    pub arrived: Vec<u8>,
}

/// The arrivals on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathArrival {
    /// The path.
    pub path: PathId,
    /// The send time of the frame that was sent last among those that arrived, by the sender's
    /// clock.
    pub newest: SendTime,
    /// The time from its arrival to the report, in whole microseconds, less than 2^32.
    pub age: Duration,
    /// The time by which frames arrive later than frames that were sent after them, in units of
    /// 100 us, less than 2^16.
    pub reordering: Duration,
}

/// A send time in microseconds modulo 2^24, which repeats after 16.8 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SendTime(u64);

impl SendTime {
    /// The send time `sent`, in whole microseconds.
    #[must_use]
    pub const fn of(sent: Time) -> Self {
        Self::from_micros(sent.0 / 1000)
    }

    /// The send time `micros`, in microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(truncate(micros, BITS))
    }

    /// The microseconds, less than 2^24.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// The newest time of this value that is not after `latest`; of the first 16.8 s of a run, the
    /// only one.
    #[must_use]
    pub fn until(self, latest: Time) -> Time {
        let micros = expand_up_to(self.0, latest.0 / 1000);
        Time(micros.unwrap_or(0).saturating_mul(1000))
    }
}

impl Report {
    /// Whether packet `sequence` has arrived, or is no longer awaited.
    #[must_use]
    pub fn has(&self, sequence: u64) -> bool {
        let Some(offset) = sequence.checked_sub(self.base) else {
            return true;
        };
        let byte = usize::try_from(offset / 8).ok();
        let byte = byte.and_then(|index| self.arrived.get(index));
        byte.is_some_and(|byte| byte >> (offset % 8) & 1 == 1)
    }

    /// Its length on the wire in bytes, without the frame header.
    #[must_use]
    pub fn len(&self) -> usize {
        REPORT_LEN + self.paths.len() * PATH_LEN + self.arrived.len()
    }

    /// Whether it reports nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.arrived.is_empty() && self.base == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn a_report_has_what_is_below_its_base_and_what_its_bits_state() {
        let report = Report {
            base: 10,
            paths: Vec::new(),
            arrived: vec![0b1000_0010, 0b1],
        };
        let missing = [10, 12, 16, 19, 26, 1000];
        for sequence in (0..30).chain([1000, u64::MAX]) {
            let expected = sequence < 10 || [11, 17, 18].contains(&sequence);
            assert_eq!(report.has(sequence), expected, "{sequence}");
            assert!(!(missing.contains(&sequence) && expected));
        }
    }

    proptest! {
        /// A time of the last 16 s is found again to the microsecond, at every wrap.
        #[test]
        fn a_send_time_is_found_before_any_time(
            now in prop_oneof![0..u64::MAX / 2, 0..1_u64 << 44, Just((1 << 24) * 1000)],
            ago in 0..16_000_000_000_u64,
        ) {
            let sent = now.saturating_sub(ago);
            let found = SendTime::of(Time(sent)).until(Time(now));
            prop_assert_eq!(found.0, sent / 1000 * 1000);
        }
    }
}
