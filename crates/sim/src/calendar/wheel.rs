//! The middle tier of the calendar: a ring of buckets, each an unsorted chain.

use polypath_core::time::Time;

use super::Entry;

/// Number of buckets; a power of two.
pub(super) const SLOTS: u64 = 8192;
const WORDS: usize = (SLOTS / 64) as usize;
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<T> {
    entry: Entry<T>,
    next: u32,
}

/// Chains by bucket number modulo [`SLOTS`], in one slab, and a bitmap in two levels of those that
/// are not empty.
#[derive(Clone, Debug)]
pub(super) struct Wheel<T> {
    heads: Box<[u32; WORDS * 64]>,
    nodes: Vec<Node<T>>,
    free: u32,
    occupied: [u64; WORDS],
    words: u128,
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self {
            heads: vec![NONE; WORDS * 64]
                .try_into()
                .expect("a head for each slot"),
            nodes: Vec::new(),
            free: NONE,
            occupied: [0; WORDS],
            words: 0,
        }
    }
}

impl<T: Copy> Wheel<T> {
    /// Adds an entry at the head of its bucket's chain.
    ///
    /// Its parts are passed in registers: an entry assembled in memory and copied as a whole
    /// at once would stall the processor (store forwarding).
    #[inline]
    pub(super) fn push(&mut self, bucket: u64, at: Time, item: T) {
        let slot = slot(bucket);
        let (entry, next) = (Entry { at, item }, self.heads[slot]);
        self.heads[slot] = self.allocate(Node { entry, next });
        if self.occupied[slot / 64] == 0 {
            self.words |= 1 << (slot / 64);
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Moves a bucket's entries to the end of `into`, the last pushed first.
    pub(super) fn drain(&mut self, bucket: u64, into: &mut Vec<Entry<T>>) {
        let slot = slot(bucket);
        let mut head = std::mem::replace(&mut self.heads[slot], NONE);
        while head != NONE {
            let node = &mut self.nodes[head as usize];
            into.push(node.entry);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = std::mem::replace(&mut head, next);
        }
        self.clear(slot);
    }

    /// Removes the only event of its bucket if it is due at `limit` or before.
    #[inline]
    pub(super) fn take_alone(&mut self, bucket: u64, limit: Time) -> Option<Entry<T>> {
        let slot = slot(bucket);
        let head = self.heads[slot];
        let node = self.nodes.get_mut(head as usize)?;
        if node.next != NONE || node.entry.at > limit {
            return None;
        }
        node.next = std::mem::replace(&mut self.free, head);
        self.heads[slot] = NONE;
        let entry = node.entry;
        self.clear(slot);
        Some(entry)
    }

    #[inline]
    fn clear(&mut self, slot: usize) {
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        if self.occupied[slot / 64] == 0 {
            self.words &= !(1 << (slot / 64));
        }
    }

    /// The first non-empty bucket of those after `position` that share a word of the
    /// bitmap with the first of them.
    #[inline]
    pub(super) fn next_close(&self, position: u64) -> Option<u64> {
        let first = position + 1;
        let rest = self.occupied[slot(first) / 64] >> (first % 64);
        (rest != 0).then(|| first + u64::from(rest.trailing_zeros()))
    }

    /// The first non-empty bucket of the [`SLOTS`] - 1 after `position`.
    pub(super) fn next_after(&self, position: u64) -> Option<u64> {
        if let Some(close) = self.next_close(position) {
            return Some(close);
        }
        let first = slot(position + 1);
        let word = first / 64;
        // Words after the first, then from the beginning up to and with the first itself.
        let later = self.words & (u128::MAX << word) & !(1 << word);
        let candidates = if later != 0 { later } else { self.words };
        if candidates == 0 {
            return None;
        }
        let word = candidates.trailing_zeros() as usize;
        let found = word * 64 + self.occupied[word].trailing_zeros() as usize;
        let ahead = (found as u64).wrapping_sub(first as u64) & (SLOTS - 1);
        Some(position + 1 + ahead)
    }

    #[inline]
    fn allocate(&mut self, node: Node<T>) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return u32::try_from(self.nodes.len() - 1)
                .expect("fewer than 2^32 events are pending");
        }
        let place = self.free;
        let vacant = &mut self.nodes[place as usize];
        self.free = vacant.next;
        *vacant = node;
        place
    }
}

const fn slot(bucket: u64) -> usize {
    (bucket & (SLOTS - 1)) as usize
}
