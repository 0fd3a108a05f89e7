//! How well an emulation kept its time.

use polypath_core::time::Duration;
use polypath_live::drive::Lateness;

/// How often the thread would be woken if nothing held it up.
const INTERVAL: Duration = Duration::from_millis(1);

/// How late packets left, and how late the thread woke.
///
/// The lateness of packets alone would not show a stall while none is due to leave and some wait to enter;
/// that of the wakes does. They are kept apart, since the more numerous would outvote the other.
#[derive(Clone, Debug, Default)]
pub struct EmulationLateness {
    /// By how much packets left later than they were due.
    pub packets: Lateness,
    /// By how much the thread woke later than it had asked.
    pub wakes: Lateness,
}

impl EmulationLateness {
    /// Counts a wake that came `by` later than asked, and those that would have come meanwhile and been
    /// late by what was left of it: one stall is otherwise one sample, however long it lasts (Tene,
    /// "coordinated omission").
    pub(super) fn record_wake(&mut self, by: Duration) {
        self.wakes.record(by);
        let mut left = by;
        while left >= INTERVAL + INTERVAL {
            left = Duration(left.0 - INTERVAL.0);
            self.wakes.record(left);
        }
    }

    /// The lateness that a share `q` (0 to 1) did not exceed, of packets or of wakes, whichever is worse.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        self.packets.quantile(q).max(self.wakes.quantile(q))
    }

    /// The greatest lateness of either.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.packets.max().max(self.wakes.max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctual_wakes_do_not_outvote_late_packets() {
        let mut lateness = EmulationLateness::default();
        for _ in 0..100_000 {
            lateness.record_wake(Duration::from_micros(5));
        }
        for _ in 0..100 {
            lateness.packets.record(Duration::from_millis(3));
        }
        assert!(lateness.quantile(0.5) >= Duration::from_millis(3));
        assert_eq!(lateness.max(), lateness.packets.max());
    }

    #[test]
    fn a_stall_counts_for_as_long_as_it_lasts() {
        let mut lateness = EmulationLateness::default();
        for _ in 0..900 {
            lateness.record_wake(Duration::from_micros(5));
        }
        lateness.record_wake(Duration::from_millis(100));
        assert_eq!(lateness.wakes.count(), 1000);
        assert!(lateness.quantile(0.95) >= Duration::from_millis(49));
        assert!(lateness.quantile(0.5) < Duration::from_micros(6));
    }
}
