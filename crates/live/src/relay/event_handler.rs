//! A relay as the drive loop sees it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use serde_json::Value;

use super::path::Path;
use super::{PathStats, Stats, VERSION};
use crate::drive::{EventHandler, Token};
use crate::node::next_second;
use crate::notify::Supervision;
use crate::stats::StatsWriter;

/// The paths of a relay.
pub(super) struct RelayEventHandler {
    paths: Vec<Path>,
    stats: Option<StatsWriter<Stats>>,
    /// What the service manager hears.
    pub(super) supervision: Supervision,
    /// When strangers' datagrams are counted next, and statistics written.
    look_at: Time,
    /// Set where somebody asks for another file, as one may of a node.
    pub(super) hangup: Arc<AtomicBool>,
}

impl RelayEventHandler {
    /// A handler at `now`.
    pub(super) fn new(paths: Vec<Path>, stats: Option<StatsWriter<Stats>>, now: Time) -> Self {
        Self {
            paths,
            stats,
            supervision: Supervision::default(),
            look_at: now,
            hangup: Arc::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Writes the file for the last time.
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
            paths: self.paths.iter().map(Path::stats).collect(),
            drive: None,
        }
    }
}

impl EventHandler for RelayEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        let look = Deadline {
            at: self.look_at,
            why: "the second is over",
        };
        let paths = self.paths.iter().map(Path::deadline);
        let own = Deadline::earlier(Some(look), self.supervision.deadline());
        paths.fold(own, Deadline::earlier)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        for path in &mut self.paths {
            path.expire(now)?;
        }
        self.supervision.notify_alive(now);
        if self.look_at <= now {
            self.look_at = next_second(now);
            if self.hangup.swap(false, Ordering::Relaxed) {
                tracing::warn!(
                    "SIGHUP: a relay goes on with the file that it has read; restart it for another"
                );
            }
            self.paths.iter_mut().for_each(Path::guard);
            let stats = self.count(now);
            self.supervision.notify_status(summary(&stats.paths));
            if let Some(writer) = &self.stats {
                writer.take(stats);
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

/// How the relay does, for whoever lists services.
fn summary(paths: &[PathStats]) -> String {
    let nodes = || paths.iter().flat_map(|path| &path.nodes);
    let here = nodes().filter(|node| node.established).count();
    format!("{here} of {} nodes here", nodes().count())
}
