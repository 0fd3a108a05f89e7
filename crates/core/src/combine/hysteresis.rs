//! Hysteresis of the comparison: a switch needs a lasting lead of another path.
//!
//! The paper's receiver requests a switch as soon as one probe wins (PPD paper, 3.3). On paths that
//! are equally good this follows chance: a data packet that waits in a queue or is lost is enough,
//! so that data moves up to hundreds of times a second, and each move reorders it.
//!
//! **Votes.** Each comparison favours the other path (its probe wins), the active path (the probe
//! arrives after the data or not at all), or neither. Data has to be [`MARGIN`] later than it would
//! have been on the other path, because hosts take longer for data than for a probe. Each
//! [`INTERVAL`] has a vote: for the other path if more than 3 to 2 of the comparisons that favour
//! one favour it, for the active path if most do. Those that favour neither do not count: of a path
//! that loses 5 %, most favour neither. A vote for the other path adds to its score, a vote for the
//! active path subtracts a quarter more, a score is never negative, and it is discarded after
//! [`STALE`] without a comparison. So paths that lose or delay packets alike keep low scores, and a
//! path that is better wins after [`LEAD`] votes: within half a second if every interval has a
//! vote. An interval in which most comparisons find data missing [`CLEAR`] after its probe has won
//! is a clear vote, which counts four times: this is congestion.
//!
//! **Hold.** After a switch no other is requested for a hold of [`SHORTEST_HOLD`]. If the next
//! switch follows soon, within [`LASTING`] times the hold, the hold doubles, up to
//! [`LONGEST_HOLD`]; otherwise it is reset. [`CLEAR_VOTES`] clear votes in a row end a hold after
//! its shortest time: a path that becomes congested is left within a second.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::frame::PathId;
use crate::hold::next_hold;
use crate::time::{Duration, Time};

/// The minimum time by which the other path has to be faster.
pub const MARGIN: Duration = Duration::from_millis(1);
/// The time in which comparisons are counted for one vote.
pub const INTERVAL: Duration = Duration::from_millis(20);
/// The lead at which another path wins, in votes.
pub const LEAD: u32 = 20;
/// Data that is missing this long after its probe has won is clearly later.
pub const CLEAR: Duration = Duration::from_millis(15);
/// The time without comparisons after which votes are discarded.
pub const STALE: Duration = Duration::from_secs(2);
/// The number of consecutive clear votes that end a hold.
pub const CLEAR_VOTES: u32 = 5;
/// The first hold.
pub const SHORTEST_HOLD: Duration = Duration::from_secs(1);
/// The maximum hold.
pub const LONGEST_HOLD: Duration = Duration::from_secs(32);
/// A switch that lasts this many times its hold resets the hold.
pub const LASTING: u64 = 8;

/// The score that a vote for the other path adds.
const FOR: u32 = 4;
/// The score that a clear vote adds.
const CLEARLY_FOR: u32 = 16;
/// The score that a vote for the active path subtracts.
const AGAINST: u32 = 5;
/// More consecutive sequence numbers than this that are missing on a path are not its losses: it
/// carried none of them.
const MAX_GAP: u64 = 64;

/// The result of the comparison of a probe with its data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Neither path is better.
    Neither,
    /// The active path is better: the probe arrived after the data, or not at all.
    Active,
    /// The path of the probe is better.
    Other,
    /// Data that was later than the probe is still missing after [`CLEAR`]; an
    /// [`Outcome::Other`] has been counted for it.
    Clear,
}

/// The votes on each path, and the hold after a switch.
#[derive(Clone, Debug)]
pub struct Hysteresis {
    candidates: Vec<Candidate>,
    hold: Duration,
    /// The time of the last switch.
    switched: Option<Time>,
}

/// A path that is compared with the active one.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    /// The newest sequence number on the path.
    newest: Option<u64>,
    /// The start of the interval.
    start: Time,
    /// The comparisons of the interval.
    count: Count,
    score: u32,
    /// The number of consecutive clear votes.
    clear: u32,
    /// The time since which it has the lead that wins.
    led_since: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    neither: u32,
    active: u32,
    other: u32,
    clear: u32,
}

impl Hysteresis {
    /// The hysteresis of a comparison of `paths` paths, without votes.
    #[must_use]
    pub fn new(paths: u8) -> Self {
        Self {
            candidates: vec![Candidate::default(); usize::from(paths)],
            hold: SHORTEST_HOLD,
            switched: None,
        }
    }

