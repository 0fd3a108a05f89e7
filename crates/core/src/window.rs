//! A sliding window over sequence numbers that detects duplicates in bounded memory and constant
//! time.
//!
//! The bits form a ring of 64-bit blocks, and advancing clears whole blocks (RFC 6479). Used for
//! duplicate elimination and for replay protection.

use alloc::boxed::Box;
use alloc::vec;

const BLOCK: u64 = u64::BITS as u64;

/// The classification of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not seen before.
    Fresh,
    /// Seen before.
    Duplicate,
    /// Too old: outside the window.
    Behind,
}

/// The set of sequence numbers seen among the newest `span()` ones.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    blocks: Box<[u64]>,
    /// One past the newest sequence number seen; 0 before the first.
    end: u64,
}

impl SlidingWindow {
    /// Creates a window of at least the newest `span` sequence numbers (rounded up to whole
    /// blocks).
    #[must_use]
    pub fn new(span: u32) -> Self {
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
            Verdict::Fresh
        } else if self.end - sequence > self.span() {
            Verdict::Behind
        } else if self.blocks[self.slot(sequence)] & bit(sequence) != 0 {
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
            self.blocks[slot] |= bit(sequence);
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
        self.end = sequence.saturating_add(1);
    }

    fn slot(&self, sequence: u64) -> usize {
        (sequence / BLOCK) as usize & (self.blocks.len() - 1)
    }
}

fn bit(sequence: u64) -> u64 {
    1 << (sequence % BLOCK)
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
    }

    proptest! {
        /// Compared with an unbounded set: no number is fresh twice, and numbers within the span
        /// are classified exactly.
        #[test]
        fn agrees_with_a_set(
            span in 1_u32..400,
            steps in prop::collection::vec((0_u64..700, any::<bool>()), 1..400),
        ) {
            let mut window = SlidingWindow::new(span);
            let mut seen = BTreeSet::new();
            let mut newest = 0_u64;
            for (offset, ahead) in steps {
                let sequence = if ahead { newest + offset } else { newest.saturating_sub(offset) };
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
