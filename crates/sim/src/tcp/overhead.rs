//! A random time that a host takes before it sends.

use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};

/// Delays the segments that an ACK releases by a uniform random time, one delay at a time (ns-2's
/// `overhead_`). Fast retransmits and limited transmit do not
/// wait.
///
/// Without it, the packets of flows with equal rates keep their positions in a drop-tail queue, and
/// the same flow has all losses (Floyd and Jacobson 1991, "On traffic phase effects").
#[derive(Clone, Debug)]
pub struct Overhead {
    greatest: Duration,
    stream: Stream,
    pending: Option<Time>,
}

impl Overhead {
    /// Delays of up to `greatest`, drawn from `stream`.
    #[must_use]
    pub const fn new(greatest: Duration, stream: Stream) -> Self {
        Self {
            greatest,
            stream,
            pending: None,
        }
    }

    /// Delays for one of several connections, with its own draws; `None` without a draw if
    /// `greatest` is zero.
    pub fn of_connection(greatest: Duration, stream: &mut Stream) -> Option<Self> {
        let own = |stream: &mut Stream| Seed(stream.bits()).stream("overhead");
        (greatest > Duration::ZERO).then(|| Self::new(greatest, own(stream)))
    }

    /// Draws a delay, unless one is running.
    pub(super) fn put_off(&mut self, now: Time) {
        if self.pending.is_none() {
            let delay = self.greatest.as_secs_f64() * self.stream.uniform();
            // With a delay of 0 the machine would be due at the time at which it was woken.
            let delay = Duration::from_secs_f64(delay).max(Duration(1));
            self.pending = Some(now + delay);
        }
    }

    /// True if a delay ends now.
    pub(super) fn expires(&mut self, now: Time) -> bool {
        self.pending.take_if(|at| *at <= now).is_some()
    }

    pub(super) const fn pending(&self) -> Option<Time> {
        self.pending
    }
}
