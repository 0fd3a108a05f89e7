//! Probe against data: which path would have been faster (PPD paper, 3.3 and 5.2).
//!
//! A data packet that arrives before its probe favours the active path. A probe that arrives first
//! starts a timer of `threshold` times delta T, because a data packet on the probe's path would
//! have arrived delta T later. If the timer expires before the data packet arrives, the probe's
//! path is the better one. With more than two paths, the timer that expires first wins, which is
//! the path with the minimum virtual delay.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use super::hysteresis::{CLEAR, Outcome};
use crate::frame::PathId;
use crate::machine::Deadline;
use crate::time::{Duration, Time};
use crate::window::{SlidingWindow, Verdict};

/// The maximum number of running timers; further probes are ignored. With a threshold of 2 this is
/// half a million packets a second at a delta T of 1 ms, and 11 000 at 46 ms. Under hysteresis the
/// timer of a winning probe runs for 15 ms more: 60 000 and 9 500.
pub(crate) const MAX_TIMERS: usize = 1024;

/// Timers of the probes that arrived before their data packets.
#[derive(Clone, Debug)]
pub struct Comparison {
    threshold: f64,
    margin: Option<Duration>,
    timers: BinaryHeap<Reverse<ProbeTimer>>,
}

/// Ordered by time, then by sequence and path, so that ties are deterministic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ProbeTimer {
    expires: Time,
    sequence: u64,
    path: PathId,
    /// Whether the probe has won, and the timer shows how clearly.
    has_won: bool,
}

impl Comparison {
    /// Creates a comparison that waits `threshold` times delta T for the data packet: 1 in the
    /// paper's 3.3, 2 in its 5.2.
    #[must_use]
    pub fn new(threshold: f64) -> Self {
        Self {
            threshold,
            margin: None,
            timers: BinaryHeap::new(),
        }
    }

    /// Changes the threshold; running timers are unchanged.
    pub fn set_threshold(&mut self, threshold: f64) {
        self.threshold = threshold;
    }

    /// Requires that data is later than it would have been on the other path by more than `margin`,
    /// also if the threshold is less.
    pub fn set_margin(&mut self, margin: Option<Duration>) {
        self.margin = margin;
    }

    /// Handles a probe on `path` for data packet `sequence`; `delta_t` is delta T for a packet of
    /// that size, `seen` the data packets received.
    pub fn on_probe(
        &mut self,
        now: Time,
        path: PathId,
        sequence: u64,
        delta_t: Duration,
        seen: &SlidingWindow,
    ) {
        if seen.classify(sequence) != Verdict::Fresh || self.timers.len() == MAX_TIMERS {
            return;
        }
        let threshold = Duration::from_secs_f64(self.threshold * delta_t.as_secs_f64());
        let least = self
            .margin
            .map_or(Duration::ZERO, |margin| delta_t + margin);
        self.timers.push(Reverse(ProbeTimer {
            expires: now + threshold.max(least),
            sequence,
            path,
            has_won: false,
        }));
    }

    /// Removes timers at the head of the queue whose data packet has arrived, to avoid useless
    /// wakes; `undecided` gets the paths of probes that have not won.
    pub fn on_data(&mut self, seen: &SlidingWindow, mut undecided: impl FnMut(PathId)) {
        while let Some(Reverse(timer)) = self.timers.peek()
            && seen.classify(timer.sequence) != Verdict::Fresh
        {
            if !timer.has_won {
                undecided(timer.path);
            }
            self.timers.pop();
        }
    }

    /// Returns the path of the first timer that has expired without its data packet.
    pub fn handle_timeout(&mut self, now: Time, seen: &SlidingWindow) -> Option<PathId> {
        while self
            .timers
            .peek()
            .is_some_and(|Reverse(timer)| timer.expires <= now)
        {
            let Some(Reverse(expired)) = self.timers.pop() else {
                break;
            };
            if seen.classify(expired.sequence) == Verdict::Fresh {
                return Some(expired.path);
            }
        }
        None
    }

