//! The round-trip time: measured once at set-up, smoothed from feedback if wanted.

use super::config::RttSource;
use super::message::Feedback;
use crate::estimate::Srtt;
use crate::machine::Deadline;
use crate::time::{Duration, Time};

/// The least round-trip time that is used: below it feedback would be most of the traffic.
pub const MIN_RTT: Duration = Duration::from_micros(10);
/// The greatest round-trip time that is used: above it feedback would come too late to be any.
pub const MAX_RTT: Duration = Duration::from_secs(10);
/// After how long a ping is repeated (RFC 6298, 2.1).
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// A round-trip time within what feedback makes sense for: 10 us to 10 s.
pub(super) fn bounded(rtt: Duration) -> Duration {
    rtt.clamp(MIN_RTT, MAX_RTT)
}

/// What a sender knows of the round-trip time.
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    base: Option<Duration>,
    smoothed: Option<Srtt>,
    source: RttSource,
    /// When a ping is due while the base is not known; `None` where nobody asks for it.
    next_ping: Option<Time>,
}

impl RoundTrip {
    /// Known from the start, or measured from `first_ping` on, or neither.
    pub(super) fn new(base: Option<Duration>, source: RttSource, first_ping: Option<Time>) -> Self {
        Self {
            base: base.map(bounded),
            smoothed: None,
            source,
            next_ping: first_ping,
        }
    }

    /// The time without queues; `None` until it is measured.
    pub(super) fn base(&self) -> Option<Duration> {
        self.base
    }

    /// Whether packets need not wait for a measurement.
    pub(super) fn is_settled(&self) -> bool {
        self.base.is_some() || self.next_ping.is_none()
    }

    /// The time that is used; `None` until one is measured.
    pub(super) fn value(&self) -> Option<Duration> {
        let smoothed = self.smoothed.map(|s| bounded(s.value()));
        match self.source {
            RttSource::Base => self.base,
            RttSource::Smoothed => smoothed.or(self.base),
        }
    }

    /// Whether a ping is due; the next one is a second later.
    pub(super) fn take_ping(&mut self, now: Time) -> bool {
        let due = self.deadline().is_some_and(|ping| ping.at <= now);
        if due {
            self.next_ping = Some(now + PING_INTERVAL);
        }
        due
    }

    /// The answer to the ping sent at `sent`; the first one counts.
    pub(super) fn on_pong(&mut self, now: Time, sent: Time) {
        if !self.is_settled() && sent <= now {
            self.base = Some(bounded(now.since(sent)));
        }
    }

    /// Measures with the time stamp that the feedback echoes, less what the receiver held it.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        if feedback.echo > now {
            return;
        }
        let rtt = bounded(now.since(feedback.echo) - feedback.hold);
        match &mut self.smoothed {
            Some(srtt) => srtt.update(rtt),
            None => self.smoothed = Some(Srtt::new(rtt)),
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let next = self.next_ping.filter(|_| self.base.is_none());
        next.map(|at| Deadline { at, why: "ping" })
    }
}
