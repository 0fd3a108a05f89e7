//! The quality of a stream as it arrives: losses, order and jitter.

use crate::time::{Duration, Time};

/// The gain of the jitter, as a number of bits (RFC 3550, section 6.4.1).
const JITTER_BITS: u32 = 4;
/// A difference of two transit times in nanoseconds that only a clock step causes: half a minute.
const CLOCK_STEP: u64 = 30_000_000_000;

/// Counts the packets of a stream at its receiver, each once.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrivalQuality {
    packets: u64,
    /// The lowest sequence number, and one past the highest.
    first: u64,
    end: u64,
    reordered: u64,
    /// The transit time of the last packet in nanoseconds, by two clocks.
    transit: i64,
    /// The jitter in nanoseconds, times 16.
    scaled_jitter: u64,
}

/// The state of an [`ArrivalQuality`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalStatistics {
    /// Packets that arrived, or were restored.
    pub packets: u64,
    /// Packets between the first and the newest that have not arrived yet (RFC 3550, section 6.4.1).
    pub missing: u64,
    /// Packets that arrived after a newer one (RFC 4737, section 3).
    pub reordered: u64,
    /// The interarrival jitter: the mean difference between the transit times of packets that arrive
    /// one after the other (RFC 3550, section 6.4.1).
    pub jitter: Duration,
}

impl ArrivalQuality {
    /// Notes the first arrival of packet `sequence`, which was sent at `sent` by the sender's clock.
    #[inline]
    pub fn note(&mut self, now: Time, sequence: u64, sent: Time) {
        let transit = now.0.wrapping_sub(sent.0).cast_signed();
        if self.packets == 0 {
            (self.first, self.end) = (sequence, sequence);
            self.transit = transit;
        }
        let difference = transit.wrapping_sub(self.transit).unsigned_abs();
        if difference < CLOCK_STEP {
            let forgotten = (self.scaled_jitter + (1 << (JITTER_BITS - 1))) >> JITTER_BITS;
            self.scaled_jitter += difference;
            self.scaled_jitter -= forgotten;
        }
        self.transit = transit;
        self.packets += 1;
        if sequence >= self.end {
            self.end = sequence.saturating_add(1);
        } else {
            self.reordered += 1;
            self.first = self.first.min(sequence);
        }
    }

    /// The statistics so far.
    #[must_use]
    pub fn statistics(&self) -> ArrivalStatistics {
        ArrivalStatistics {
            packets: self.packets,
            missing: (self.end - self.first).saturating_sub(self.packets),
            reordered: self.reordered,
            jitter: Duration(self.scaled_jitter >> JITTER_BITS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    #[test]
    fn the_jitter_is_the_mean_difference_of_transit_times() {
        let mut quality = ArrivalQuality::default();
        for i in 0..400 {
            // Every second packet takes 4 ms more.
            quality.note(at(10 * i + 50 + 4 * (i % 2)), i, at(10 * i));
        }
        let jitter = quality.statistics().jitter.as_secs_f64();
        assert!((jitter - 0.004).abs() < 1e-5, "{jitter}");
        for i in 400..800 {
            quality.note(at(10 * i + 50), i, at(10 * i));
        }
        assert!(quality.statistics().jitter < Duration::from_micros(1));
    }

    #[test]
    fn a_first_difference_has_a_sixteenth_of_its_size() {
        let mut quality = ArrivalQuality::default();
        quality.note(at(100), 7, at(0));
        assert_eq!(quality.statistics().jitter, Duration::ZERO);
        quality.note(at(126), 8, at(10));
        assert_eq!(quality.statistics().jitter, Duration::from_millis(1));
    }

    #[test]
    fn counts_what_is_missing_and_what_is_late() {
        let mut quality = ArrivalQuality::default();
        for sequence in [5, 6, 9, 7, 4, 10] {
            quality.note(at(sequence), sequence, at(0));
        }
        let statistics = quality.statistics();
        assert_eq!(
            (statistics.packets, statistics.missing),
            (6, 1),
            "8 is missing"
        );
        assert_eq!(statistics.reordered, 2);
    }

    #[test]
    fn a_clock_step_is_no_jitter_and_the_last_sequence_number_breaks_nothing() {
        let mut quality = ArrivalQuality::default();
        quality.note(Time::ZERO, 0, Time(u64::MAX));
        quality.note(Time(u64::MAX), u64::MAX - 1, Time::ZERO);
        quality.note(Time::ZERO, 3, Time(u64::MAX / 2));
        let statistics = quality.statistics();
        assert_eq!((statistics.packets, statistics.jitter), (3, Duration::ZERO));
    }
}
