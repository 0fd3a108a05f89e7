//! Drop-tail: a packet that arrives at the full queue is dropped.

use alloc::vec::Vec;

use polypath_core::time::Time;

use super::backlog::Backlog;
use super::discipline::{Arrival, ArrivalQueue, Verdict};
use super::limit::{MAX_PACKETS, QueueLimit};
use crate::drop_reason::DropReason;

/// The number of slots that are allocated first.
const INITIAL_SLOTS: usize = 16;

/// A limit of L packets: there is room if the packet L positions earlier has left.
///
/// The last packet has left when the line is free. A ring keeps the finishing times of the packets
/// before it. One read and one write decide, whatever the length of the queue, and none where no
/// packet waits. The ring has as many slots as were ever used at once, or up to twice that: in a
/// ring of fewer than L - 1 slots, the packet in the next slot has left, or else the ring grows.
#[derive(Clone, Debug)]
pub(crate) struct PacketLimited {
    finish: Vec<Time>,
    next: u32,
    limit: u32,
}

impl PacketLimited {
    pub(crate) const fn new(limit: u32) -> Self {
        Self {
            finish: Vec::new(),
            next: 0,
            limit,
        }
    }

    /// Decides on a packet that finds the line busy; the packet before it needs a slot in the ring.
    #[inline]
    fn admit_behind(&mut self, arrival: &Arrival) -> Verdict {
        let is_free = (self.finish.get(self.next as usize)).is_some_and(|f| *f <= arrival.at);
        if !is_free && let Some(reason) = self.make_slot() {
            return Verdict::Drop(reason);
        }
        self.finish[self.next as usize] = arrival.free_at;
        self.next += 1;
        if self.next as usize == self.finish.len() {
            self.next = 0;
        }
        Verdict::Accept
    }

    /// Adds slots to a ring whose slots are all used; returns the reason to drop the packet if it
    /// cannot.
    fn make_slot(&mut self) -> Option<DropReason> {
        // The last packet is not in the ring.
        let used = self.finish.len() + 1;
        if used == self.limit as usize {
            return Some(DropReason::QueueFull);
        }
        if used == MAX_PACKETS as usize {
            return Some(DropReason::Overflow);
        }
        self.grow();
        None
    }

    /// Adds slots behind the used ones, of which the oldest moves to the start of the ring.
    #[cold]
    fn grow(&mut self) {
        let used = self.finish.len();
        let max = self.limit.min(MAX_PACKETS) as usize - 1;
        self.finish.rotate_left(self.next as usize);
        self.finish
            .resize((2 * used).max(INITIAL_SLOTS).min(max), Time::ZERO);
        self.next = u32::try_from(used).expect("fewer slots than MAX_PACKETS");
    }
}

impl ArrivalQueue for PacketLimited {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        if arrival.free_at <= arrival.at {
            return Verdict::Accept;
        }
        self.admit_behind(arrival)
    }

    /// The line keeps the finishing time of the last packet.
    #[inline]
    fn enqueue(&mut self, _finish: Time, _size: u32) {}

    fn len(&self, now: Time, busy: bool) -> usize {
        self.turns_after(now).count() + usize::from(busy)
    }

    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        self.finish.iter().copied().filter(move |turn| *turn > now)
    }
}

/// A limit in bytes.
#[derive(Clone, Debug)]
pub(crate) struct ByteLimited {
    limit: QueueLimit,
    backlog: Backlog,
}

impl ByteLimited {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            backlog: Backlog::default(),
        }
    }
}

impl ArrivalQueue for ByteLimited {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        self.backlog.remove_sent(arrival.at);
        match (self.limit).drop_reason(self.backlog.occupancy(), arrival.size) {
            Some(reason) => Verdict::Drop(reason),
            None => Verdict::Accept,
        }
    }

    #[inline]
    fn enqueue(&mut self, finish: Time, size: u32) {
        self.backlog.push(finish, size);
    }

    fn len(&self, now: Time, _busy: bool) -> usize {
        self.backlog.len(now)
    }

    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        self.backlog.turns_after(now)
    }
}
