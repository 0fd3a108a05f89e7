//! A sliding window over sequence numbers that detects duplicates in bounded memory and constant
//! time.
//!
//! The bits form a ring of 64-bit blocks, and advancing clears whole blocks (RFC 6479). Used for
//! duplicate elimination and for replay protection. The number of bits in a block is a parameter,
//! so that the tests can visit every state of a small window.

use alloc::boxed::Box;
use alloc::vec;

/// The bits of a block, which is one word.
const WORD: u64 = u64::BITS as u64;

/// The classification of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not seen before.
    Fresh,
    /// Seen before.
    Duplicate,
    /// Too old: outside the window. So is `u64::MAX`, which no window can record.
    Behind,
}

/// The set of sequence numbers seen among the newest `span()` ones, in blocks of `BLOCK` bits.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq, PartialOrd, Ord))]
pub struct SlidingWindow<const BLOCK: u64 = WORD> {
    blocks: Box<[u64]>,
    /// One past the newest sequence number seen; 0 before the first.
    end: u64,
}

impl SlidingWindow {
    /// Creates a window of at least the newest `span` sequence numbers (rounded up to whole
    /// blocks).
    #[must_use]
    pub fn new(span: u32) -> Self {
        Self::in_blocks(span)
    }
}

impl<const BLOCK: u64> SlidingWindow<BLOCK> {
    fn in_blocks(span: u32) -> Self {
        let blocks = (u64::from(span).div_ceil(BLOCK) + 1).next_power_of_two();
        Self {
            blocks: vec![0; usize::try_from(blocks).unwrap_or(2)].into_boxed_slice(),
            end: 0,
        }
    }

    /// The number of newest sequence numbers that the window always covers: one block less than is
    /// stored, since the newest block is only partly filled.
    #[must_use]
    pub fn span(&self) -> u64 {
        (self.blocks.len() as u64 - 1) * BLOCK
    }

    /// One past the newest sequence number seen; 0 before the first.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Classifies `sequence` without recording it.
    #[must_use]
    pub fn classify(&self, sequence: u64) -> Verdict {
        if sequence >= self.end {
            // The end of a window that holds `u64::MAX` would not be a number.
            if sequence == u64::MAX {
                Verdict::Behind
            } else {
                Verdict::Fresh
            }
        } else if self.end - sequence > self.span() {
            Verdict::Behind
        } else if self.blocks[self.slot(sequence)] & Self::bit(sequence) != 0 {
            Verdict::Duplicate
        } else {
            Verdict::Fresh
        }
    }

    /// Records `sequence` and returns its classification before.
    pub fn accept(&mut self, sequence: u64) -> Verdict {
        let verdict = self.classify(sequence);
        if verdict == Verdict::Fresh {
            self.advance(sequence);
            let slot = self.slot(sequence);
            self.blocks[slot] |= Self::bit(sequence);
        }
        verdict
    }

