//! Drop-tail: a packet that finds no place is dropped.

use alloc::vec::Vec;

use polypath_core::time::Time;

use super::backlog::Backlog;
use super::{Arrival, MOST_PACKETS, Queue, QueueLimit, Verdict};
use crate::link::DropReason;

/// Places for which memory is taken at first.
const FIRST: usize = 16;

/// A limit in packets: there is a place if the packet that came L places before has left.
///
/// The packet that came last has left when the line is free. Of those before it a ring keeps the finishing times;
/// one read and one write decide, however long the queue is, and none where no packet waits. The ring has as many
/// places as were ever taken at once, or up to twice that: in a ring of fewer than L - 1 the packet at the place to
/// take next has left, or else the ring grows.
#[derive(Clone, Debug)]
pub(crate) struct PacketPlaces {
    finish: Vec<Time>,
    next: u32,
    limit: u32,
}

impl PacketPlaces {
    pub(crate) const fn new(limit: u32) -> Self {
        Self {
            finish: Vec::new(),
            next: 0,
            limit,
        }
    }

    /// A packet that finds the line busy takes a place: the one before it needs one in the ring, too.
    #[inline]
    fn admit_behind(&mut self, arrival: &Arrival) -> Verdict {
        let has_place = (self.finish.get(self.next as usize)).is_some_and(|f| *f <= arrival.at);
        if !has_place && let Some(reason) = self.make_place() {
            return Verdict::Drop(reason);
        }
        self.finish[self.next as usize] = arrival.free_at;
        self.next += 1;
        if self.next as usize == self.finish.len() {
            self.next = 0;
        }
        Verdict::Take
    }

    /// Finds a place where all that the ring has are taken; says why, if it does not.
    fn make_place(&mut self) -> Option<DropReason> {
        // That of the packet that came last is not in the ring.
        let taken = self.finish.len() + 1;
        if taken == self.limit as usize {
            return Some(DropReason::QueueFull);
        }
        if taken == MOST_PACKETS as usize {
            return Some(DropReason::Overflow);
        }
        self.grow();
        None
    }

    /// New places behind those that are taken, of which the oldest moves to the start of the ring.
    #[cold]
    fn grow(&mut self) {
        let taken = self.finish.len();
        let most = self.limit.min(MOST_PACKETS) as usize - 1;
        self.finish.rotate_left(self.next as usize);
        self.finish
            .resize((2 * taken).max(FIRST).min(most), Time::ZERO);
        self.next = u32::try_from(taken).expect("fewer places than MOST_PACKETS");
    }
}

impl Queue for PacketPlaces {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        if arrival.free_at <= arrival.at {
            return Verdict::Take;
        }
        self.admit_behind(arrival)
    }

    /// The place of the packet that came last is the line's.
    #[inline]
    fn take(&mut self, _finish: Time, _size: u32) {}

    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        self.finish.iter().copied().filter(move |turn| *turn > now)
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

    pub(crate) fn len(&self, now: Time) -> usize {
        self.backlog.len(now)
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

    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        self.backlog.turns_after(now)
    }
}
