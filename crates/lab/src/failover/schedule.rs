//! When paths go silent, and for how long.

use polypath_core::rng::{Seed, Stream};
use polypath_core::time::Duration;

/// A silence is at least so long, and by less than `MORE` longer: long enough that whoever fails over at all does so
/// before the path is back.
const SHORTEST: Duration = Duration::from_millis(1500);
const MORE: Duration = Duration::from_millis(500);
/// The pause before is shorter than this: many times the interval of the flow and that of heartbeats, so that a
/// silence meets both at any phase.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The pause before each silence, once all have settled, and its length.
pub(super) struct Schedule(Stream);

impl Schedule {
    pub(super) fn new(seed: Seed) -> Self {
        Self(seed.stream("failover/silences"))
    }
}

impl Iterator for Schedule {
    type Item = (Duration, Duration);

    fn next(&mut self) -> Option<Self::Item> {
        let pause = Duration(self.0.below(LONGEST_PAUSE.0));
        let length = SHORTEST + Duration(self.0.below(MORE.0));
        Some((pause, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_silences_and_another_others() {
        let draw = |seed| -> Vec<_> { Schedule::new(Seed(seed)).take(50).collect() };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for (pause, length) in draw(1) {
            assert!(pause < LONGEST_PAUSE);
            assert!((SHORTEST..SHORTEST + MORE).contains(&length));
        }
    }
}
