//! Segments received out of order, and their SACK blocks (RFC 2018, 4).

use crate::tcp::ranges::{Range, RangeSet};
use crate::tcp::segment::SackBlocks;

/// The segments beyond the first hole.
#[derive(Clone, Debug)]
pub(super) struct OutOfOrder {
    held: RangeSet,
    /// A segment of each of the ranges that changed last, most recent first; empty without SACK.
    recent: Option<[u32; SackBlocks::MOST]>,
}

/// A number that no segment has.
const NONE: u32 = u32::MAX;

impl OutOfOrder {
    pub(super) fn new(selective: bool) -> Self {
        Self {
            held: RangeSet::default(),
            recent: selective.then_some([NONE; SackBlocks::MOST]),
        }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.recent = self.recent.map(|_| [NONE; SackBlocks::MOST]);
    }

    /// Adds a segment beyond the first hole; returns whether it is new.
    pub(super) fn hold(&mut self, number: u32) -> bool {
        let is_new = self.held.insert(Range {
            start: number,
            end: number + 1,
        });
        let Some(recent) = &mut self.recent else {
            return is_new;
        };
        let changed = self.held.find(number);
        let others = recent.iter().filter(|n| self.held.find(**n) != changed);
        let mut order = [NONE; SackBlocks::MOST];
        let newest_first = std::iter::once(&number).chain(others);
        for (place, number) in order.iter_mut().zip(newest_first) {
            *place = *number;
        }
        *recent = order;
        is_new
    }

    /// Removes the segments that are in order now that all before `next` have arrived; returns the
    /// number after them.
    pub(super) fn release(&mut self, next: u32) -> u32 {
        let next = self.held.first_missing(next);
        self.held.forget_before(next);
        next
    }

    /// The ranges that changed last, most recent first, and their size in a header in bytes.
    #[inline]
    pub(super) fn blocks(&self, acknowledged: u32) -> (SackBlocks, u32) {
        if self.held.is_empty() {
            return (SackBlocks::default(), 0);
        }
        let mut blocks = SackBlocks::default();
        for number in self.recent.iter().flatten() {
            if let Some(range) = self.held.find(*number) {
                blocks.push(acknowledged, range);
            }
        }
        (blocks, blocks.size())
    }
}
