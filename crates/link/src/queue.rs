//! The drop-tail queue, as the finishing times of the packets that hold a place in it.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;

use polypath_core::time::Time;

use crate::config::QueueLimit;

/// Which places are taken, and until when.
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    Packets(PacketPlaces),
    Bytes(BytePlaces),
}

impl Queue {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        match limit {
            QueueLimit::Packets(limit) => Self::Packets(PacketPlaces::new(limit)),
            QueueLimit::Bytes(limit) => Self::Bytes(BytePlaces::new(limit.0)),
        }
    }

    /// True if a packet of `size` bytes that arrives at `now` finds a place.
    #[inline]
    pub(crate) fn has_place(&mut self, now: Time, size: u32) -> bool {
        match self {
            Self::Packets(places) => places.has_place(now),
            Self::Bytes(places) => places.has_place(now, size),
        }
    }

    /// Takes the place for a packet whose last bit leaves at `finish`, not earlier than any before.
    #[inline]
    pub(crate) fn take(&mut self, finish: Time, size: u32) {
        match self {
            Self::Packets(places) => places.take(finish),
            Self::Bytes(places) => places.take(finish, size),
        }
    }
}

/// A limit in packets: there is a place if the packet that came L places before has left.
///
/// One read and one write of a ring of L times decide, however long the queue is.
#[derive(Clone, Debug)]
pub(crate) struct PacketPlaces {
    finish: Box<[Time]>,
    oldest: usize,
}

impl PacketPlaces {
    fn new(limit: u32) -> Self {
        Self {
            finish: vec![Time::ZERO; limit as usize].into_boxed_slice(),
            oldest: 0,
        }
    }

    #[inline]
    fn has_place(&self, now: Time) -> bool {
        self.finish[self.oldest] <= now
    }

    #[inline]
    fn take(&mut self, finish: Time) {
        self.finish[self.oldest] = finish;
        self.oldest += 1;
        if self.oldest == self.finish.len() {
            self.oldest = 0;
        }
    }
}

/// A limit in bytes: the packets that have not left, and the sum of their sizes.
#[derive(Clone, Debug)]
pub(crate) struct BytePlaces {
    limit: u64,
    held: u64,
    packets: VecDeque<(Time, u32)>,
}

impl BytePlaces {
    fn new(limit: u64) -> Self {
        Self {
            limit,
            held: 0,
            packets: VecDeque::new(),
        }
    }

    fn has_place(&mut self, now: Time, size: u32) -> bool {
        while let Some(&(finish, left)) = self.packets.front() {
            if finish > now {
                break;
            }
            self.held -= u64::from(left);
            self.packets.pop_front();
        }
        self.held + u64::from(size) <= self.limit
    }

    fn take(&mut self, finish: Time, size: u32) {
        self.held += u64::from(size);
        self.packets.push_back((finish, size));
    }
}
