//! The heartbeats of a path that no answer has overtaken.

use alloc::collections::VecDeque;

use crate::time::Time;

/// So many are remembered; the oldest gives way, and an answer to it says nothing any more. At an interval
/// of 25 ms it is 6 s old.
pub(crate) const REMEMBERED: usize = 256;

/// When the heartbeats left that are newer than the newest answered one; their numbers are consecutive.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    sent: VecDeque<Time>,
    /// The number of the oldest.
    first: u64,
}

impl Outstanding {
    /// Notes a heartbeat that leaves, and gives its number.
    pub(super) fn push(&mut self, now: Time) -> u64 {
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back(now);
        self.first + self.sent.len() as u64 - 1
    }

    /// Forgets the heartbeat `id` and all before it: when it left, and how many before it were not answered.
    pub(super) fn answer(&mut self, id: u64) -> Option<(Time, usize)> {
        let skipped = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let sent = *self.sent.get(skipped)?;
        self.sent.drain(..=skipped);
        self.first = id + 1;
        Some((sent, skipped))
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.first += self.sent.len() as u64;
        self.sent.clear();
    }

    /// When the `n`-th left, counted from 0 at the oldest.
    pub(super) fn nth(&self, n: usize) -> Option<Time> {
        self.sent.get(n).copied()
    }

    /// How many are remembered.
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_takes_all_before_it_along_and_counts_once() {
        let mut outstanding = Outstanding::default();
        for n in 0..5 {
            assert_eq!(outstanding.push(Time(n * 10)), n);
        }
        assert_eq!(outstanding.answer(2), Some((Time(20), 2)));
        assert_eq!(outstanding.answer(2), None);
        assert_eq!(outstanding.answer(0), None);
        assert_eq!(outstanding.answer(5), None, "never sent");
        assert_eq!(outstanding.nth(0), Some(Time(30)));
        outstanding.clear();
        assert_eq!(outstanding.answer(4), None);
        assert_eq!(outstanding.push(Time(50)), 5);
    }

    #[test]
    fn the_oldest_gives_way() {
        let mut outstanding = Outstanding::default();
        for n in 0..10_000 {
            assert_eq!(outstanding.push(Time(n)), n);
            assert!(outstanding.len() <= REMEMBERED);
        }
        assert_eq!(outstanding.answer(10_000 - REMEMBERED as u64 - 1), None);
        let oldest = 10_000 - REMEMBERED as u64;
        assert_eq!(outstanding.answer(oldest), Some((Time(oldest), 0)));
    }
}
