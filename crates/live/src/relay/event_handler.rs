//! A relay as the drive loop sees it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use serde_json::Value;

use super::path::RelayPath;
use super::stats::{PathStats, Stats, VERSION};
use crate::clock::next_second;
use crate::drive::{EventHandler, Token};
use crate::notify::Supervision;
use crate::snapshot::SnapshotWriter;

/// The paths of a relay.
pub(super) struct RelayEventHandler {
    paths: Vec<RelayPath>,
    /// The writer of the statistics file, if there is one.
    pub(super) stats: Option<SnapshotWriter<Stats>>,
    /// The status for the service manager.
    pub(super) supervision: Supervision,
    /// The start of the next second, when floods are counted and statistics written.
    second_at: Time,
    /// Set by `SIGHUP`.
    pub(super) hangup: Arc<AtomicBool>,
}

impl RelayEventHandler {
    /// A handler that starts at `now`.
    pub(super) fn new(paths: Vec<RelayPath>, now: Time) -> Self {
        Self {
            paths,
            stats: None,
            supervision: Supervision::default(),
            second_at: now,
            hangup: Arc::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Writes the statistics for the last time and returns them.
    pub(super) fn finish(&mut self, now: Time, drive: Value) -> Stats {
        let stats = Stats {
            drive: Some(drive),
            ..self.count(now)
        };
        if let Some(writer) = &mut self.stats {
            writer.finish(stats.clone());
        }
        stats
    }

    fn count(&self, now: Time) -> Stats {
        Stats {
            version: VERSION,
            at: now,
            paths: self.paths.iter().map(RelayPath::stats).collect(),
            drive: None,
        }
    }
}

impl EventHandler for RelayEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        let second = Deadline {
            at: self.second_at,
            why: "statistics",
        };
        let paths = self.paths.iter().map(RelayPath::deadline);
        let own = Deadline::earlier(Some(second), self.supervision.deadline());
        paths.fold(own, Deadline::earlier)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        for path in &mut self.paths {
            path.handle_timeout(now)?;
        }
        self.supervision.notify_alive(now);
        if self.second_at <= now {
            self.second_at = next_second(now);
            if self.hangup.swap(false, Ordering::Relaxed) {
                tracing::warn!(
                    "SIGHUP: a relay does not reload its file; restart it to read the file again"
                );
            }
            self.paths.iter_mut().for_each(RelayPath::guard);
            let stats = self.count(now);
            self.supervision.notify_status(status_line(&stats.paths));
            if let Some(writer) = &self.stats {
                let _ = writer.submit(stats);
            }
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, _: Time, budget: usize) -> io::Result<usize> {
        let index = usize::try_from(token.0).unwrap_or(usize::MAX);
        let path = self.paths.get_mut(index);
        path.map_or(Ok(0), |path| path.receive(budget))
    }
}

/// The state of the relay in one line, for the service manager.
fn status_line(paths: &[PathStats]) -> String {
    let nodes = || paths.iter().flat_map(|path| &path.nodes);
    let connected = nodes().filter(|node| node.established).count();
    format!("{connected} of {} nodes connected", nodes().count())
}
