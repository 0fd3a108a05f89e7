//! Whether the peer is heard: on each path after a handshake, and in answer to what is sent.
//!
//! After a handshake each end says hello on each path until it hears from the peer there, with growing
//! intervals; so the peer confirms the keys and learns from where each path comes. When frames were sent
//! and nothing came back, hellos go out on all paths; still nothing, and the keys are taken for lost.

use polypath_core::frame::PathId;
use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

/// The longest time between two tries of anything that waits for an answer.
pub const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Intervals between tries of anything that waits for an answer: doubling, from half a second to 5 s.
pub(crate) fn backoff(tries: u32) -> Duration {
    Duration::from_millis(500 << tries.min(4)).min(MAX_RETRY_INTERVAL)
}

/// Silence after which hellos ask for an answer.
const ASK_AFTER: Duration = Duration::from_secs(5);
/// Silence, counted from the first frame that nothing answers, after which a handshake begins.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// What is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Hellos on the paths that were not heard.
    pub(crate) hello: bool,
    /// A handshake: the peer does not answer.
    pub(crate) handshake: bool,
}

/// What was heard since the handshake.
#[derive(Debug)]
pub(crate) struct Hellos {
    heard: Vec<bool>,
    /// The next hello to paths not heard, and how many went before.
    again: Option<(Time, u32)>,
    /// When the first frame was sent since anything was heard.
    unanswered: Option<Time>,
    asked: bool,
}

impl Hellos {
    pub(crate) fn new(paths: u8) -> Self {
        Self {
            heard: vec![true; usize::from(paths)],
            again: None,
            unanswered: None,
            asked: false,
        }
    }

    /// New keys: hello is due on every path.
    pub(crate) fn restart(&mut self, now: Time) {
        self.heard.fill(false);
        self.again = Some((now, 0));
        self.unanswered = None;
        self.asked = false;
    }

    pub(crate) fn on_sent(&mut self, now: Time) {
        self.unanswered.get_or_insert(now);
    }

    pub(crate) fn on_heard(&mut self, path: PathId) {
        self.unanswered = None;
        self.asked = false;
        let Some(heard) = self.heard.get_mut(path.index()) else {
            return;
        };
        if !*heard {
            *heard = true;
            if self.heard.iter().all(|heard| *heard) {
                self.again = None;
            }
        }
    }

    /// Asks no more until something is sent or keys are new.
    pub(crate) fn rest(&mut self) {
        self.unanswered = None;
        self.asked = false;
        self.again = None;
    }

    /// The paths that wait for a hello.
    pub(crate) fn unheard(&self) -> impl Iterator<Item = PathId> {
        (0_u8..)
            .map(PathId)
            .zip(&self.heard)
            .filter(|(_, heard)| !**heard)
            .map(|(path, _)| path)
    }

    /// What is due at `now`, with the clock set anew.
    pub(crate) fn take_due(&mut self, now: Time) -> Due {
        let mut due = Due::default();
        if let Some(since) = self.unanswered {
            if now >= since + SILENCE_TIMEOUT {
                self.unanswered = None;
                self.asked = false;
                due.handshake = true;
            } else if !self.asked && now >= since + ASK_AFTER {
                self.asked = true;
                self.heard.fill(false);
                self.again = Some((now, 0));
            }
        }
        if let Some((at, tries)) = self.again
            && now >= at
        {
            self.again = Some((now + backoff(tries), tries.saturating_add(1)));
            due.hello = true;
        }
        due
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let silence = self.unanswered.map(|since| Deadline {
            at: since
                + if self.asked {
                    SILENCE_TIMEOUT
                } else {
                    ASK_AFTER
                },
            why: "no answer from the peer",
        });
        let again = self.again.map(|(at, _)| Deadline {
            at,
            why: "hello on a path not heard",
        });
        Deadline::earlier(silence, again)
    }
}
