//! The inputs of a node from its driver other than datagrams and packets, and drivers that are
//! behind.

use polypath_core::frame::PathId;
use polypath_core::machine::Wake;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use polypath_session::tunnel::Input;

use super::Run;
use crate::datagram::End;
use crate::schedule::Settings;
use crate::violation::Violation;

/// The maximum catch-up of timers, as in `polypath-live`.
const CATCH_UP: Duration = Duration::from_secs(1);
/// The lateness up to which a deadline counts as met, as in `polypath-live`.
const LATE: Duration = Duration::from_millis(5);

impl Run<'_> {
    /// Sets the MTUs of all interfaces of a node.
    pub(super) fn set_interface_mtus(&mut self, end: End) -> Result<(), Violation> {
        let mut paths = self.schedule.path_ids();
        paths.try_for_each(|path| self.set_interface_mtu(end, path, false))
    }

    pub(super) fn set_interface_mtu(
        &mut self,
        end: End,
        path: PathId,
        rerouted: bool,
    ) -> Result<(), Violation> {
        let node = self.slot(end).node.as_ref();
        let input = node.map(|node| node.interface_mtu(path, rerouted));
        input.map_or(Ok(()), |input| self.wake(end, Wake::Input(input)))
    }

    /// Begins a new period for the quota of a path of a node, if it runs.
    pub(super) fn renew(&mut self, end: End, path: PathId) -> Result<(), Violation> {
        self.end_stall(end)?;
        self.coverage.paths.renewals += u64::from(self.slot(end).node.is_some());
        let input = Input::PathUsed {
            path,
            used: Bytes(0),
            is_renewed: true,
        };
        self.wake(end, Wake::Input(input))
    }

    fn end_stall(&mut self, end: End) -> Result<(), Violation> {
        let is_stalled = self.slot(end).stall.is_some();
        if is_stalled {
            self.handle_wakeup(end)
        } else {
            Ok(())
        }
    }

    /// Changes the settings of a node, if it runs.
    pub(super) fn reload(&mut self, end: End, settings: Settings) -> Result<(), Violation> {
        self.end_stall(end)?;
        let Some(node) = self.slot(end).node.as_mut() else {
            return Ok(());
        };
        let input = node.adjust(settings);
        self.coverage.paths.reloads += 1;
        self.set_interface_mtus(end)?;
        self.wake(end, Wake::Input(input))
    }

    /// Wakes a node for its deadline, or lets it catch up after a stall.
    pub(super) fn handle_wakeup(&mut self, end: End) -> Result<(), Violation> {
        let Some(stall) = self.slot(end).stall.take() else {
            return self.wake(end, Wake::Timeout);
        };
        let now = self.now;
        self.coverage.paths.stalls += 1;
        self.report_driver_behind(end)?;
        for (at, datagram) in &stall.datagrams {
            self.run_timers(end, *at)?;
            self.wake_with_datagram(end, *at, datagram)?;
        }
        self.run_timers(end, now)?;
        for packet in stall.packets {
            self.wake(end, Wake::Input(Input::Packet(packet)))?;
        }
        Ok(())
    }

    fn report_driver_behind(&mut self, end: End) -> Result<(), Violation> {
        let now = self.now;
        let node = self.slot(end).node.as_ref();
        let late = node.filter(|node| node.deadline().is_some_and(|due| due + LATE < now));
        let late = late.map(|node| (node.last_wake(), node.driver_behind(now)));
        late.map_or(Ok(()), |(at, input)| {
            self.wake_at(end, at, Wake::Input(input), None)
        })
    }

    /// Wakes a node at each of its deadlines until `until`, at most [`CATCH_UP`] in the past.
    fn run_timers(&mut self, end: End, until: Time) -> Result<(), Violation> {
        let floor = (self.now - CATCH_UP).min(until);
        let next = |run: &mut Self| {
            run.slot(end)
                .node
                .as_ref()
                .and_then(crate::node::Node::deadline)
        };
        while let Some(due) = next(self).filter(|due| *due <= until) {
            self.wake_at(end, due.max(floor), Wake::Timeout, None)?;
        }
        Ok(())
    }
}
