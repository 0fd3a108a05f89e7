//! A relay as the drive loop sees it.

use std::io;

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use serde_json::Value;

use super::path::Path;
use super::{Stats, VERSION};
use crate::drive::{Station, Token};
use crate::node::next_second;
use crate::stats::StatsWriter;

/// The paths of a relay.
pub(super) struct RelayStation {
    paths: Vec<Path>,
    stats: Option<StatsWriter<Stats>>,
    /// When statistics are written next, if they are.
    report_at: Option<Time>,
}

impl RelayStation {
    /// A station at `now`.
    pub(super) fn new(paths: Vec<Path>, stats: Option<StatsWriter<Stats>>, now: Time) -> Self {
        Self {
            paths,
            report_at: stats.as_ref().map(|_| now),
            stats,
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

impl Station for RelayStation {
    fn deadline(&self) -> Option<Deadline> {
        let report = self.report_at.map(|at| Deadline {
            at,
            why: "statistics",
        });
        let paths = self.paths.iter().map(Path::deadline);
        paths.fold(report, Deadline::earlier)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        for path in &mut self.paths {
            path.expire(now)?;
        }
        if self.report_at.is_some_and(|at| at <= now) {
            self.report_at = Some(next_second(now));
            if let Some(writer) = &self.stats {
                writer.take(self.count(now));
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
