//! The unanswered heartbeats of a path.

use alloc::collections::VecDeque;

use crate::time::Time;

/// The maximum number of stored heartbeats; an answer to an older one is ignored. At an interval of
/// 25 ms the oldest was sent 6 s ago.
pub(crate) const CAPACITY: usize = 256;

/// The send times of the heartbeats after the newest answered one; their numbers are consecutive.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    sent: VecDeque<Time>,
    /// The number of the oldest.
    first: u64,
}

impl Outstanding {
    /// Stores a heartbeat that is sent, and returns its number.
    pub(super) fn push(&mut self, now: Time) -> u64 {
        if self.sent.len() == CAPACITY {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back(now);
        self.first + self.sent.len() as u64 - 1
    }

    /// Removes heartbeat `id` and all before it; returns its send time and the number of earlier
    /// unanswered ones.
    pub(super) fn answer(&mut self, id: u64) -> Option<(Time, usize)> {
        let skipped = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let sent = *self.sent.get(skipped)?;
        self.sent.drain(..=skipped);
        self.first = id + 1;
        Some((sent, skipped))
    }

    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.first += self.sent.len() as u64;
        self.sent.clear();
    }

    /// The send time of the `n`-th, counted from 0 at the oldest.
    pub(super) fn nth(&self, n: usize) -> Option<Time> {
        self.sent.get(n).copied()
    }

    /// The number of stored heartbeats.
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_removes_all_earlier_heartbeats_and_counts_once() {
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
    fn the_oldest_is_dropped() {
        let mut outstanding = Outstanding::default();
        for n in 0..10_000 {
            assert_eq!(outstanding.push(Time(n)), n);
            assert!(outstanding.len() <= CAPACITY);
        }
        assert_eq!(outstanding.answer(10_000 - CAPACITY as u64 - 1), None);
        let oldest = 10_000 - CAPACITY as u64;
        assert_eq!(outstanding.answer(oldest), Some((Time(oldest), 0)));
    }
}