    /// Notes the arrival of data or a probe with this sequence number on `path`, and returns the
    /// earlier ones that have not arrived there.
    pub fn on_arrival(&mut self, path: PathId, sequence: u64) -> core::ops::Range<u64> {
        let Some(candidate) = self.candidates.get_mut(path.index()) else {
            return 0..0;
        };
        let missing = candidate
            .newest
            .map_or(0..0, |newest| newest.saturating_add(1)..sequence);
        candidate.newest = candidate.newest.max(Some(sequence));
        if missing.end.saturating_sub(missing.start) > MAX_GAP {
            return 0..0;
        }
        missing
    }

    /// Counts a comparison with a probe on `path`.
    pub fn count(&mut self, now: Time, path: PathId, outcome: Outcome) {
        let Some(candidate) = self.candidates.get_mut(path.index()) else {
            return;
        };
        if now >= candidate.start + STALE {
            candidate.restart();
            candidate.start = now;
        } else if now >= candidate.start + INTERVAL {
            candidate.vote();
            candidate.start = now;
        }
        let count = &mut candidate.count;
        let counter = match outcome {
            Outcome::Neither => &mut count.neither,
            Outcome::Active => &mut count.active,
            Outcome::Other => &mut count.other,
            Outcome::Clear => &mut count.clear,
        };
        *counter = counter.saturating_add(1);
    }

    /// The path that has won, if a switch is allowed.
    #[must_use]
    pub fn winner(&self, now: Time) -> Option<PathId> {
        let since = self.switched.map(|switched| now.since(switched));
        let is_over = |hold| since.is_none_or(|since| since >= hold);
        let has_won = |candidate: &Candidate| {
            let is_clear = candidate.clear >= CLEAR_VOTES && is_over(SHORTEST_HOLD);
            candidate.score >= LEAD * FOR && (is_clear || is_over(self.hold))
        };
        let candidates = self.candidates.iter().zip((0..).map(PathId));
        let winners = candidates.filter(|(candidate, _)| has_won(candidate));
        // Of those that have led for equally long, the first in the file.
        winners
            .min_by_key(|(candidate, path)| (Reverse(candidate.clear), candidate.led_since, *path))
            .map(|(_, path)| path)
    }

    /// Notes that a switch is requested, and starts its hold.
    pub fn on_switch(&mut self, now: Time) {
        let lasted = |switched: Time| now.since(switched) >= self.hold * LASTING;
        let has_lasted = self.switched.is_none_or(lasted);
        self.hold = next_hold(self.hold, has_lasted, [SHORTEST_HOLD, LONGEST_HOLD]);
        self.switched = Some(now);
        self.restart();
    }

    /// Discards the votes: data has moved to another path.
    pub fn restart(&mut self) {
        for candidate in &mut self.candidates {
            candidate.restart();
        }
    }
}

impl Candidate {
    /// Discards the votes.
    fn restart(&mut self) {
        *self = Self {
            newest: self.newest,
            ..Self::default()
        };
    }

