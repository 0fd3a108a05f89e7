//! The event calendar: pending events in order of time.
//!
//! # Model
//!
//! Events leave in order of (time, sequence number); the sequence numbers events in the order in
//! which they were scheduled. Timers and packets at equal times therefore leave in the order of
//! scheduling, whatever their source and whichever of the three tiers held them.
//!
//! *Near*: a sorted list of the events in the current bucket of 2^13 ns (8.2 us) or before it.
//! *Wheel*: the remaining buckets of the current page and all of the next one, 4096 buckets (34 ms)
//! each. A bucket is an unsorted chain, sorted when it becomes the current one; a bitmap finds the
//! next bucket that is not empty. *Far*: the following 126 pages (4.2 s) are lists in the order of
//! scheduling; later events are in a binary heap. When the calendar enters a page, it first moves
//! the page after it into the wheel, before any event can be scheduled there directly, which keeps
//! the order; pages are filled from the heap in the same way. At the event rates of a simulation a
//! bucket holds about one event, so scheduling and removal take a few nanoseconds for any number of
//! pending events. Retransmission timers pass through the pages, and long pauses through the heap.

mod far;
mod wheel;

use std::cmp::Reverse;

use far::Far;
use polypath_core::time::Time;
use wheel::{SLOTS, Wheel};

/// Width of a bucket: 2^13 ns. Between 2 and 8 us the width matters little; 16 us is slower.
const BUCKET_BITS: u32 = 13;
/// Buckets in a page, two of which the wheel holds.
const PAGE: u64 = SLOTS / 2;

/// An item with a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// The time of the event.
    pub at: Time,
    /// The event.
    pub item: T,
}

/// The pending events of a simulation; `T` is small and plain, 8 bytes make an event of 16.
#[derive(Clone, Debug)]
pub struct Calendar<T> {
    /// All events up to the end of bucket `position`, the next one last.
    near: Vec<Entry<T>>,
    wheel: Wheel<T>,
    far: Far<T>,
    position: u64,
    /// The first bucket after the current page.
    turn: u64,
}

impl<T: Copy> Default for Calendar<T> {
    fn default() -> Self {
        Self {
            near: Vec::new(),
            wheel: Wheel::default(),
            far: Far::new(BUCKET_BITS + PAGE.trailing_zeros()),
            position: 0,
            turn: PAGE,
        }
    }
}

impl<T: Copy> Calendar<T> {
    /// Adds `item` after all others of the same time.
    ///
    /// A time in the past is valid: only still earlier items precede
    /// the item.
    #[inline]
    pub fn schedule(&mut self, at: Time, item: T) {
        let bucket = bucket(at);
        if bucket > self.position && bucket < self.turn + PAGE {
            self.wheel.push(bucket, at, item);
        } else {
            self.schedule_off_the_wheel(bucket, at, item);
        }
    }

    /// The time of the next event.
    #[inline]
    pub fn next_at(&mut self) -> Option<Time> {
        if self.near.is_empty() {
            self.advance();
        }
        self.near.last().map(|e| e.at)
    }

    /// Removes and returns the next event if it is due at `limit` or before.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<Entry<T>> {
        if self.near.is_empty() {
            if let Some(entry) = self.take_alone(limit) {
                return Some(entry);
            }
            self.advance();
        }
        if self.near.last()?.at > limit {
            return None;
        }
        self.near.pop()
    }

    /// Not inlined, so that the fast path of the wheel is.
    #[inline(never)]
    fn schedule_off_the_wheel(&mut self, bucket: u64, at: Time, item: T) {
        let entry = Entry { at, item };
        if bucket <= self.position {
            let place = self.near.partition_point(|e| e.at > at);
            self.near.insert(place, entry);
        } else {
            self.far.push(entry);
        }
    }

    /// The next event if it is alone in its bucket, as most are, and no page has to be moved
    /// before it is due.
    #[inline]
    fn take_alone(&mut self, limit: Time) -> Option<Entry<T>> {
        let next = self.wheel.next_close(self.position)?;
        if next >= self.turn {
            return None;
        }
        let entry = self.wheel.take_alone(next, limit)?;
        self.position = next;
        Some(entry)
    }

    /// Moves to the next bucket that is not empty.
    #[inline(never)]
    fn advance(&mut self) {
        let next = loop {
            if let Some(next) = self.wheel.next_after(self.position) {
                break next;
            }
            let Some(page) = self.far.first() else {
                return;
            };
            self.position = page * PAGE - 1;
            self.turn_page();
        };
        self.position = next;
        if next >= self.turn {
            self.turn_page();
        }
        self.wheel.drain(next, &mut self.near);
        // From the last scheduled to the first, so that a stable sort leaves the first of equals
        // last.
        match &mut self.near[..] {
            [] | [_] => {}
            [a, b] if a.at >= b.at => {}
            [a, b] => std::mem::swap(a, b),
            more => more.sort_by_key(|entry| Reverse(entry.at)),
        }
    }

    /// Enters the page of `position`: moves the events of the page after it into the wheel.
    #[cold]
    fn turn_page(&mut self) {
        let page = self.position / PAGE;
        self.turn = (page + 1) * PAGE;
        let wheel = &mut self.wheel;
        self.far.turn_to(page, |Entry { at, item }| {
            wheel.push(bucket(at), at, item);
        });
    }
}

const fn bucket(at: Time) -> u64 {
    at.0 >> BUCKET_BITS
}

#[cfg(test)]
mod tests;
