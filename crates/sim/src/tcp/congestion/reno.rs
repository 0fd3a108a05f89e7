//! Additive increase and multiplicative decrease (RFC 5681), with the rounding of ns-2 2.35.

use polypath_core::time::{Duration, Time};

use super::{CongestionControl, MIN_SSTHRESH, Reduced};

/// One more segment for each window of ACKs; half of the window after a loss.
///
/// The half is taken without rounding, the threshold in whole segments (ns-2 2.35, tcp.cc, with
/// `precisionReduce_`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl CongestionControl for Reno {
    #[inline]
    fn avoid(&mut self, _now: Time, cwnd: f64, _acked: u32) -> f64 {
        cwnd + 1.0 / cwnd
    }

    fn reduce(&mut self, in_use: f64) -> Reduced {
        Reduced {
            cwnd: (in_use / 2.0).max(1.0),
            ssthresh: self.restart(in_use),
        }
    }

    fn restart(&mut self, in_use: f64) -> f64 {
        (in_use / 2.0).floor().max(MIN_SSTHRESH)
    }

    #[inline]
    fn sample(&mut self, _rtt: Duration) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_acks_adds_a_segment_and_a_loss_takes_half() {
        let mut cwnd = 10.0;
        for _ in 0..10 {
            cwnd = Reno.avoid(Time::ZERO, cwnd, 1);
        }
        assert!((10.9..11.0).contains(&cwnd), "{cwnd}");
        let reduced = |cwnd, ssthresh| Reduced { cwnd, ssthresh };
        assert_eq!(Reno.reduce(7.5), reduced(3.75, 3.0));
        assert_eq!(Reno.reduce(1.0), reduced(1.0, 2.0));
    }
}
