//! How much each path carried in the last second.

use polypath_core::time::Time;

use crate::stats::{RateStats, Volume};

/// Least time between two samples, in nanoseconds: after a late one the next may come at once.
const LEAST: u64 = 500_000_000;

/// What was sent and received on each path by the last sample, and in the time before it.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: Option<(Time, Vec<(u64, u64)>)>,
    rates: Vec<RateStats>,
}

impl Rates {
    /// Takes what was sent and received on each path by `now`.
    pub(super) fn sample(&mut self, now: Time, volumes: impl Iterator<Item = (Volume, Volume)>) {
        let bytes: Vec<(u64, u64)> = volumes
            .map(|(sent, received)| (sent.bytes, received.bytes))
            .collect();
        if let Some((at, before)) = &self.last {
            let span = now.since(*at).as_nanos();
            if span < LEAST {
                return;
            }
            let rate = |before: u64, after: u64| {
                let bits = u128::from(after.saturating_sub(before)) * 8;
                u64::try_from(bits * 1_000_000_000 / u128::from(span)).unwrap_or(u64::MAX)
            };
            let both = before.iter().zip(&bytes);
            self.rates = both
                .map(|(before, after)| RateStats {
                    sent_bit_per_s: rate(before.0, after.0),
                    received_bit_per_s: rate(before.1, after.1),
                })
                .collect();
        }
        self.last = Some((now, bytes));
    }

    /// Of the path of this number; zero before the second sample.
    pub(super) fn of(&self, path: usize) -> RateStats {
        self.rates.get(path).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::time::Duration;

    #[test]
    fn a_rate_is_what_came_since_the_last_sample() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let volume = |bytes| Volume { packets: 0, bytes };
        let mut rates = Rates::default();
        let mut sample = |ms, sent, received| {
            rates.sample(at(ms), [(volume(sent), volume(received))].into_iter());
            let rate = rates.of(0);
            (rate.sent_bit_per_s, rate.received_bit_per_s)
        };
        assert_eq!(sample(0, 500, 0), (0, 0));
        assert_eq!(sample(1000, 1500, 250), (8000, 2000));
        // Late by half a second, and then in time: what came meanwhile is not a burst.
        assert_eq!(sample(2500, 3000, 250), (8000, 0));
        assert_eq!(sample(2900, 9000, 250), (8000, 0));
        assert_eq!(sample(3500, 4000, 250), (8000, 0));
        assert_eq!(rates.of(1), RateStats::default());
    }
}
