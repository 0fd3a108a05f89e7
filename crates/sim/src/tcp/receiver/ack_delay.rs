//! Delayed ACKs (RFC 5681, 4.2; RFC 1122, 4.2.3.2).

use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

/// Delays the ACK of the first of each two segments in order, for a limited time.
///
/// As in ns-2 (`TCPSink/DelAck`), at most one segment waits, and the next segment of any kind sends
/// its ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckDelay {
    interval: Option<Duration>,
    expires: Option<Time>,
}

impl AckDelay {
    /// Delays by at most `interval`; `None` for no delay.
    pub(super) const fn new(interval: Option<Duration>) -> Self {
        Self {
            interval,
            expires: None,
        }
    }

    /// Whether the ACK of the segment that arrived waits; `may_wait` if the segment is in order.
    #[inline]
    pub(super) fn holds_back(&mut self, now: Time, may_wait: bool) -> bool {
        let Some(interval) = self.interval else {
            return false;
        };
        let waits = may_wait && self.expires.is_none();
        self.expires = waits.then(|| now + interval);
        waits
    }

    /// Whether a delayed ACK must be sent now.
    pub(super) fn expires(&mut self, now: Time) -> bool {
        self.expires.take_if(|at| *at <= now).is_some()
    }

    pub(super) fn cancel(&mut self) {
        self.expires = None;
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let at = self.expires?;
        Some(Deadline {
            at,
            why: "delayed ACK",
        })
    }
}
