//! What the driver of a node tells it beside what came, and a node that is behind.

use polypath_core::frame::PathId;
use polypath_core::machine::Wake;
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::Input;

use super::Run;
use crate::parcel::End;
use crate::schedule::Settings;
use crate::violation::Violation;

/// How far back deadlines are met at their own time, as in `polypath-live`.
const CATCH_UP: Duration = Duration::from_secs(1);
/// How late a deadline may be met as if it had been met in time, as there.
const LATE: Duration = Duration::from_millis(5);

impl Run<'_> {
    /// Tells a node how long packets its interfaces let through.
    pub(super) fn tell_rooms(&mut self, end: End) -> Result<(), Violation> {
        let mut paths = self.schedule.path_ids();
        paths.try_for_each(|path| self.tell_room(end, path, false))
    }

    pub(super) fn tell_room(
        &mut self,
        end: End,
        path: PathId,
        rerouted: bool,
    ) -> Result<(), Violation> {
        let node = self.site(end).node.as_ref();
        let input = node.map(|node| node.interface_mtu(path, rerouted));
        input.map_or(Ok(()), |input| self.wake(end, Wake::Input(input)))
    }

    /// Has a node, if it runs, go on by another file.
    pub(super) fn adjust(&mut self, end: End, settings: Settings) -> Result<(), Violation> {
        let is_stalled = self.site(end).stall.is_some();
        if is_stalled {
            self.serve(end)?;
        }
        let Some(node) = self.site(end).node.as_mut() else {
            return Ok(());
        };
        let input = node.adjust(settings);
        self.tally.watch.reloads += 1;
        self.tell_rooms(end)?;
        self.wake(end, Wake::Input(input))
    }

    /// Wakes a node for its deadline, or lets it catch up with what came while nobody served it.
    pub(super) fn serve(&mut self, end: End) -> Result<(), Violation> {
        let Some(stall) = self.site(end).stall.take() else {
            return self.wake(end, Wake::Timeout);
        };
        let now = self.now;
        self.tally.watch.stalls += 1;
        self.tell_late(end)?;
        for (at, parcel) in &stall.parcels {
            self.do_due(end, *at)?;
            self.hand_over(end, *at, parcel)?;
        }
        self.do_due(end, now)?;
        for packet in stall.packets {
            self.wake(end, Wake::Input(Input::Packet(packet)))?;
        }
        Ok(())
    }

    fn tell_late(&mut self, end: End) -> Result<(), Violation> {
        let now = self.now;
        let node = self.site(end).node.as_ref();
        let late = node.filter(|node| node.next_at().is_some_and(|due| due + LATE < now));
        let late = late.map(|node| (node.seen(), node.late(now)));
        late.map_or(Ok(()), |(at, input)| {
            self.wake_at(end, at, Wake::Input(input), None)
        })
    }

    /// Wakes a node at each of its deadlines until `until`, but at none that is long past.
    fn do_due(&mut self, end: End, until: Time) -> Result<(), Violation> {
        let floor = (self.now - CATCH_UP).min(until);
        let next = |run: &mut Self| {
            run.site(end)
                .node
                .as_ref()
                .and_then(crate::node::Node::next_at)
        };
        while let Some(due) = next(self).filter(|due| *due <= until) {
            self.wake_at(end, due.max(floor), Wake::Timeout, None)?;
        }
        Ok(())
    }
}
