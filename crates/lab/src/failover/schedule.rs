//! The schedule of silences: pauses and lengths.

use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};

/// The minimum length of a silence: enough for a candidate that fails over at all to do so before
/// the link is back.
const MIN_LENGTH: Duration = Duration::from_millis(1500);
/// The range of lengths above the minimum.
const LENGTH_RANGE: Duration = Duration::from_millis(500);
/// The upper bound of pauses: many intervals of the flow and of heartbeats, so that a silence
/// starts at any phase of both.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// A silence: its start and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct SilencePeriod {
    pub(super) from: Time,
    pub(super) until: Time,
}

/// The random silences of a seed, without end.
pub(super) struct Schedule(Stream);

/// The next silence of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedSilence {
    /// The pause before it, once all candidates have settled.
    pub(super) pause: Duration,
    pub(super) length: Duration,
}

impl Schedule {
    pub(super) fn new(seed: Seed) -> Self {
        Self(seed.stream("failover/silences"))
    }
}

impl Iterator for Schedule {
    type Item = PlannedSilence;

    fn next(&mut self) -> Option<Self::Item> {
        let pause = Duration(self.0.below(MAX_PAUSE.0));
        let length = MIN_LENGTH + Duration(self.0.below(LENGTH_RANGE.0));
        Some(PlannedSilence { pause, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_silences() {
        let draw = |seed| -> Vec<_> { Schedule::new(Seed(seed)).take(50).collect() };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for PlannedSilence { pause, length } in draw(1) {
            assert!(pause < MAX_PAUSE);
            assert!((MIN_LENGTH..MIN_LENGTH + LENGTH_RANGE).contains(&length));
        }
    }
}
