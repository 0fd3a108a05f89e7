//! Congestion control: the growth and reduction of a congestion window.

mod bbr;
mod cubic;
mod reno;

use polypath_core::time::{Duration, Time};
use polypath_scenario::TcpVariant;

pub use bbr::{Bbr, DeliverySample};
pub use cubic::Cubic;
pub use reno::Reno;

/// The minimum slow start threshold after a loss, in segments (RFC 5681, equation 4).
pub(super) const MIN_SSTHRESH: f64 = 2.0;

/// The window after a loss or a congestion mark, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduced {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow start threshold.
    pub ssthresh: f64,
}

/// Growth of a window in congestion avoidance, and its reduction; slow start is the same for all.
///
/// `in_use` is the limit of outstanding segments: the congestion window, or the receiver window if
/// that is smaller.
pub trait CongestionControl {
    /// The congestion window after an ACK for `acked` new segments.
    fn avoid(&mut self, now: Time, cwnd: f64, acked: u32) -> f64;

    /// Reacts to a fast retransmit or a mark.
    fn reduce(&mut self, in_use: f64) -> Reduced;

    /// Reacts to a timeout; returns the threshold of the slow start that follows.
    fn restart(&mut self, in_use: f64) -> f64;

    /// Processes a measured round-trip time.
    fn sample(&mut self, rtt: Duration);
}

/// A congestion control of any kind; the larger ones are boxed, so that they cost the others no
/// memory.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// RFC 5681.
    Reno(Reno),
    /// RFC 9438.
    Cubic(Box<Cubic>),
    /// A model of the path, which sets the window by itself.
    Bbr(Box<Bbr>),
}

impl Congestion {
    /// The congestion control of a variant.
    #[must_use]
    pub fn new(variant: TcpVariant) -> Self {
        match variant {
            TcpVariant::Tahoe | TcpVariant::Reno | TcpVariant::NewReno | TcpVariant::Sack => {
                Self::Reno(Reno)
            }
            TcpVariant::Cubic => Self::Cubic(Box::default()),
            TcpVariant::Bbr => Self::Bbr(Box::default()),
        }
    }
}

impl CongestionControl for Congestion {
    #[inline]
    fn avoid(&mut self, now: Time, cwnd: f64, acked: u32) -> f64 {
        match self {
            Self::Reno(reno) => reno.avoid(now, cwnd, acked),
            Self::Cubic(cubic) => cubic.avoid(now, cwnd, acked),
            Self::Bbr(bbr) => bbr.avoid(now, cwnd, acked),
        }
    }

    fn reduce(&mut self, in_use: f64) -> Reduced {
        match self {
            Self::Reno(reno) => reno.reduce(in_use),
            Self::Cubic(cubic) => cubic.reduce(in_use),
            Self::Bbr(bbr) => bbr.reduce(in_use),
        }
    }

    fn restart(&mut self, in_use: f64) -> f64 {
        match self {
            Self::Reno(reno) => reno.restart(in_use),
            Self::Cubic(cubic) => cubic.restart(in_use),
            Self::Bbr(bbr) => bbr.restart(in_use),
        }
    }

    #[inline]
    fn sample(&mut self, rtt: Duration) {
        match self {
            Self::Reno(reno) => reno.sample(rtt),
            Self::Cubic(cubic) => cubic.sample(rtt),
            Self::Bbr(bbr) => bbr.sample(rtt),
        }
    }
}
