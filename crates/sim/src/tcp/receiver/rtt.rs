//! The receiver's estimate of the round-trip time, without timestamps.

use polypath_core::time::{Duration, Time};

/// Measures the time in which one receiver window arrives in order.
///
/// Data up to the advertised edge can have been sent before the ACK that advertised it came back
/// only if the window was not yet used: a window takes a round trip at least, and exactly one if
/// the receiver window limits the sender. The estimate is the minimum of these times, as in Linux
/// (`tcp_rcv_rtt_measure`); it is too long while the congestion window is the smaller one. No
/// window is timed from an ACK that leaves the edge where it was: a window that shrank holds data
/// of earlier ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowTimer {
    /// The start of the current measurement, and the segment that ends it.
    present: Option<(Time, u32)>,
    least: Option<Duration>,
    /// The number of windows timed.
    count: u32,
}

impl WindowTimer {
    /// Records that all segments before `next` have arrived, and the right edge `edge` of their
    /// ACK, if that is new.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, next: u32, edge: Option<u32>) {
        if let Some((since, edge)) = self.present {
            if next < edge {
                return;
            }
            let took = now.since(since);
            self.least = Some(self.least.map_or(took, |least| least.min(took)));
            self.count += 1;
        }
        self.present = edge.map(|edge| (now, edge));
    }

    pub(super) const fn rtt(&self) -> Option<Duration> {
        self.least
    }

    pub(super) const fn timed(&self) -> (u32, Option<Time>) {
        let since = match self.present {
            Some((since, _)) => Some(since),
            None => None,
        };
        (self.count, since)
    }
}
