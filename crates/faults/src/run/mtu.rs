//! Checks of the path MTUs that nodes discover.

use polypath_core::frame::PathId;
use polypath_core::pmtu::{MtuState, PathMtu, STEP};

use super::Run;
use crate::datagram::End;
use crate::violation::Violation;

impl Run<'_> {
    /// Checks that no assumed MTU is larger than the real one.
    pub(super) fn check_assumed_mtus(&mut self, end: End) -> Result<(), Violation> {
        for path in self.schedule.path_ids() {
            let longest = self.schedule.discoverable_mtu(path);
            let found = self.known(end, path).and_then(|known| known.confirmed);
            let found = found.map(|found| self.mutant.discovered_mtu(found));
            if let Some(found) = found.filter(|found| *found > longest) {
                return Err(Violation::MtuTooLarge {
                    end,
                    path,
                    found,
                    longest,
                });
            }
        }
        Ok(())
    }

    /// Checks that the discovered MTU at the end of the run is the real one up to the last step of
    /// the search, and exactly that of the interface on paths without a smaller MTU.
    pub(super) fn check_discovered_mtus(&mut self) -> Result<(), Violation> {
        for end in End::ALL {
            let settings = self.schedule.settings(end, self.schedule.last_packet_at);
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
        self.coverage.paths.reduced_mtus += u64::from(is_complete && is_narrow);
        if !schedule.must_find_mtu(path, schedule.last_packet_at) || (is_narrow && !is_complete) {
            return Ok(());
        }
        let longest = schedule.discoverable_mtu(path);
        let found = known.confirmed.filter(|_| is_complete);
        let least = if is_narrow { longest - STEP } else { longest };
        if found.is_none_or(|found| found < least) {
            return Err(Violation::MtuNotFound {
                end,
                path,
                found,
                longest,
            });
        }
        Ok(())
    }

    fn known(&mut self, end: End, path: PathId) -> Option<PathMtu> {
        let node = self.slot(end).node.as_ref()?;
        node.tunnel().path_mtu(path)
    }
}
