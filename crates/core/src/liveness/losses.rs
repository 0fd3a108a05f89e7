//! The number of consecutive misses that the losses of a path explain.

use super::MAX_MISSES;

/// Losses explain a run of misses if one is expected at least once in this many heartbeats: 7 h at
/// 40 per second.
const ONCE_IN: f64 = 1e6;
/// The loss fraction is a mean over about this many heartbeats.
const MEMORY: u32 = 128;
/// The number of answers that are assumed before the first heartbeat.
const PRIOR_ANSWERS: u32 = 16;

/// The fraction of heartbeats that are lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    share: f64,
    heartbeats: u32,
    needed: u32,
}

impl Losses {
    /// The losses of a path that is assumed to lose nothing.
    pub(super) fn new(least: u32) -> Self {
        Self {
            share: 0.0,
            heartbeats: PRIOR_ANSWERS,
            needed: least,
        }
    }

    /// Counts an answered heartbeat and the `lost` ones before it.
    pub(super) fn count(&mut self, lost: usize, least: u32) {
        for _ in 0..lost {
            self.update(1.0);
        }
        self.update(0.0);
        self.set_minimum(least);
    }

    /// Requires at least `least` misses from now on.
    pub(super) fn set_minimum(&mut self, least: u32) {
        let expected = |misses: &u32| (0..*misses).fold(ONCE_IN, |left, _| left * self.share);
        self.needed = (least..MAX_MISSES)
            .find(|misses| expected(misses) <= 1.0)
            .unwrap_or(MAX_MISSES);
    }

    /// The number of consecutive misses that losses do not explain, at least the configured
    /// minimum.
    pub(super) fn needed(&self) -> usize {
        self.needed as usize
    }

    /// The fraction of heartbeats that are lost, 0 to 1; `None` before one was counted.
    pub(super) fn share(&self) -> Option<f64> {
        (self.heartbeats > PRIOR_ANSWERS).then_some(self.share)
    }

    fn update(&mut self, lost: f64) {
        self.heartbeats = (self.heartbeats + 1).min(MEMORY);
        self.share += (lost - self.share) / f64::from(self.heartbeats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The misses needed after heartbeats of which each `n`-th is lost.
    fn needed(n: u32) -> usize {
        let mut losses = Losses::new(3);
        (0..1000).for_each(|_| losses.count(1, 3));
        for _ in 0..1000 {
            (2..n).for_each(|_| losses.count(0, 3));
            losses.count(1, 3);
        }
        losses.needed()
    }

    #[test]
    fn the_more_is_lost_the_more_misses_are_needed() {
        let mut losses = Losses::new(3);
        assert_eq!(losses.share(), None);
        losses.count(0, 3);
        assert_eq!(losses.share(), Some(0.0));
        assert_eq!(losses.needed(), 3);
        // 0.01^3 = 10^-6; 0.1^6 = 10^-6; 0.5^20 = 10^-6.
        assert_eq!(needed(200), 3);
        assert!((6..=7).contains(&needed(10)), "{}", needed(10));
        assert_eq!(needed(2), 20);
    }

    #[test]
    fn a_path_that_loses_all_needs_no_more_than_the_most() {
        let mut losses = Losses::new(3);
        losses.count(10_000, 3);
        assert_eq!(losses.needed(), MAX_MISSES as usize);
        assert!(losses.share().unwrap() < 1.0);
    }
}
