//! The schedule of the handshakes that this node initiates, and their timestamps.

use polypath_core::time::{Duration, Time};

use crate::hello::backoff;

/// The time by which an answer to the peer delays this node's own next attempt, once per attempt.
const DEFERRAL: Duration = Duration::from_secs(1);

/// The time of the next attempt.
#[derive(Default)]
pub(super) struct Schedule {
    pub(super) deadline: Time,
    /// Attempts since the last completed handshake.
    pub(super) attempts: u32,
    /// Until then a rekey is left to a handshake of the peer that was answered.
    defer_until: Time,
    /// Whether an answer to the peer has delayed the next attempt.
    is_deferred: bool,
}

/// The wall clock, from which strictly increasing timestamps are taken.
pub(super) struct WallClock {
    /// Its value at time zero, in nanoseconds since 1970.
    origin: u64,
    last: u64,
}

impl Schedule {
    /// The next attempt at `at`, the first since a completed handshake.
    pub(super) fn at(at: Time) -> Self {
        Self {
            deadline: at,
            ..Self::default()
        }
    }

    /// Whether a rekey is left to a handshake of the peer.
    pub(super) fn defers_rekey(&self, now: Time) -> bool {
        now < self.defer_until
    }

    /// The number of earlier attempts, if another one is due; the deadline is then set for the one
    /// after it.
    pub(super) fn take_due(&mut self, now: Time) -> Option<u32> {
        if now < self.deadline {
            return None;
        }
        let attempts = self.attempts;
        self.deadline = now + backoff(attempts);
        self.attempts = attempts.saturating_add(1);
        self.is_deferred = false;
        Some(attempts)
    }

    /// Leaves the next rekey to the peer's handshake, which was answered; if the peer has precedence,
    /// the next attempt as well.
    pub(super) fn defer(&mut self, now: Time, peer_has_precedence: bool) {
        // If each response extended it, a peer that receives none of them would block this node's
        // own handshake.
        if now >= self.defer_until {
            self.defer_until = now + backoff(u32::MAX);
        }
        if peer_has_precedence && !self.is_deferred {
            self.is_deferred = true;
            self.deadline = self.deadline.max(now + DEFERRAL);
        }
    }
}

impl WallClock {
    /// A clock that shows `origin` at time zero, in nanoseconds since 1970.
    pub(super) const fn new(origin: u64) -> Self {
        Self { origin, last: 0 }
    }

    /// A clock that was set back has no effect: the peer would reject its timestamps as replays.
    pub(super) fn set(&mut self, origin: u64) {
        self.origin = self.origin.max(origin);
    }

    /// The time that it shows, in nanoseconds since 1970.
    pub(super) fn read(&self, now: Time) -> u64 {
        self.origin.saturating_add(now.0)
    }

    pub(super) fn next_timestamp(&mut self, now: Time) -> u64 {
        self.last = self.read(now).max(self.last + 1);
        self.last
    }
}
