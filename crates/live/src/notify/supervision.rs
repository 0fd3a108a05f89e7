//! Notifications to the service manager from a node or relay that runs under it.

use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

use super::Notifier;

/// A process under a service manager; dropping this notifies the manager that it stops.
#[derive(Debug, Default)]
pub(crate) struct Supervision {
    notifier: Notifier,
    /// The next watchdog notification, if the manager expects them.
    watchdog_at: Option<Time>,
    /// The status line that was sent last.
    status: String,
}

impl Supervision {
    /// Sends watchdog notifications from `now` on, if the manager expects them.
    pub(crate) fn new(notifier: Notifier, now: Time) -> Self {
        Self {
            watchdog_at: notifier.watchdog().map(|_| now),
            notifier,
            status: String::new(),
        }
    }

    /// The next watchdog notification.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.watchdog_at.map(|at| Deadline {
            at,
            why: "watchdog",
        })
    }

    /// Notifies that packets are carried from now on.
    pub(crate) fn notify_ready(&self) {
        self.notifier.ready();
    }

    /// Sends a watchdog notification if one is due: two in each watchdog interval.
    pub(crate) fn notify_alive(&mut self, now: Time) {
        if self.watchdog_at.is_some_and(|at| at <= now)
            && let Some(interval) = self.notifier.watchdog()
        {
            self.notifier.alive();
            self.watchdog_at = Some(now + interval.scale(1, 2).max(Duration::from_millis(1)));
        }
    }

    /// Sends a status line unless it was sent last.
    pub(crate) fn notify_status(&mut self, line: String) {
        if line != self.status {
            self.notifier.status(&line);
            self.status = line;
        }
    }
}

impl Drop for Supervision {
    fn drop(&mut self) {
        self.notifier.stopping();
    }
}
