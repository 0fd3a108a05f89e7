//! What a node finds out of how long packets cross its paths.

use polypath_core::frame::PathId;
use polypath_core::pmtu::{MtuState, PathMtu, STEP};

use super::Run;
use crate::parcel::End;
use crate::violation::Violation;

impl Run<'_> {
    /// No node takes a packet to cross a path that is longer than what does.
    pub(super) fn check_sizes(&mut self, end: End) -> Result<(), Violation> {
        for path in self.schedule.path_ids() {
            let longest = self.schedule.longest(path);
            let found = self.known(end, path).and_then(|known| known.confirmed);
            let found = found.map(|found| self.sabotage.found(found));
            if let Some(found) = found.filter(|found| *found > longest) {
                return Err(Violation::Oversized {
                    end,
                    path,
                    found,
                    longest,
                });
            }
        }
        Ok(())
    }

    /// What a search has found in the end is what crosses, but for its last step; and of a path that is as wide as its
    /// interface that is found out soon.
    pub(super) fn check_found(&mut self) -> Result<(), Violation> {
        for end in End::ALL {
            let settings = self.schedule.settings(end, self.schedule.closing);
            if settings.liveness.is_some() {
                let mut paths = self.schedule.path_ids();
                paths.try_for_each(|path| self.check_path(end, path))?;
            }
        }
        Ok(())
    }

    fn check_path(&mut self, end: End, path: PathId) -> Result<(), Violation> {
        let schedule = self.schedule;
        let known = self.known(end, path).unwrap_or_default();
        let is_complete = known.state == MtuState::Complete;
        let is_narrow = schedule.paths[path.index()].is_narrow();
        self.tally.watch.narrow += u64::from(is_complete && is_narrow);
        if !schedule.measures(path, schedule.closing) || (is_narrow && !is_complete) {
            return Ok(());
        }
        let longest = schedule.longest(path);
        let found = known.confirmed.filter(|_| is_complete);
        let least = if is_narrow { longest - STEP } else { longest };
        if found.is_none_or(|found| found < least) {
            return Err(Violation::Unsized {
                end,
                path,
                found,
                longest,
            });
        }
        Ok(())
    }

    fn known(&mut self, end: End, path: PathId) -> Option<PathMtu> {
        let node = self.site(end).node.as_ref()?;
        node.tunnel().path_mtu(path)
    }
}
