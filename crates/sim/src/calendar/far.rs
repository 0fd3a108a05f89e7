//! The last tier of the calendar: what falls due after all that the wheel holds.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use polypath_core::time::Time;

use super::Entry;

/// Number of pages in the ring.
const PAGES: u64 = 128;

/// Events by page of time: the next [`PAGES`] pages from the current one as
/// a ring of lists in the order of scheduling; later events in a heap.
#[derive(Clone, Debug)]
pub(super) struct Far<T> {
    /// The width of a page: 2^bits ns.
    bits: u32,
    pages: Box<[Vec<Entry<T>>]>,
    occupied: u128,
    present: u64,
    later: BinaryHeap<Later<T>>,
    sequence: u64,
}

impl<T: Copy> Far<T> {
    pub(super) fn new(bits: u32) -> Self {
        Self {
            bits,
            pages: vec![Vec::new(); slot(PAGES - 1) + 1].into_boxed_slice(),
            occupied: 0,
            present: 0,
            later: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Appends an entry to its page, which must not be over.
    pub(super) fn push(&mut self, entry: Entry<T>) {
        let page = self.page_of(&entry);
        if page - self.present < PAGES {
            self.pages[slot(page)].push(entry);
            self.occupied |= 1 << slot(page);
        } else {
            self.sequence += 1;
            let sequence = self.sequence;
            self.later.push(Later { entry, sequence });
        }
    }

    /// The first page that is not empty.
    pub(super) fn first(&self) -> Option<u64> {
        if self.occupied == 0 {
            return Some(self.page_of(&self.later.peek()?.entry));
        }
        let start = self.present - self.present % PAGES;
        let ahead = self.occupied & (u128::MAX << slot(self.present));
        Some(match ahead {
            0 => start + PAGES + u64::from(self.occupied.trailing_zeros()),
            _ => start + u64::from(ahead.trailing_zeros()),
        })
    }

    /// Moves on to `page`; `take` receives all entries up to those of the page after it, each after
    /// those of its time that were scheduled before it.
    pub(super) fn turn_to(&mut self, page: u64, mut take: impl FnMut(Entry<T>)) {
        while let Some(first) = self.first()
            && first <= page + 1
        {
            if self.occupied == 0 {
                self.present = first - 1;
                self.fetch_later();
            }
            self.pages[slot(first)].drain(..).for_each(&mut take);
            self.occupied &= !(1 << slot(first));
        }
        self.present = page;
        self.fetch_later();
    }

    /// Moves entries from the heap to the pages that the ring now covers, before any can be
    /// scheduled there directly.
    fn fetch_later(&mut self) {
        while let Some(later) = self.later.peek()
            && self.page_of(&later.entry) - self.present < PAGES
            && let Some(Later { entry, .. }) = self.later.pop()
        {
            self.push(entry);
        }
    }

    const fn page_of(&self, entry: &Entry<T>) -> u64 {
        entry.at.0 >> self.bits
    }
}

const fn slot(page: u64) -> usize {
    (page % PAGES) as usize
}

/// An entry of the heap, the earliest the greatest.
#[derive(Clone, Debug)]
struct Later<T> {
    entry: Entry<T>,
    sequence: u64,
}

impl<T> Later<T> {
    const fn key(&self) -> (Time, u64) {
        (self.entry.at, self.sequence)
    }
}

impl<T> PartialEq for Later<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Later<T> {}

impl<T> PartialOrd for Later<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Later<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
