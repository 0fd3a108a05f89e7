//! The middle tier of the calendar: a ring of buckets, each an unsorted chain.

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

/// Chains by bucket number modulo [`SLOTS`], in one slab, and a bitmap in two levels of those that are
/// not empty.
#[derive(Clone, Debug)]
pub(super) struct Wheel<T> {
    heads: Box<[u32]>,
    nodes: Vec<Node<T>>,
    free: u32,
    occupied: [u64; WORDS],
    words: u128,
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self {
            heads: vec![NONE; WORDS * 64].into_boxed_slice(),
            nodes: Vec::new(),
            free: NONE,
            occupied: [0; WORDS],
            words: 0,
        }
    }
}

impl<T: Copy> Wheel<T> {
    /// Puts an entry at the head of its bucket's chain.
    #[inline]
    pub(super) fn push(&mut self, bucket: u64, entry: Entry<T>) {
        let slot = slot(bucket);
        let next = self.heads[slot];
        self.heads[slot] = self.allocate(Node { entry, next });
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.words |= 1 << (slot / 64);
    }

    /// Moves a bucket's entries to the end of `into`, the one that was pushed last first.
    pub(super) fn drain(&mut self, bucket: u64, into: &mut Vec<Entry<T>>) {
        let slot = slot(bucket);
        let mut head = std::mem::replace(&mut self.heads[slot], NONE);
        while head != NONE {
            let node = &mut self.nodes[head as usize];
            into.push(node.entry);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = std::mem::replace(&mut head, next);
        }
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        if self.occupied[slot / 64] == 0 {
            self.words &= !(1 << (slot / 64));
        }
    }

    /// The first bucket that is not empty, of the [`SLOTS`] - 1 that follow `position`.
    pub(super) fn next_after(&self, position: u64) -> Option<u64> {
        let first = slot(position + 1);
        let word = first / 64;
        let rest = self.occupied[word] & (u64::MAX << (first % 64));
        let found = if rest != 0 {
            word * 64 + rest.trailing_zeros() as usize
        } else {
            // Words after the first, then from the beginning up to and with the first itself.
            let later = self.words & (u128::MAX << word) & !(1 << word);
            let candidates = if later != 0 { later } else { self.words };
            if candidates == 0 {
                return None;
            }
            let word = candidates.trailing_zeros() as usize;
            word * 64 + self.occupied[word].trailing_zeros() as usize
        };
        let ahead = (found as u64).wrapping_sub(first as u64) & (SLOTS - 1);
        Some(position + 1 + ahead)
    }

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
