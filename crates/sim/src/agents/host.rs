//! One end of a flow: a machine with a route and a timer.

use polypath_core::machine::Machine;
use polypath_core::time::Time;

use crate::event::Event;
use crate::fabric::Fabric;
use crate::packet::{Packet, PacketKind};
use crate::route::Cursor;
use crate::tcp::Segment;
use crate::timer::Timer;

/// A machine, the route of its packets, and its calendar entry.
#[derive(Clone, Debug)]
pub(super) struct FlowHost<M> {
    pub(super) machine: M,
    pub(super) route: Cursor,
    pub(super) timer: Timer,
}

impl<M: Machine> FlowHost<M> {
    /// A machine whose timer is not set.
    pub(super) fn new(machine: M, route: Cursor) -> Self {
        let timer = Timer::default();
        Self {
            machine,
            route,
            timer,
        }
    }

    /// A machine with a timer that schedules `event`.
    pub(super) fn started(machine: M, route: Cursor, event: Event, fabric: &mut Fabric) -> Self {
        let mut host = Self::new(machine, route);
        host.rearm(fabric, event);
        host
    }

    /// Sets the timer to the deadline of the machine.
    #[inline]
    pub(super) fn rearm(&mut self, fabric: &mut Fabric, event: Event) {
        let deadline = self.machine.deadline();
        self.timer.arm(deadline, &mut fabric.calendar, event);
    }

    /// Whether the timer that expired at `at` is the current one; if so, clears it.
    #[inline]
    pub(super) fn expires(&mut self, at: Time) -> bool {
        self.timer.expires(at)
    }
}

/// Sends a TCP segment.
#[inline]
pub(super) fn send_segment(at: Time, route: Cursor, segment: Segment, fabric: &mut Fabric) {
    let packet = Packet {
        cursor: route,
        size: segment.size,
        sent: at,
        kind: PacketKind::Segment(segment),
    };
    fabric.send(at, packet);
}
