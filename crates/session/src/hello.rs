//! Liveness of the peer: on each path after a handshake, and in response to frames.
//!
//! After a handshake each side sends hellos on each path, with exponential backoff, until it
//! receives an authentic datagram there. The hellos confirm the keys to the peer and reveal this
//! node's address on each path. When frames were sent and nothing authentic was received for
//! [`SilenceTimeouts::hello`], hellos are sent on all paths again; after
//! [`SilenceTimeouts::handshake`] the keys are assumed lost.

use polypath_core::frame::PathId;
use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

/// The longest interval between two attempts of anything that is retried until it is answered.
pub const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The interval after the given number of attempts: it doubles from 0.5 s up to
/// [`MAX_RETRY_INTERVAL`].
pub(crate) fn backoff(attempts: u32) -> Duration {
    Duration::from_millis(500 << attempts.min(4)).min(MAX_RETRY_INTERVAL)
}

/// The time without an authentic datagram of the peer, from the first unanswered frame, until a
/// handshake begins.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
/// The same for a relay, which loses its keys when it restarts, and all packets until it has new
/// ones.
pub const RELAY_SILENCE_TIMEOUT: Duration = Duration::from_millis(1500);

/// The times without an authentic datagram, from the first unanswered frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SilenceTimeouts {
    /// Until hellos are sent.
    pub(crate) hello: Duration,
    /// Until a handshake begins.
    pub(crate) handshake: Duration,
}

impl SilenceTimeouts {
    /// For a peer whose applications may be silent for seconds.
    pub(crate) const PEER: Self = Self {
        hello: Duration::from_secs(5),
        handshake: SILENCE_TIMEOUT,
    };
    /// For a relay.
    pub(crate) const RELAY: Self = Self {
        hello: Duration::from_millis(500),
        handshake: RELAY_SILENCE_TIMEOUT,
    };
}

/// The actions that are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Hellos on the unconfirmed paths.
    pub(crate) hello: bool,
    /// A handshake, because the peer does not answer.
    pub(crate) handshake: bool,
}

/// The paths confirmed since the handshake, and the timers for hellos and silence.
#[derive(Debug)]
pub(crate) struct Hellos {
    timeouts: SilenceTimeouts,
    /// For each path, whether an authentic datagram was received since the hellos began.
    confirmed: Vec<bool>,
    next: Option<NextHello>,
    /// The time of the first frame sent since the last authentic datagram.
    unanswered_since: Option<Time>,
    /// Whether hellos were sent because of `unanswered_since`.
    is_probing: bool,
}

/// The next hello on the unconfirmed paths.
#[derive(Clone, Copy, Debug)]
struct NextHello {
    at: Time,
    /// The number of hellos before it.
    attempts: u32,
}

impl NextHello {
    const fn first(at: Time) -> Self {
        Self { at, attempts: 0 }
    }
}

impl Hellos {
    pub(crate) fn new(paths: u8) -> Self {
        Self {
            timeouts: SilenceTimeouts::PEER,
            confirmed: vec![true; usize::from(paths)],
            next: None,
            unanswered_since: None,
            is_probing: false,
        }
    }

    /// Sets the timeouts of silence.
    pub(crate) fn set_timeouts(&mut self, timeouts: SilenceTimeouts) {
        self.timeouts = timeouts;
    }

    /// Makes hellos due on every path, as new keys require.
    pub(crate) fn restart(&mut self, now: Time) {
        self.stop();
        self.confirmed.fill(false);
        self.next = Some(NextHello::first(now));
    }

    pub(crate) fn on_sent(&mut self, now: Time) {
        self.unanswered_since.get_or_insert(now);
    }

    pub(crate) fn on_received(&mut self, path: PathId) {
        self.unanswered_since = None;
        self.is_probing = false;
        let Some(confirmed) = self.confirmed.get_mut(path.index()) else {
            return;
        };
        if !*confirmed {
            *confirmed = true;
            if self.confirmed.iter().all(|confirmed| *confirmed) {
                self.next = None;
            }
        }
    }

    /// Stops all timers until a frame is sent or keys are renewed.
    pub(crate) fn stop(&mut self) {
        self.unanswered_since = None;
        self.is_probing = false;
        self.next = None;
    }

    /// The paths without an authentic datagram since the hellos began.
    pub(crate) fn unconfirmed(&self) -> impl Iterator<Item = PathId> {
        (0_u8..)
            .map(PathId)
            .zip(&self.confirmed)
            .filter(|(_, confirmed)| !**confirmed)
            .map(|(path, _)| path)
    }

    /// Returns what is due at `now`, and sets the timers for what follows.
    pub(crate) fn take_due(&mut self, now: Time) -> Due {
        let mut due = Due::default();
        if let Some(since) = self.unanswered_since {
            if now >= since + self.timeouts.handshake {
                self.unanswered_since = None;
                self.is_probing = false;
                due.handshake = true;
            } else if !self.is_probing && now >= since + self.timeouts.hello {
                self.is_probing = true;
                self.confirmed.fill(false);
                self.next = Some(NextHello::first(now));
            }
        }
        if let Some(NextHello { at, attempts }) = self.next
            && now >= at
        {
            self.next = Some(NextHello {
                at: now + backoff(attempts),
                attempts: attempts.saturating_add(1),
            });
            due.hello = true;
        }
        due
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let silence = self.unanswered_since.map(|since| Deadline {
            at: since
                + if self.is_probing {
                    self.timeouts.handshake
                } else {
                    self.timeouts.hello
                },
            why: "no answer from the peer",
        });
        let hello = self.next.map(|next| Deadline {
            at: next.at,
            why: "hello on an unconfirmed path",
        });
        Deadline::earlier(silence, hello)
    }
}
