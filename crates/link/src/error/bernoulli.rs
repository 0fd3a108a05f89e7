//! Independent loss: each packet with the same probability.

use polypath_core::rng::Stream;
use polypath_core::time::Time;

use super::ErrorModel;

#[derive(Clone, Debug)]
pub(crate) struct Bernoulli {
    probability: f64,
    stream: Stream,
}

impl Bernoulli {
    pub(crate) fn new(probability: f64, stream: Stream) -> Self {
        Self {
            probability,
            stream,
        }
    }
}

impl ErrorModel for Bernoulli {
    fn loses(&mut self, _at: Time) -> bool {
        self.stream.chance(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    #[test]
    fn loses_its_share() {
        let mut model = Bernoulli::new(0.03, Seed(5).stream("loss"));
        let n = 100_000_u32;
        let lost = (0..n).filter(|_| model.loses(Time::ZERO)).count() as f64;
        // Four standard deviations of a binomial.
        let bound = 4.0 * (0.03 * 0.97 / f64::from(n)).sqrt();
        assert!((lost / f64::from(n) - 0.03).abs() < bound, "{lost}");
    }
}
