//! The maximum of the last rounds.

use std::collections::VecDeque;

/// The rounds whose maximum counts (4.1.1.3).
const ROUNDS: u64 = 10;

/// The maximum of the values of the last [`ROUNDS`] rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    /// The round and value of each that is larger than all later ones, in ascending order of rounds.
    values: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    /// Adds a value of `round`, which is not earlier than the last one's.
    pub(super) fn add(&mut self, round: u64, value: f64) {
        while self.values.back().is_some_and(|&(_, last)| last <= value) {
            self.values.pop_back();
        }
        self.values.push_back((round, value));
        while self
            .values
            .front()
            .is_some_and(|&(first, _)| first + ROUNDS <= round)
        {
            self.values.pop_front();
        }
    }

    /// The maximum; 0 without a value.
    pub(super) fn value(&self) -> f64 {
        self.values.front().map_or(0.0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_what_is_ten_rounds_old() {
        let mut filter = MaxFilter::default();
        filter.add(0, 5.0);
        filter.add(1, 3.0);
        filter.add(9, 1.0);
        assert!((filter.value() - 5.0).abs() < 1e-9);
        filter.add(10, 2.0);
        assert!((filter.value() - 3.0).abs() < 1e-9);
        filter.add(11, 0.5);
        assert!((filter.value() - 2.0).abs() < 1e-9);
        filter.add(11, 9.0);
        assert_eq!(filter.values.len(), 1);
    }
}
