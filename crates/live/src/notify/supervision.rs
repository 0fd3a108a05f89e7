//! What the service manager hears of a node or a relay, from its first packet to its end.

use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

use super::Notifier;

/// A station under a service manager, which hears that it ends when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Supervision {
    notifier: Notifier,
    /// When the manager is to hear next that the station lives.
    alive_at: Option<Time>,
    /// How the station does, as the manager was told last.
    told: String,
}

impl Supervision {
    /// Signs of life begin at `now`, where the manager waits for them.
    pub(crate) fn new(notifier: Notifier, now: Time) -> Self {
        Self {
            alive_at: notifier.watchdog().map(|_| now),
            notifier,
            told: String::new(),
        }
    }

    /// When the manager is to hear from the handler.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.alive_at.map(|at| Deadline {
            at,
            why: "sign of life",
        })
    }

    /// Tells that packets are carried from now on.
    pub(crate) fn tell_ready(&self) {
        self.notifier.ready();
    }

    /// Tells that the station lives, twice in the time after which it would be restarted.
    pub(crate) fn tell_alive(&mut self, now: Time) {
        if self.alive_at.is_some_and(|at| at <= now)
            && let Some(span) = self.notifier.watchdog()
        {
            self.notifier.alive();
            self.alive_at = Some(now + span.scale(1, 2).max(Duration::from_millis(1)));
        }
    }

    /// Tells on one line how the station does, unless that was told last.
    pub(crate) fn tell_status(&mut self, line: String) {
        if line != self.told {
            self.notifier.status(&line);
            self.told = line;
        }
    }
}

impl Drop for Supervision {
    fn drop(&mut self) {
        self.notifier.stopping();
    }
}
