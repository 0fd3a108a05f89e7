//! CUBIC (RFC 9438): a window that grows with the cube of time around the last known maximum.

use polypath_core::cubic::{CUBIC_ALPHA, CUBIC_BETA, CUBIC_C, CubicCurve, cubic_maximum};
use polypath_core::time::{Duration, Time};

use super::{CongestionControl, MIN_SSTHRESH, Reduced};

/// The maximum growth of the window in a round trip, as a factor (RFC 9438, 4.2).
const MAX_GROWTH: f64 = 1.5;

/// The state of CUBIC; windows in segments, times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// The window just before the last reduction, or less by fast convergence; `None` before the
    /// first and after a timeout.
    w_max: Option<f64>,
    /// The window just before the last reduction.
    prior: f64,
    epoch: Option<Epoch>,
    /// The smoothed round-trip time.
    srtt: f64,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Time,
    curve: CubicCurve,
    /// The estimated window of Reno.
    w_est: f64,
}

impl Epoch {
    fn new(now: Time, cwnd: f64, w_max: Option<f64>) -> Self {
        Self {
            began: now,
            curve: CubicCurve::new(cwnd, w_max.unwrap_or(cwnd), CUBIC_C),
            w_est: cwnd,
        }
    }
}

impl CongestionControl for Cubic {
    fn avoid(&mut self, now: Time, cwnd: f64, acked: u32) -> f64 {
        let w_max = self.w_max;
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(now, cwnd, w_max));
        let alpha = if epoch.w_est < self.prior {
            CUBIC_ALPHA
        } else {
            1.0
        };
        epoch.w_est += alpha * f64::from(acked) / cwnd;
        let t = now.since(epoch.began).as_secs_f64();
        if epoch.curve.at(t) < epoch.w_est {
            return epoch.w_est.max(cwnd);
        }
        let target = epoch.curve.at(t + self.srtt);
        cwnd + (target.clamp(cwnd, MAX_GROWTH * cwnd) - cwnd) / cwnd
    }

    fn reduce(&mut self, in_use: f64) -> Reduced {
        self.w_max = Some(cubic_maximum(in_use, self.w_max));
        self.prior = in_use;
        self.epoch = None;
        let left = (in_use * CUBIC_BETA).max(MIN_SSTHRESH);
        Reduced {
            cwnd: left,
            ssthresh: left,
        }
    }

    /// The first stage after a timeout begins at its own maximum (RFC 9438, 4.8).
    fn restart(&mut self, in_use: f64) -> f64 {
        self.w_max = None;
        self.prior = in_use;
        self.epoch = None;
        (in_use * CUBIC_BETA).max(MIN_SSTHRESH)
    }

    fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        self.srtt = if self.srtt > 0.0 {
            self.srtt + (rtt - self.srtt) / 8.0
        } else {
            rtt
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Takes the ACKs of `rounds` round trips of 100 ms, evenly spread; returns the window at the
    /// end of each.
    fn grow(cubic: &mut Cubic, mut cwnd: f64, rounds: u64) -> Vec<f64> {
        let mut windows = Vec::new();
        for round in 0..rounds {
            let acks = cwnd.floor();
            let mut ack = 0.0;
            while ack < acks {
                let within = Duration::from_secs_f64(RTT.as_secs_f64() * ack / acks);
                cwnd = cubic.avoid(Time::ZERO + RTT * round + within, cwnd, 1);
                ack += 1.0;
            }
            windows.push(cwnd);
        }
        windows
    }

    #[test]
    fn follows_the_cubic_function_through_its_plateau() {
        let mut cubic = Cubic::default();
        cubic.sample(RTT);
        let reduced = cubic.reduce(1000.0);
        assert!((reduced.cwnd - 700.0).abs() < 1e-9);
        // K = cbrt(1000 * 0.3 / 0.4) = 9.086 s (RFC 9438, equation 2).
        let k = 9.0856;
        let windows = grow(&mut cubic, reduced.cwnd, 150);
        for (round, window) in windows.iter().enumerate().skip(5) {
            let t = 0.1 * (round as f64 + 1.0) - k;
            let expected = 0.4 * t * t * t + 1000.0;
            let error = (window - expected).abs() / expected;
            assert!(error < 0.01, "round {round}: {window}, formula {expected}");
        }
    }

    #[test]
    fn is_reno_with_another_slope_where_reno_is_faster() {
        let mut cubic = Cubic::default();
        cubic.sample(RTT);
        let reduced = cubic.reduce(10.0);
        let windows = grow(&mut cubic, reduced.cwnd, 12);
        // The slope is 3 (1 - 0.7) / (1 + 0.7) = 0.529 segments a round trip up to the prior
        // window. A window of 7.5 has 7 ACKs, so that a little less comes out.
        let slope = (windows[4] - reduced.cwnd) / 5.0;
        assert!((0.47..0.53).contains(&slope), "{slope}");
        let later = windows[11] - windows[10];
        assert!(later > 0.8, "one a round trip beyond it: {windows:?}");
    }

    #[test]
    fn gives_way_below_its_last_maximum_and_forgets_it_after_a_timeout() {
        let mut cubic = Cubic::default();
        cubic.reduce(100.0);
        assert_eq!(cubic.w_max, Some(100.0));
        cubic.reduce(80.0);
        assert_eq!(cubic.w_max, Some(68.0));
        assert!((cubic.restart(50.0) - 35.0).abs() < 1e-9);
        assert_eq!(cubic.w_max, None);
    }

    #[test]
    fn grows_by_half_a_round_trip_at_most() {
        let mut cubic = Cubic::default();
        cubic.sample(Duration::from_secs(30));
        cubic.reduce(20.0);
        let windows = grow(&mut cubic, 14.0, 1);
        assert!(windows[0] <= 21.0 + 0.5, "{windows:?}");
    }
}