    fn advance(&mut self, sequence: u64) {
        if sequence < self.end {
            return;
        }
        // The blocks after that of `end - 1`, up to that of `sequence`, are reused and may hold
        // bits of an earlier pass through the ring.
        let first = self.end.div_ceil(BLOCK);
        let last = sequence / BLOCK;
        let stale = (last + 1)
            .saturating_sub(first)
            .min(self.blocks.len() as u64);
        for block in (last + 1 - stale)..=last {
            let slot = self.slot(block * BLOCK);
            self.blocks[slot] = 0;
        }
        self.end = sequence + 1;
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits select the block"
    )]
    fn slot(&self, sequence: u64) -> usize {
        (sequence / BLOCK) as usize & (self.blocks.len() - 1)
    }

    fn bit(sequence: u64) -> u64 {
        1 << (sequence % BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    #[test]
    fn classifies_fresh_duplicate_and_old_numbers() {
        let mut window = SlidingWindow::new(128);
        assert_eq!(window.accept(5), Verdict::Fresh);
        assert_eq!(window.accept(5), Verdict::Duplicate);
        assert_eq!(window.accept(4), Verdict::Fresh);
        assert_eq!(window.accept(5 + window.span()), Verdict::Fresh);
        assert_eq!(window.accept(5), Verdict::Behind);
        assert_eq!(window.accept(u64::MAX - 1), Verdict::Fresh);
        assert_eq!(window.accept(u64::MAX - 1), Verdict::Duplicate);
        assert_eq!(window.accept(u64::MAX), Verdict::Behind);
    }

    /// The sequence numbers of the exhaustive check are this many consecutive ones.
    const NUMBERS: u64 = 20;

    /// A window, and a bit for each number that it accepted.
    type Visited<const BLOCK: u64> = (SlidingWindow<BLOCK>, u32);

    /// The specification: the classification of the number `n` after the numbers in `seen` from
    /// `first`.
    fn expected(span: u64, first: u64, seen: u32, n: u64) -> Verdict {
        let end = u64::from(u32::BITS - seen.leading_zeros());
        if first + n == u64::MAX || n + span < end {
            Verdict::Behind
        } else if seen >> n & 1 == 1 {
            Verdict::Duplicate
        } else {
            Verdict::Fresh
        }
    }

    /// Accepts every number in every state that a window of small blocks can reach with numbers
    /// from `first`, and returns the number of these states.
    fn visit_all<const BLOCK: u64>(span: u32, first: u64) -> usize {
        let empty = SlidingWindow::<BLOCK>::in_blocks(span);
        let span = empty.span();
        let mut known: BTreeSet<Visited<BLOCK>> = BTreeSet::new();
        let mut pending = alloc::vec![(empty, 0)];
        while let Some((window, seen)) = pending.pop() {
            for n in 0..NUMBERS {
                let mut next = window.clone();
                let verdict = next.accept(first + n);
                assert_eq!(verdict, expected(span, first, seen, n), "{window:?}, {n}");
                if verdict != Verdict::Fresh {
                    assert_eq!(next, window);
                    continue;
                }
                // What is further behind than the span is forgotten: it cannot differ again.
                let seen = seen | 1 << n;
                let newest = seen.ilog2();
                let recent = (u64::from(newest) + 1).saturating_sub(span);
                let seen = seen >> recent << recent;
                if known.insert((next.clone(), seen)) {
                    pending.push((next, seen));
                }
            }
        }
        known.len()
    }

    /// Blocks of one, two and four bits, rings of two to eight blocks, and numbers at both ends of
    /// their range that pass each ring at least once.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn every_state_of_a_small_window_is_exact() {
        for first in [0, u64::MAX - (NUMBERS - 1)] {
            let mut states = 0;
            for span in 1..=7 {
                states += visit_all::<1>(span, first);
            }
            for span in 1..=6 {
                states += visit_all::<2>(span, first);
            }
            states += visit_all::<4>(4, first);
            assert!(states > 10_000, "{states}");
        }
    }

    proptest! {
        /// Compared with an unbounded set: no number is fresh twice, and numbers within the span
        /// are classified exactly.
        #[test]
        fn agrees_with_a_set(
            span in 1_u32..400,
            first in prop_oneof![Just(0), any::<u64>(), u64::MAX - 10_000..],
            steps in prop::collection::vec((0_u64..700, any::<bool>()), 1..400),
        ) {
            let mut window = SlidingWindow::new(span);
            let mut seen = BTreeSet::new();
            let mut newest = first;
            for (offset, ahead) in steps {
                let sequence =
                    if ahead { newest.saturating_add(offset) } else { newest.saturating_sub(offset) };
                if sequence == u64::MAX {
                    prop_assert_eq!(window.accept(sequence), Verdict::Behind);
                    continue;
                }
                let near = newest < sequence || newest - sequence < u64::from(span);
                let verdict = window.accept(sequence);
                if seen.contains(&sequence) {
                    prop_assert_ne!(verdict, Verdict::Fresh);
                }
                if near {
                    let expected =
                        if seen.contains(&sequence) { Verdict::Duplicate } else { Verdict::Fresh };
                    prop_assert_eq!(verdict, expected);
                }
                seen.insert(sequence);
                newest = newest.max(sequence);
            }
        }
    }
}
