//! The search for the argument at which a falling quantity has a given value, by bracketing.

use super::idle::first_guess;

/// The longest step before there is a bracket, in the logarithm of the TCP idle time.
const LONGEST_STEP: f64 = 1.5;

/// The least distance of the next try from an end of the bracket, as a share of it.
const MARGIN: f64 = 0.1;

/// The width below which a bracket is discarded.
const NARROWEST: f64 = 1e-3;

/// A search of the idle time that gives a load, in its logarithm: load falls with it.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    target: f64,
    /// The tries nearest to the target on either side, with their loads: too high, and too low.
    high: Option<(f64, f64)>,
    low: Option<(f64, f64)>,
}

impl Search {
    pub(crate) const fn new(target: f64) -> Self {
        Self {
            target,
            high: None,
            low: None,
        }
    }

    /// The first try.
    pub(crate) fn first(&self) -> f64 {
        first_guess(self.target)
    }

    /// Records the load of a try and returns the next one.
    pub(crate) fn next(&mut self, at: f64, load: f64) -> f64 {
        if load > self.target {
            self.high = Some((at, load));
        } else {
            self.low = Some((at, load));
        }
        match (self.high, self.low) {
            (Some(high), Some(low)) if low.0 - high.0 > NARROWEST => self.between(high, low),
            _ => {
                // Only one side is known, or the other direction has changed its load.
                (self.high, self.low) = if load > self.target {
                    (self.high, None)
                } else {
                    (None, self.low)
                };
                self.beyond(at, load)
            }
        }
    }

    /// The next try by interpolation, not too close to either end of the bracket.
    fn between(&self, high: (f64, f64), low: (f64, f64)) -> f64 {
        let share = (high.1 - self.target) / (high.1 - low.1);
        high.0 + (low.0 - high.0) * share.clamp(MARGIN, 1.0 - MARGIN)
    }

    /// The next try without a bracket: the step of the reference runs and somewhat more.
    fn beyond(&self, at: f64, load: f64) -> f64 {
        let step = 1.2 * (first_guess(self.target) - first_guess(load));
        at + step.clamp(-LONGEST_STEP, LONGEST_STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_load_that_saturates_is_found_wherever_it_begins_to(
            target in 0.3..0.995_f64, shift in -2.0..2.0_f64, steep in 0.3..3.0_f64,
        ) {
            let load = |at: f64| 1.0 / (1.0 + (steep * (at - shift)).exp());
            let mut search = Search::new(target);
            let mut at = search.first();
            let mut tries = 1;
            while (load(at) / target - 1.0).abs() > 0.003 {
                at = search.next(at, load(at));
                tries += 1;
                prop_assert!(tries <= 24, "{tries} {at}");
            }
        }
    }
}
