//! The lateness of an emulation: of packets and of the thread's wakes.

use polypath_core::time::Duration;
use polypath_live::durations::DurationHistogram;

/// The assumed interval between wakes of an unblocked thread.
const INTERVAL: Duration = Duration::from_millis(1);

/// The lateness of packet departures and of the thread's wakes.
///
/// The lateness of packets alone would hide a stall during which packets wait to enter and none is
/// due to leave. The two distributions are kept apart, since the more frequent event would dominate
/// a joint one.
#[derive(Clone, Debug, Default)]
pub struct EmulationLateness {
    /// Departure time minus due time of each packet.
    pub packets: DurationHistogram,
    /// Wake time minus requested time of each wake.
    pub wakes: DurationHistogram,
}

impl EmulationLateness {
    /// Records a wake that was `by` late, and the wakes that the stall suppressed, each late by the
    /// rest of the stall: otherwise a stall counts as one sample however long it lasts (Tene,
    /// "coordinated omission").
    pub(super) fn record_wake(&mut self, by: Duration) {
        self.wakes.record(by);
        let mut left = by;
        while left >= INTERVAL + INTERVAL {
            left = Duration(left.0 - INTERVAL.0);
            self.wakes.record(left);
        }
    }

    /// The `q`-quantile (0 to 1) of lateness, of packets or of wakes, whichever is larger.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        self.packets.quantile(q).max(self.wakes.quantile(q))
    }

    /// The maximum lateness of packets and wakes.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.packets.max().max(self.wakes.max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_time_wakes_do_not_hide_late_packets() {
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
    fn a_stall_weighs_as_much_as_its_duration() {
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
