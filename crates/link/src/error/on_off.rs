//! Two-state Markov loss: everything is lost while the link is down.

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::ErrorModel;
use crate::config::OnOff;

/// A continuous-time process that begins up; advanced only when a packet asks for its state.
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

/// An exponential sojourn of at least one nanosecond, so that the process always advances.
fn sojourn(stream: &mut Stream, mean: Duration) -> Duration {
    Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())).max(Duration(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    #[test]
    fn is_available_for_its_share_of_the_time() {
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
    fn asking_more_often_changes_nothing() {
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
