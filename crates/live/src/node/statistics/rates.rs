//! The rate of each path in the last second.

use polypath_core::time::Time;

use crate::stats::{RateStats, Traffic};

/// The minimum time between two samples in nanoseconds: after a late sample the next may follow at
/// once.
const MIN_INTERVAL_NS: u64 = 500_000_000;

/// The traffic of each path at the last sample, and the rates in the interval before it.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: Option<Sample>,
    rates: Vec<RateStats>,
}

/// The traffic of each path at a time.
#[derive(Debug)]
struct Sample {
    at: Time,
    paths: Vec<Traffic>,
}

impl Rates {
    /// Samples the traffic of each path at `now`.
    pub(super) fn sample(&mut self, now: Time, paths: impl Iterator<Item = Traffic>) {
        let paths: Vec<Traffic> = paths.collect();
        if let Some(last) = &self.last {
            let interval = now.since(last.at).as_nanos();
            if interval < MIN_INTERVAL_NS {
                return;
            }
            let rate = |before: u64, after: u64| {
                let bits = u128::from(after.saturating_sub(before)) * 8;
                u64::try_from(bits * 1_000_000_000 / u128::from(interval)).unwrap_or(u64::MAX)
            };
            let changes = last.paths.iter().zip(&paths);
            self.rates = changes
                .map(|(before, after)| RateStats {
                    sent_bit_per_s: rate(before.sent.bytes, after.sent.bytes),
                    received_bit_per_s: rate(before.received.bytes, after.received.bytes),
                })
                .collect();
        }
        self.last = Some(Sample { at: now, paths });
    }

    /// The rate of the path of this number; zero before the second sample.
    pub(super) fn of(&self, path: usize) -> RateStats {
        self.rates.get(path).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Volume;
    use polypath_core::time::Duration;

    #[test]
    fn a_rate_is_the_traffic_since_the_last_sample() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let volume = |bytes| Volume { packets: 0, bytes };
        let mut rates = Rates::default();
        let mut sample = |ms, sent, received| {
            let traffic = Traffic {
                sent: volume(sent),
                received: volume(received),
            };
            rates.sample(at(ms), [traffic].into_iter());
            let rate = rates.of(0);
            (rate.sent_bit_per_s, rate.received_bit_per_s)
        };
        assert_eq!(sample(0, 500, 0), (0, 0));
        assert_eq!(sample(1000, 1500, 250), (8000, 2000));
        // Late by half a second, then in time: the traffic in between is not a burst.
        assert_eq!(sample(2500, 3000, 250), (8000, 0));
        assert_eq!(sample(2900, 9000, 250), (8000, 0));
        assert_eq!(sample(3500, 4000, 250), (8000, 0));
        assert_eq!(rates.of(1), RateStats::default());
    }
}