    /// Ends an interval.
    fn vote(&mut self) {
        let Count {
            neither,
            active,
            other,
            clear,
        } = core::mem::take(&mut self.count);
        let is_clear = clear * 2 > neither + active + other && other > active;
        if is_clear {
            self.clear += 1;
            self.score += CLEARLY_FOR;
        } else if other * 2 > active * 3 {
            self.clear = 0;
            self.score += FOR;
        } else {
            self.clear = 0;
            if active > other {
                self.score = self.score.saturating_sub(AGAINST);
            }
        }
        self.score = self.score.min(LEAD * FOR);
        if self.score < LEAD * FOR {
            self.led_since = None;
        } else {
            self.led_since.get_or_insert(self.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: PathId = PathId(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Counts a result in each interval from `from` until the other path wins, at most 100 s, and
    /// returns the time of the switch in milliseconds.
    fn switch(hysteresis: &mut Hysteresis, from: u64, outcomes: &[Outcome]) -> Option<u64> {
        for interval in 0..5_000 {
            let now = at(from + 20 * interval);
            for outcome in outcomes {
                hysteresis.count(now, OTHER, *outcome);
            }
            if hysteresis.winner(now).is_some() {
                hysteresis.on_switch(now);
                return Some(from + 20 * interval);
            }
        }
        None
    }

    #[test]
    fn a_path_wins_after_a_lead_of_votes() {
        let mut hysteresis = Hysteresis::new(2);
        assert_eq!(switch(&mut hysteresis, 0, &[Outcome::Other]), Some(400));
        let mut hysteresis = Hysteresis::new(2);
        let clear = [Outcome::Other, Outcome::Clear];
        assert_eq!(switch(&mut hysteresis, 0, &clear), Some(100));
        for even in [
            [Outcome::Neither; 5],
            [Outcome::Active; 5],
            [
                Outcome::Other,
                Outcome::Other,
                Outcome::Other,
                Outcome::Active,
                Outcome::Active,
            ],
        ] {
            let mut hysteresis = Hysteresis::new(2);
            assert_eq!(switch(&mut hysteresis, 0, &even), None, "{even:?}");
        }
    }

    #[test]
    fn old_votes_and_clear_votes_with_others_between_do_not_count() {
        let mut hysteresis = Hysteresis::new(2);
        for interval in 0..19 {
            hysteresis.count(at(20 * interval), OTHER, Outcome::Other);
        }
        assert_eq!(
            switch(&mut hysteresis, 60_000, &[Outcome::Other]),
            Some(60_400)
        );
        // After the first hold, a longer one that only clear votes in a row end.
        let last = switch(&mut hysteresis, 60_400, &[Outcome::Other]).unwrap();
        let mixed = |interval: u64| match interval % 2 {
            0 => &[Outcome::Other, Outcome::Clear][..],
            _ => &[Outcome::Neither],
        };
        let mut next = last;
        for interval in 0.. {
            next = last + 20 * interval;
            for outcome in mixed(interval) {
                hysteresis.count(at(next), OTHER, *outcome);
            }
            if hysteresis.winner(at(next)).is_some() {
                break;
            }
        }
        assert_eq!(next - last, 2_000);
    }

    #[test]
    fn of_two_paths_the_one_that_has_led_for_longer_wins() {
        for first in [1, 2] {
            let mut hysteresis = Hysteresis::new(3);
            hysteresis.on_switch(at(0));
            for interval in 0..60 {
                let now = at(20 * interval);
                hysteresis.count(now, PathId(first), Outcome::Other);
                if interval > 10 {
                    hysteresis.count(now, PathId(3 - first), Outcome::Other);
                }
            }
            assert_eq!(hysteresis.winner(at(1_200)), Some(PathId(first)));
        }
    }

    #[test]
    fn a_switch_that_is_soon_undone_doubles_the_hold() {
        let mut hysteresis = Hysteresis::new(2);
        let mut last = switch(&mut hysteresis, 0, &[Outcome::Other]).unwrap();
        for hold in [1, 2, 4, 8, 16, 32, 32] {
            let next = switch(&mut hysteresis, last, &[Outcome::Other]).unwrap();
            assert_eq!(next - last, hold * 1_000);
            last = next;
        }
        // A switch that lasts 8 x 32 s.
        let later = last + 256_000;
        let next = switch(&mut hysteresis, later, &[Outcome::Other]).unwrap();
        assert_eq!(next - later, 400);
        let last = next;
        let next = switch(&mut hysteresis, last, &[Outcome::Other]).unwrap();
        assert_eq!(next - last, 1_000);
    }

    #[test]
    fn congestion_ends_a_hold_after_a_second() {
        let mut hysteresis = Hysteresis::new(2);
        let mut last = switch(&mut hysteresis, 0, &[Outcome::Other]).unwrap();
        for _ in 0..5 {
            last = switch(&mut hysteresis, last, &[Outcome::Other]).unwrap();
        }
        let clear = [Outcome::Other, Outcome::Clear];
        for _ in 0..5 {
            let next = switch(&mut hysteresis, last, &clear).unwrap();
            assert_eq!(next - last, 1_000);
            last = next;
        }
    }

    #[test]
    fn gaps_are_the_losses_of_a_path_if_they_are_short() {
        let mut hysteresis = Hysteresis::new(2);
        assert_eq!(hysteresis.on_arrival(OTHER, 1000), 0..0, "the first");
        assert!(hysteresis.on_arrival(OTHER, 1001).is_empty());
        assert_eq!(hysteresis.on_arrival(OTHER, 1004), 1002..1004);
        assert!(hysteresis.on_arrival(OTHER, 1003).is_empty(), "overtaken");
        assert_eq!(hysteresis.on_arrival(OTHER, 1069), 1005..1069);
        assert_eq!(hysteresis.on_arrival(OTHER, 1135), 0..0, "it carried none");
        assert!(hysteresis.on_arrival(OTHER, u64::MAX).is_empty());
        assert!(hysteresis.on_arrival(OTHER, u64::MAX).is_empty());
        assert!(hysteresis.on_arrival(PathId(2), 5).is_empty());
    }
}
