//! Random outages: a two-state Markov process in time; all packets are lost while the link is down.

use alloc::vec::Vec;

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::ErrorModel;
use crate::config_error::{ConfigError, lasting};

/// A two-state Markov process that starts up, with exponential sojourn times; all packets are lost
/// while it is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct OnOff {
    /// The mean time that the link stays up.
    pub up: Duration,
    /// The mean time that the link stays down.
    pub down: Duration,
}

impl OnOff {
    /// The problems of the configuration.
    #[must_use]
    pub fn problems(&self) -> Vec<ConfigError> {
        let up = lasting("onoff.up", self.up);
        up.into_iter()
            .chain(lasting("onoff.down", self.down))
            .collect()
    }
}

/// The state of the process, advanced when a packet queries it.
#[derive(Clone, Debug)]
pub(crate) struct OnOffProcess {
    mean: OnOff,
    up: bool,
    changes: Time,
    stream: Stream,
}

impl OnOffProcess {
    pub(crate) fn new(mean: OnOff, mut stream: Stream) -> Self {
        let changes = Time::ZERO + sojourn(&mut stream, mean.up);
        Self {
            mean,
            up: true,
            changes,
            stream,
        }
    }
}

impl ErrorModel for OnOffProcess {
    fn loses(&mut self, at: Time) -> bool {
        while self.changes <= at {
            self.up = !self.up;
            let mean = if self.up {
                self.mean.up
            } else {
                self.mean.down
            };
            self.changes += sojourn(&mut self.stream, mean);
        }
        !self.up
    }
}

/// Draws an exponential sojourn time of at least one nanosecond, so that the process always
/// advances.
pub(super) fn sojourn(stream: &mut Stream, mean: Duration) -> Duration {
    Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())).max(Duration(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    #[test]
    fn is_up_for_the_expected_share_of_the_time() {
        let mean = OnOff {
            up: Duration::from_millis(300),
            down: Duration::from_millis(100),
        };
        let mut process = OnOffProcess::new(mean, Seed(9).stream("onoff"));
        let (step, n) = (Duration::from_millis(1), 4_000_000_u32);
        let mut now = Time::ZERO;
        let mut up = 0_u32;
        for _ in 0..n {
            now += step;
            up += u32::from(!process.loses(now));
        }
        // The variance of the time average is 2 p (1 - p) tau / T, 1 / tau = 1 / up + 1 / down.
        let (p, tau, span) = (0.75, 0.075, 4000.0);
        let bound = 4.0 * f64::sqrt(2.0 * p * (1.0 - p) * tau / span);
        let availability = f64::from(up) / f64::from(n);
        assert!((availability - p).abs() < bound, "{availability}");
    }

    #[test]
    fn more_frequent_queries_change_nothing() {
        let mean = OnOff {
            up: Duration::from_millis(30),
            down: Duration::from_millis(20),
        };
        let mut rarely = OnOffProcess::new(mean, Seed(2).stream("onoff"));
        let mut often = OnOffProcess::new(mean, Seed(2).stream("onoff"));
        for ms in 0..2000 {
            let state = often.loses(Time(ms * 1_000_000));
            if ms % 7 == 0 {
                assert_eq!(state, rarely.loses(Time(ms * 1_000_000)));
            }
        }
    }
}
