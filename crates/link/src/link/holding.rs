//! A queue that decides when a packet leaves, in front of a line.

use polypath_core::frame::Payload;
use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use super::{Output, Wire};
use crate::drop_reason::DropReason;
use crate::line::Line;
use crate::queue::{Backlog, Departure, HoldingDiscipline, HoldingQueue, Occupancy};

/// The packets that wait, and those that were sent.
#[derive(Clone, Debug)]
pub(super) struct HoldingBuffer<P> {
    queue: HoldingDiscipline<P>,
    /// The packets that were sent and have not left.
    transmitting: Backlog,
}

impl<P: Payload> HoldingBuffer<P> {
    pub(super) fn new(queue: HoldingDiscipline<P>) -> Self {
        Self {
            queue,
            transmitting: Backlog::default(),
        }
    }

    /// The packets in queue and transmission; `busy` is whether one is in transmission.
    pub(super) fn len(&self, busy: bool) -> usize {
        self.queue.occupancy().packets + usize::from(busy)
    }

    /// The packets in the queue.
    pub(super) fn waiting(&self) -> Occupancy {
        self.queue.occupancy()
    }

    /// Handles a packet that arrives at `now`, after all departures that are due.
    pub(super) fn handle_packet(
        &mut self,
        now: Time,
        packet: P,
        wire: &mut Wire,
        out: &mut impl FnMut(Output<P>),
    ) {
        self.send_due(now, wire, out);
        let busy = wire.line.free_at() > now;
        self.transmitting.remove_sent(now);
        if self.len(busy) == 0 {
            self.queue.handle_idle();
        }
        let transmitting = self.transmitting.occupancy();
        let mut dropped = |reason: DropReason, packet| out(wire.drop_at_queue(reason, packet));
        (self.queue).enqueue(now, packet, transmitting, &mut dropped);
        self.send_due(now, wire, out);
    }

    /// Sends the packets whose turn has come at `now`, each at its own time.
    pub(super) fn send_due(&mut self, now: Time, wire: &mut Wire, out: &mut impl FnMut(Output<P>)) {
        while let Some(at) = self.next_turn(&wire.line)
            && at <= now
        {
            let mut dropped = |reason: DropReason, packet| out(wire.drop_at_queue(reason, packet));
            let Some(departure) = self.queue.dequeue(at, &mut dropped) else {
                break;
            };
            let Departure {
                packet,
                size,
                arrived_at,
                marked,
            } = departure;
            if marked {
                wire.accounting.count_mark();
            }
            let sent = wire.line.send(arrived_at, size);
            self.transmitting.push(wire.line.vacates(sent.finish), size);
            out(wire.carry(arrived_at, sent, size, packet));
        }
    }

    pub(super) fn deadline(&self, line: &Line) -> Option<Deadline> {
        self.next_turn(line).map(|at| Deadline {
            at,
            why: "the line is free for a packet that waits",
        })
    }

    fn next_turn(&self, line: &Line) -> Option<Time> {
        Some(line.begin(self.queue.waiting_since()?))
    }
}
