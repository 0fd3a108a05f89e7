//! Probe against data: which path would have been faster (PPD paper, 3.3 and 5.2).
//!
//! A data packet that comes before its probe speaks for the active path. A probe that comes first starts
//! a timer of `threshold` times delta T, since a data packet in its place would have come delta T later.
//! Where the data packet has not come when the timer ends, the probe's path is the better one. With more
//! than two paths the probe whose timer ends first wins, that is the least virtual delay.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use crate::frame::PathId;
use crate::machine::Deadline;
use crate::time::{Duration, Time};
use crate::window::{SlidingWindow, Verdict};

/// Most probes whose timers run at once; further ones are not compared. With a threshold of 2 this is half a million
/// packets a second at a delta T of 1 ms, and 11 000 at 46 ms.
pub(crate) const MAX_TIMERS: usize = 1024;

/// The probes that came before their data packets, and what they say.
#[derive(Clone, Debug)]
pub struct Comparison {
    threshold: f64,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

/// Ordered by time, then by sequence and path, so that equal times are no matter of chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    until: Time,
    sequence: u64,
    path: PathId,
}

impl Comparison {
    /// Waits `threshold` times delta T for the data packet: 1 in the paper's 3.3, 2 in its 5.2.
    #[must_use]
    pub fn new(threshold: f64) -> Self {
        Self {
            threshold,
            waiting: BinaryHeap::new(),
        }
    }

    /// Waits `threshold` times delta T from now on; timers that run keep their end.
    pub fn set_threshold(&mut self, threshold: f64) {
        self.threshold = threshold;
    }

    /// Takes a probe on `path` that stands for data packet `sequence`, where delta T for a packet of that
    /// size is `delta_t`; `seen` tells which data packets have come.
    pub fn on_probe(
        &mut self,
        now: Time,
        path: PathId,
        sequence: u64,
        delta_t: Duration,
        seen: &SlidingWindow,
    ) {
        if seen.classify(sequence) != Verdict::Fresh || self.waiting.len() == MAX_TIMERS {
            return;
        }
        let wait = Duration::from_secs_f64(self.threshold * delta_t.as_secs_f64());
        self.waiting.push(Reverse(Waiting {
            until: now + wait,
            sequence,
            path,
        }));
    }

    /// Drops timers whose data packet has come from the head of the queue, so that nobody wakes for them.
    pub fn on_data(&mut self, seen: &SlidingWindow) {
        while self
            .waiting
            .peek()
            .is_some_and(|Reverse(w)| seen.classify(w.sequence) != Verdict::Fresh)
        {
            self.waiting.pop();
        }
    }

    /// The path of the first timer that ended at `now` or before without its data packet.
    pub fn handle_timeout(&mut self, now: Time, seen: &SlidingWindow) -> Option<PathId> {
        while self.waiting.peek().is_some_and(|Reverse(w)| w.until <= now) {
            let Some(Reverse(ended)) = self.waiting.pop() else {
                break;
            };
            if seen.classify(ended.sequence) == Verdict::Fresh {
                return Some(ended.path);
            }
        }
        None
    }

    /// Forgets all timers: after a switch the pairs of the epoch before it do not vote.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// How many timers run; at most 1024.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.waiting.len()
    }

    /// When the next timer ends.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.waiting.peek().map(|Reverse(w)| Deadline {
            at: w.until,
            why: "delta T of a probe",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const OTHER: PathId = PathId(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    #[test]
    fn data_before_its_probe_speaks_for_the_active_path() {
        let mut seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(2.0);
        seen.accept(7);
        comparison.on_probe(at(0), OTHER, 7, MS * 4, &seen);
        assert_eq!(comparison.deadline(), None);
    }

    #[test]
    fn data_within_the_threshold_speaks_for_the_active_path() {
        let mut seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(2.0);
        comparison.on_probe(at(0), OTHER, 7, MS * 4, &seen);
        assert_eq!(
            comparison.deadline().map(|d| d.at),
            Some(at(8)),
            "twice delta T"
        );
        seen.accept(7);
        comparison.on_data(&seen);
        assert_eq!(comparison.deadline(), None);
        assert_eq!(comparison.handle_timeout(at(8), &seen), None);
    }

    #[test]
    fn data_later_than_the_threshold_speaks_for_the_probe() {
        let seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(1.0);
        comparison.on_probe(at(0), OTHER, 7, MS * 4, &seen);
        assert_eq!(comparison.handle_timeout(at(3), &seen), None);
        assert_eq!(comparison.handle_timeout(at(4), &seen), Some(OTHER));
        assert_eq!(
            comparison.handle_timeout(at(9), &seen),
            None,
            "a pair votes once"
        );
    }

    #[test]
    fn of_several_probes_the_least_virtual_delay_wins() {
        let seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(1.0);
        comparison.on_probe(at(0), PathId(1), 7, MS * 40, &seen);
        comparison.on_probe(at(10), PathId(2), 7, MS * 4, &seen);
        assert_eq!(comparison.handle_timeout(at(100), &seen), Some(PathId(2)));
    }

    #[test]
    fn a_flood_of_probes_is_bounded() {
        let seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(1.0);
        for sequence in 0..10 * MAX_TIMERS as u64 {
            comparison.on_probe(at(0), OTHER, sequence, MS, &seen);
        }
        assert_eq!(comparison.waiting.len(), MAX_TIMERS);
    }
}
