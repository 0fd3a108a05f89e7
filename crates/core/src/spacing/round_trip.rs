//! The round-trip time: measured once at set-up, and optionally smoothed from feedback.

use super::config::RttSource;
use super::message::Feedback;
use crate::estimate::Srtt;
use crate::machine::Deadline;
use crate::time::{Duration, Time};

/// The minimum round-trip time in use; with less, feedback would dominate the traffic.
pub const MIN_RTT: Duration = Duration::from_micros(10);
/// The maximum round-trip time in use; with more, feedback would be too late to be useful.
pub const MAX_RTT: Duration = Duration::from_secs(10);
/// The longest time for which a receiver holds the newest packet before its feedback: a feedback
/// follows each packet within a round-trip time.
pub const MAX_HOLD: Duration = Duration(2 * MAX_RTT.0);
/// The interval at which an unanswered ping is repeated (RFC 6298, section 2.1).
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// The round-trip time limited to [`MIN_RTT`] and [`MAX_RTT`].
pub(super) fn bounded(rtt: Duration) -> Duration {
    rtt.clamp(MIN_RTT, MAX_RTT)
}

/// A sender's measurements of the round-trip time.
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    base: Option<Duration>,
    smoothed: Option<Srtt>,
    source: RttSource,
    /// The time of the next ping while the base is unknown; `None` if it is not measured.
    next_ping: Option<Time>,
    /// Whether packets wait for the base.
    is_needed: bool,
}

impl RoundTrip {
    /// A round-trip time with a known base, or one measured from `first_ping` on, or neither.
    pub(super) fn new(base: Option<Duration>, source: RttSource, first_ping: Option<Time>) -> Self {
        Self {
            base: base.map(bounded),
            smoothed: None,
            source,
            next_ping: first_ping,
            is_needed: first_ping.is_some(),
        }
    }

    /// The round-trip time without queueing; `None` until it is measured.
    pub(super) fn base(&self) -> Option<Duration> {
        self.base
    }

    /// Whether packets can be sent without waiting for a measurement.
    pub(super) fn is_settled(&self) -> bool {
        self.base.is_some() || !self.is_needed
    }

    /// The time that is used; `None` until one is measured.
    pub(super) fn value(&self) -> Option<Duration> {
        let smoothed = self.smoothed.map(|s| bounded(s.value()));
        match self.source {
            RttSource::Base => self.base,
            RttSource::Smoothed => smoothed.or(self.base),
        }
    }

    /// Returns whether a ping is due, and schedules the next one.
    pub(super) fn take_ping(&mut self, now: Time) -> bool {
        let due = self.deadline().is_some_and(|ping| ping.at <= now);
        if due {
            self.next_ping = Some(now + PING_INTERVAL);
        }
        due
    }

    /// Makes a ping due if the base is to be measured and is unknown: it can now reach the peer.
    pub(super) fn on_reachable(&mut self, now: Time) {
        if self.base.is_none() {
            self.next_ping = self.next_ping.map(|next| next.min(now));
        }
    }

    /// Sends no ping any more, since the receiver does not answer; packets wait for none.
    pub(super) fn give_up(&mut self) {
        self.next_ping = None;
        self.is_needed = false;
    }

    /// Measures again, since the receiver answers now; packets do not wait for it.
    pub(super) fn resume(&mut self, now: Time) {
        self.next_ping.get_or_insert(now);
    }

    /// Handles the answer to the ping sent at `sent`; only the first answer sets the base.
    pub(super) fn on_pong(&mut self, now: Time, sent: Time) {
        if self.base.is_none() && self.next_ping.is_some() && sent <= now {
            self.base = Some(bounded(now.since(sent)));
        }
    }

    /// Updates the smoothed time from the echoed send time, less the receiver's hold time, and
    /// returns the measurement; `None` if the echoed time is in the future.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: &Feedback) -> Option<Duration> {
        if feedback.echo > now {
            return None;
        }
        let rtt = bounded(now.since(feedback.echo) - feedback.hold);
        match &mut self.smoothed {
            Some(srtt) => srtt.update(rtt),
            None => self.smoothed = Some(Srtt::new(rtt)),
        }
        Some(rtt)
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let next = self.next_ping.filter(|_| self.base.is_none());
        next.map(|at| Deadline { at, why: "ping" })
    }
}
