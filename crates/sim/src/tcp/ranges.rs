//! A small set of sequence numbers, kept as sorted ranges.

/// The numbers from `start` up to, but not including, `end`; not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first number.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Range {
    /// The number of elements.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// Sorted ranges that neither overlap nor touch.
///
/// Receivers keep segments that arrived out of order in it, senders selectively acknowledged ones.
/// The cost of a call grows with the number of ranges, that is of holes, not of elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<Range>,
}

impl RangeSet {
    /// Whether it is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The ranges in ascending order.
    #[must_use]
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// The range that contains `number`.
    #[must_use]
    pub fn find(&self, number: u32) -> Option<Range> {
        let next = *self.ranges.get(self.first_ending_after(number))?;
        (next.start <= number).then_some(next)
    }

    /// Adds the numbers of `range`; true if any of them is new.
    pub fn insert(&mut self, range: Range) -> bool {
        if range.is_empty() {
            return false;
        }
        // Those from `first` to before `after` overlap or touch it.
        let first = self.ranges.partition_point(|r| r.end < range.start);
        let touched = self.ranges[first..].iter();
        let after = first + touched.take_while(|r| r.start <= range.end).count();
        if first == after {
            self.ranges.insert(first, range);
            return true;
        }
        let (head, tail) = (self.ranges[first], self.ranges[after - 1]);
        if head.start <= range.start && head.end >= range.end {
            return false;
        }
        self.ranges[first] = Range {
            start: head.start.min(range.start),
            end: tail.end.max(range.end),
        };
        self.ranges.drain(first + 1..after);
        true
    }

    /// Removes the numbers before `number`.
    pub fn forget_before(&mut self, number: u32) {
        let gone = self.first_ending_after(number);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(number);
        }
    }

    /// The first number from `from` on that is not in the set.
    #[must_use]
    pub fn first_missing(&self, from: u32) -> u32 {
        self.find(from).map_or(from, |range| range.end)
    }

    /// The number of elements of `range` that are in the set.
    #[must_use]
    pub fn count_within(&self, range: Range) -> u32 {
        let first = self.first_ending_after(range.start);
        let overlapping = self.ranges[first..].iter();
        overlapping
            .take_while(|r| r.start < range.end)
            .map(|r| r.end.min(range.end) - r.start.max(range.start))
            .sum()
    }

    /// The `n`-th greatest number, from 1.
    #[must_use]
    pub fn nth_greatest(&self, n: u32) -> Option<u32> {
        let mut left = n;
        for range in self.ranges.iter().rev() {
            if left <= range.len() {
                return Some(range.end - left);
            }
            left -= range.len();
        }
        None
    }

    /// The parts of `range` that are not in the set, in ascending order.
    pub fn gaps(&self, range: Range) -> impl Iterator<Item = Range> {
        let mut start = range.start;
        let inside = self.ranges.iter().skip(self.first_ending_after(start));
        let after = Range {
            start: range.end,
            end: range.end,
        };
        let until = inside
            .copied()
            .take_while(move |known| known.start < range.end);
        let gaps = until.chain([after]).map(move |known| {
            let gap = Range {
                start,
                end: known.start.max(start),
            };
            start = start.max(known.end);
            gap
        });
        gaps.filter(|gap| !gap.is_empty())
    }

    fn first_ending_after(&self, number: u32) -> usize {
        self.ranges.partition_point(|r| r.end <= number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_numbers(
            steps in proptest::collection::vec((0_u32..60, 0_u32..9, proptest::bool::weighted(0.1)), 1..80),
            probe in 0_u32..70,
            nth in 1_u32..12,
        ) {
            let (mut ranges, mut plain) = (RangeSet::default(), BTreeSet::new());
            for (start, len, forget) in steps {
                if forget {
                    ranges.forget_before(start);
                    plain.retain(|n| *n >= start);
                } else {
                    let before = plain.len();
                    plain.extend(start..start + len);
                    let is_new = ranges.insert(Range { start, end: start + len });
                    prop_assert_eq!(is_new, plain.len() > before);
                }
            }
            let apart = ranges.ranges().windows(2).all(|pair| pair[0].end < pair[1].start);
            prop_assert!(apart && ranges.ranges().iter().all(|r| !r.is_empty()));
            let listed: Vec<u32> = ranges.ranges().iter().flat_map(|r| r.start..r.end).collect();
            prop_assert_eq!(&listed, &plain.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(ranges.find(probe).is_some(), plain.contains(&probe));
            let missing = (probe..100).find(|n| !plain.contains(n)).unwrap();
            prop_assert_eq!(ranges.first_missing(probe), missing);
            let within = plain.range(probe / 2..probe).count();
            let half = Range { start: probe / 2, end: probe };
            prop_assert_eq!(ranges.count_within(half) as usize, within);
            let missing: Vec<u32> = ranges.gaps(half).flat_map(|r| r.start..r.end).collect();
            let expected: Vec<u32> = (half.start..half.end).filter(|n| !plain.contains(n)).collect();
            prop_assert_eq!(missing, expected);
            let greatest = plain.iter().rev().nth(nth as usize - 1).copied();
            prop_assert_eq!(ranges.nth_greatest(nth), greatest);
        }
    }
}
