//! The event calendar: what happens when, in order of time.
//!
//! # The model
//!
//! Events leave in order of (time, sequence), the sequence being the order in which they were scheduled:
//! timers and packets at equal times come in the order in which they were put in, whoever put them in and
//! whichever of the three tiers below held them.
//!
//! *Near*: what falls due in the bucket of 2^13 ns (8.2 us) at which the calendar stands, or before, is a
//! sorted list. *Wheel*: each of the next 8191 buckets (67 ms) is an unsorted chain; a bitmap finds the
//! next one that is not empty, and a chain is sorted when the calendar comes to it. *Far*: everything
//! later waits in a binary heap and moves to the wheel as soon as the wheel reaches it, before anything
//! can be scheduled there directly, which keeps the order. At the rates of a simulation a bucket
//! holds about one event, so that scheduling and taking cost a few nanoseconds whatever the number that
//! is pending; retransmission timers and pauses are the few that pass through the heap.

mod wheel;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use polypath_core::time::Time;
use wheel::{SLOTS, Wheel};

/// Width of a bucket: 2^13 ns. Between 2 and 8 us the width matters little; 16 us is slower.
const BUCKET_BITS: u32 = 13;

/// Something that falls due at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// When it falls due.
    pub at: Time,
    /// What falls due.
    pub item: T,
}

/// The pending events of a simulation; `T` is small and plain, 8 bytes make an event of 16.
#[derive(Clone, Debug)]
pub struct Calendar<T> {
    /// Everything up to the end of bucket `position`, the next one last.
    near: Vec<Entry<T>>,
    wheel: Wheel<T>,
    far: BinaryHeap<Far<T>>,
    position: u64,
    sequence: u64,
}

impl<T: Copy> Default for Calendar<T> {
    fn default() -> Self {
        Self {
            near: Vec::new(),
            wheel: Wheel::default(),
            far: BinaryHeap::new(),
            position: 0,
            sequence: 0,
        }
    }
}

impl<T: Copy> Calendar<T> {
    /// Puts `item` in behind everything else that falls due at the same time.
    ///
    /// A time in the past is as good as any other: the item then is the next but for what is still earlier.
    #[inline]
    pub fn schedule(&mut self, at: Time, item: T) {
        let bucket = bucket(at);
        // A bucket that is not ahead wraps to one that lies beyond the wheel.
        if bucket.wrapping_sub(self.position).wrapping_sub(1) < SLOTS - 1 {
            self.wheel.push(bucket, at, item);
        } else {
            self.schedule_off_the_wheel(bucket, at, item);
        }
    }

    /// When the next event falls due.
    #[inline]
    pub fn next_at(&mut self) -> Option<Time> {
        if self.near.is_empty() {
            self.advance();
        }
        self.near.last().map(|e| e.at)
    }

    /// Takes the next event if it falls due at `limit` or before.
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

    /// Not inlined, so that the wheel's part is.
    #[inline(never)]
    fn schedule_off_the_wheel(&mut self, bucket: u64, at: Time, item: T) {
        let entry = Entry { at, item };
        if bucket <= self.position {
            let place = self.near.partition_point(|e| e.at > at);
            self.near.insert(place, entry);
        } else {
            self.sequence += 1;
            let sequence = self.sequence;
            self.far.push(Far { entry, sequence });
        }
    }

    /// The next event if it has its bucket for itself, as most have, and nothing has to be moved before it.
    #[inline]
    fn take_alone(&mut self, limit: Time) -> Option<Entry<T>> {
        let next = self.wheel.next_close(self.position)?;
        if self.reaches_far(next) {
            return None;
        }
        let entry = self.wheel.take_alone(next, limit)?;
        self.position = next;
        Some(entry)
    }

    /// Whether the wheel reaches what waits in the heap once the calendar stands at bucket `position`.
    #[inline]
    fn reaches_far(&self, position: u64) -> bool {
        let far = self.far.peek();
        far.is_some_and(|far| bucket(far.entry.at) - position < SLOTS)
    }

    /// Moves to the next bucket that holds anything.
    #[inline(never)]
    fn advance(&mut self) {
        let next = match self.wheel.next_after(self.position) {
            Some(next) => next,
            None => match self.far.peek() {
                Some(far) => bucket(far.entry.at),
                None => return,
            },
        };
        self.position = next;
        self.wheel.drain(next, &mut self.near);
        // From the last scheduled to the first, so that a stable sort leaves the first of equals last.
        match &mut self.near[..] {
            [] | [_] => {}
            [a, b] if a.at >= b.at => {}
            [a, b] => std::mem::swap(a, b),
            more => more.sort_by_key(|entry| Reverse(entry.at)),
        }
        while self.reaches_far(next)
            && let Some(Far { entry, .. }) = self.far.pop()
        {
            self.schedule(entry.at, entry.item);
        }
    }
}

const fn bucket(at: Time) -> u64 {
    at.0 >> BUCKET_BITS
}

/// An entry of the heap, the earliest the greatest.
#[derive(Clone, Debug)]
struct Far<T> {
    entry: Entry<T>,
    sequence: u64,
}

impl<T> PartialEq for Far<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Far<T> {}

impl<T> PartialOrd for Far<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Far<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.entry.at, other.sequence).cmp(&(self.entry.at, self.sequence))
    }
}

#[cfg(test)]
mod tests;