    /// Passes on the results of all timers that have expired, under hysteresis. The timer of a probe
    /// that wins runs again, to find out whether its data is clearly later.
    pub fn expire(
        &mut self,
        now: Time,
        seen: &SlidingWindow,
        mut result: impl FnMut(PathId, Outcome),
    ) {
        while let Some(Reverse(timer)) = self.timers.peek().copied()
            && timer.expires <= now
        {
            self.timers.pop();
            let is_missing = seen.classify(timer.sequence) == Verdict::Fresh;
            match (is_missing, timer.has_won) {
                (true, true) => result(timer.path, Outcome::Clear),
                (true, false) => {
                    result(timer.path, Outcome::Other);
                    self.timers.push(Reverse(ProbeTimer {
                        expires: timer.expires + CLEAR,
                        has_won: true,
                        ..timer
                    }));
                }
                (false, true) => {}
                (false, false) => result(timer.path, Outcome::Neither),
            }
        }
    }

    /// Removes all timers: after a switch, pairs of the previous epoch do not count.
    pub fn clear(&mut self) {
        self.timers.clear();
    }

    /// The number of running timers; at most 1024.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.timers.len()
    }

    /// The time at which the next timer expires.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Option<Deadline> {
        self.timers.peek().map(|Reverse(timer)| Deadline {
            at: timer.expires,
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
    fn data_before_its_probe_favours_the_active_path() {
        let mut seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(2.0);
        seen.accept(7);
        comparison.on_probe(at(0), OTHER, 7, MS * 4, &seen);
        assert_eq!(comparison.deadline(), None);
    }

    #[test]
    fn data_within_the_threshold_favours_the_active_path() {
        let mut seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(2.0);
        comparison.on_probe(at(0), OTHER, 7, MS * 4, &seen);
        assert_eq!(
            comparison.deadline().map(|d| d.at),
            Some(at(8)),
            "twice delta T"
        );
        seen.accept(7);
        comparison.on_data(&seen, |_| {});
        assert_eq!(comparison.deadline(), None);
        assert_eq!(comparison.handle_timeout(at(8), &seen), None);
    }

    #[test]
    fn data_later_than_the_threshold_favours_the_probe() {
        let seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(1.0);
        comparison.on_probe(at(0), OTHER, 7, MS * 4, &seen);
        assert_eq!(comparison.handle_timeout(at(3), &seen), None);
        assert_eq!(comparison.handle_timeout(at(4), &seen), Some(OTHER));
        assert_eq!(
            comparison.handle_timeout(at(9), &seen),
            None,
            "a pair counts once"
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
        assert_eq!(comparison.timers.len(), MAX_TIMERS);
    }

    #[test]
    fn a_probe_that_wins_is_reported_again_if_its_data_is_clearly_later() {
        let mut seen = SlidingWindow::new(64);
        let mut comparison = Comparison::new(1.0);
        for sequence in [7, 8, 9] {
            comparison.on_probe(at(0), OTHER, sequence, MS * 4, &seen);
        }
        let results = |comparison: &mut Comparison, ms, seen: &SlidingWindow| {
            let mut results = alloc::vec::Vec::new();
            comparison.expire(at(ms), seen, |path, outcome| {
                assert_eq!(path, OTHER);
                results.push(outcome);
            });
            results
        };
        seen.accept(8);
        let first = results(&mut comparison, 4, &seen);
        assert_eq!(first, [Outcome::Other, Outcome::Neither, Outcome::Other]);
        seen.accept(9);
        comparison.on_data(&seen, |_| panic!("the probe has won"));
        assert_eq!(comparison.deadline().map(|d| d.at), Some(at(19)));
        assert_eq!(results(&mut comparison, 19, &seen), [Outcome::Clear]);
        assert_eq!(comparison.deadline(), None);
    }
}
