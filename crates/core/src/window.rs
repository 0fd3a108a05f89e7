//! A sliding window over sequence numbers: what was seen before, in bounded memory and constant time.
//!
//! Bits stand in a ring of 64-bit blocks, and moving ahead clears whole blocks (RFC 6479). Combining
//! copies and refusing replayed datagrams are the same question, so both ask here.

use alloc::boxed::Box;
use alloc::vec;

const BLOCK: u64 = u64::BITS as u64;

/// What a window says of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not seen before.
    Fresh,
    /// Seen before.
    Duplicate,
    /// So far behind the newest that nothing is known of it.
    Behind,
}

/// The sequence numbers seen among the newest `span()` ones.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    blocks: Box<[u64]>,
    /// One past the newest sequence number seen; 0 before the first.
    end: u64,
}

impl SlidingWindow {
    /// A window that knows at least the newest `span` sequence numbers (rounded up to whole blocks).
    #[must_use]
    pub fn new(span: u32) -> Self {
        let blocks = (u64::from(span).div_ceil(BLOCK) + 1).next_power_of_two();
        Self {
            blocks: vec![0; usize::try_from(blocks).unwrap_or(2)].into_boxed_slice(),
            end: 0,
        }
    }

    /// How many of the newest sequence numbers are always known. One block less than is stored, since
    /// the newest block is only partly filled.
    #[must_use]
    pub fn span(&self) -> u64 {
        (self.blocks.len() as u64 - 1) * BLOCK
    }

    /// One past the newest sequence number seen; 0 before the first.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// What is known of `sequence`, without recording it.
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

    /// Records `sequence` and says what was known of it before.
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
        // Blocks hold marks up to the one of `end - 1`; all newer ones, up to the one of `sequence`, are
        // reused and must not keep marks of a lap ago.
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
    fn knows_what_it_saw() {
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
        /// Against a set that forgets nothing: never fresh twice, and known for at least the span.
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
