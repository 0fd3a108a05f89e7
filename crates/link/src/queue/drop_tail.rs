//! Drop-tail: a packet that finds no place is dropped.

use alloc::vec;
use alloc::vec::Vec;

use polypath_core::time::Time;

use super::backlog::Backlog;
use super::{Arrival, MOST_PACKETS, Queue, QueueLimit, Verdict};
use crate::link::DropReason;

/// Places for which memory is taken at first.
const FIRST: usize = 16;

/// A limit in packets: there is a place if the packet that came L places before has left.
///
/// One read and one write of a ring of finishing times decide, however long the queue is. The ring has as many
/// places as were ever taken at once, or up to twice that: in a ring of fewer than L the packet at the place to
/// take next has left, or else the ring grows.
#[derive(Clone, Debug)]
pub(crate) struct PacketPlaces {
    finish: Vec<Time>,
    next: usize,
    limit: u32,
}

impl PacketPlaces {
    pub(crate) fn new(limit: u32) -> Self {
        let most = limit.min(MOST_PACKETS) as usize;
        Self {
            finish: vec![Time::ZERO; most.min(FIRST)],
            next: 0,
            limit,
        }
    }

    /// Finds a place where all that the ring has are taken.
    fn make_place(&mut self) -> Verdict {
        let (limit, taken) = (self.limit as usize, self.finish.len());
        if taken == limit {
            return Verdict::Drop(DropReason::QueueFull);
        }
        if taken == MOST_PACKETS as usize {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.grow();
        Verdict::Take
    }

    /// New places behind those that are taken, of which the oldest moves to the start of the ring.
    #[cold]
    fn grow(&mut self) {
        let taken = self.finish.len();
        let most = self.limit.min(MOST_PACKETS) as usize;
        self.finish.rotate_left(self.next);
        self.finish.resize((2 * taken).min(most), Time::ZERO);
        self.next = taken;
    }
}

impl Queue for PacketPlaces {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        if self.finish[self.next] <= arrival.at {
            return Verdict::Take;
        }
        self.make_place()
    }

    #[inline]
    fn take(&mut self, finish: Time, _size: u32) {
        self.finish[self.next] = finish;
        self.next += 1;
        if self.next == self.finish.len() {
            self.next = 0;
        }
    }

    fn len(&self, now: Time) -> usize {
        let (newer, older) = self.finish.split_at(self.next);
        let taken = |part: &[Time]| part.len() - part.partition_point(|finish| *finish <= now);
        taken(newer) + taken(older)
    }
}

/// A limit in bytes.
#[derive(Clone, Debug)]
pub(crate) struct BytePlaces {
    limit: QueueLimit,
    backlog: Backlog,
}

impl BytePlaces {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            backlog: Backlog::default(),
        }
    }
}

impl Queue for BytePlaces {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        self.backlog.expire(arrival.at);
        let (packets, bytes) = (self.backlog.packets(), self.backlog.bytes());
        match self.limit.refuses(packets, bytes, arrival.size) {
            Some(reason) => Verdict::Drop(reason),
            None => Verdict::Take,
        }
    }

    #[inline]
    fn take(&mut self, finish: Time, size: u32) {
        self.backlog.push(finish, size);
    }

    fn len(&self, now: Time) -> usize {
        self.backlog.len(now)
    }
}
