//! The packets of a link whose queue decides when they leave.

use polypath_core::frame::Payload;
use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use super::{DropReason, Output, Wire, size_of};
use crate::line::Line;
use crate::queue::Backlog;
use crate::queue::codel::{CoDel, Fifo};
use crate::queue::{CoDelConfig, QueueLimit};

/// A queue under `CoDel`.
#[derive(Clone, Debug)]
pub(super) struct Held<P> {
    limit: QueueLimit,
    codel: CoDel,
    queue: Fifo<P>,
    /// What was sent and has not left.
    on_line: Backlog,
}

impl<P: Payload> Held<P> {
    pub(super) fn new(config: CoDelConfig) -> Self {
        Self {
            limit: config.limit,
            codel: CoDel::new(config),
            queue: Fifo::default(),
            on_line: Backlog::default(),
        }
    }

    /// Packets in the queue, and in transmission if the line is busy.
    pub(super) fn len(&self, busy: bool) -> usize {
        self.queue.len() + usize::from(busy)
    }

    /// Packets and bytes in the queue.
    pub(super) fn waiting(&self) -> (u64, u64) {
        (self.queue.len() as u64, self.queue.bytes())
    }

    /// Takes a packet that arrives, after all that is due.
    pub(super) fn take(
        &mut self,
        now: Time,
        packet: P,
        wire: &mut Wire,
        out: &mut impl FnMut(Output<P>),
    ) {
        self.advance(now, wire, out);
        let size = size_of(&packet);
        let busy = wire.line.free_at() > now;
        self.on_line.expire(now);
        let packets = self.queue.len() + self.on_line.packets();
        let bytes = self.queue.bytes() + self.on_line.bytes();
        if let Some(reason) = self.limit.refuses(packets, bytes, size) {
            return out(wire.refuse(reason, packet));
        }
        if self.len(busy) == 0 {
            self.codel.run_dry();
        }
        self.queue.push(packet, size, now);
        self.advance(now, wire, out);
    }

    /// Sends everything whose turn comes at `now` or before, each at its own time.
    pub(super) fn advance(&mut self, now: Time, wire: &mut Wire, out: &mut impl FnMut(Output<P>)) {
        while let Some(at) = self.next_turn(&wire.line)
            && at <= now
        {
            let (codel, queue) = (&mut self.codel, &mut self.queue);
            let mut drop = |packet| out(wire.refuse(DropReason::Sojourn, packet));
            let Some(passed) = codel.dequeue(at, queue, &mut drop) else {
                break;
            };
            if passed.marked {
                wire.tally.count_mark();
            }
            let sent = wire.line.send(passed.since, passed.size);
            let left = wire.line.vacates(sent.finish);
            self.on_line.push(left, passed.size);
            out(wire.carry(passed.since, sent, passed.size, passed.packet));
        }
    }

    pub(super) fn deadline(&self, line: &Line) -> Option<Deadline> {
        self.next_turn(line).map(|at| Deadline {
            at,
            why: "the line is free for a packet that waits",
        })
    }

    fn next_turn(&self, line: &Line) -> Option<Time> {
        Some(line.begin(self.queue.first_since()?))
    }
}
