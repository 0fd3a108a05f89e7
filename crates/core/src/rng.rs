//! Named random streams from one root seed.
//!
//! Every component draws from its own stream, named after it (`seed.stream("link/lte/loss")`), so
//! that adding a component does not change the draws of others. The generator is fixed
//! (xoshiro256++) and the transcendental functions come from `libm`, so that a seed gives the same
//! numbers on every platform.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The root seed of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Seed(pub u64);

impl Seed {
    /// The stream named `name`; the same seed and name give the same draws.
    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.mix(name)))
    }

    /// A derived seed for a part of the run, such as the `n`-th replica.
    #[must_use]
    pub fn child(self, name: &str) -> Seed {
        Seed(self.mix(name))
    }

    /// FNV-1a over the name, [scrambled](scramble) so that similar names give unrelated seeds.
    fn mix(self, name: &str) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.0.rotate_left(32);
        for byte in self.0.to_le_bytes().iter().chain(name.as_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        scramble(hash)
    }
}

/// A hash of 64 bits in which every bit depends on all of `bits`; a bijection (the finalizer of
/// splitmix64).
#[must_use]
pub const fn scramble(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The random stream of one component.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `[0, 1)` with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform over `0..n` with negligible bias (Lemire's multiply-shift); 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Exponential with the given mean (inverse transform).
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Pareto with the given mean and shape, more than 1 (inverse transform); its variance is
    /// infinite up to shape 2.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let scale = mean * (shape - 1.0) / shape;
        scale * libm::pow(1.0 - self.uniform(), -1.0 / shape)
    }

    /// Standard normal (Box-Muller; the second value of each pair is discarded, so that draws keep
    /// no state).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(self.exponential(2.0));
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
    }

    /// Log-normal: `exp(mu + sigma z)`, z standard normal; its mean is `exp(mu + sigma^2 / 2)`.
    pub fn log_normal(&mut self, mu: f64, sigma: f64) -> f64 {
        libm::exp(mu + sigma * self.normal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(n: u32, mut draw: impl FnMut() -> f64) -> f64 {
        (0..n).map(|_| draw()).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn streams_repeat_and_differ_by_name_and_seed() {
        let draws = |seed: u64, name: &str| {
            let mut s = Seed(seed).stream(name);
            [s.bits(), s.bits(), s.bits()]
        };
        assert_eq!(draws(1, "link/a"), draws(1, "link/a"));
        assert_ne!(draws(1, "link/a"), draws(1, "link/b"));
        assert_ne!(draws(1, "link/a"), draws(2, "link/a"));
    }

    #[test]
    fn the_generator_never_changes() {
        let mut s = Seed(1).stream("golden");
        assert_eq!(
            s.bits(),
            GOLDEN_FIRST_DRAW,
            "a changed generator invalidates all published seeds"
        );
    }

    const GOLDEN_FIRST_DRAW: u64 = 15_633_185_979_651_135_461;

    #[test]
    fn distributions_have_their_means() {
        let mut s = Seed(7).stream("moments");
        let n = 200_000;
        assert!((mean_of(n, || s.uniform()) - 0.5).abs() < 0.003);
        assert!((mean_of(n, || s.exponential(3.0)) - 3.0).abs() < 0.03);
        assert!((mean_of(n, || s.pareto(3.0, 4.0)) - 3.0).abs() < 0.03);
        assert!(mean_of(n, || s.normal()).abs() < 0.01);
        let (mu, sigma) = (9.357, 0.5);
        let expected = libm::exp(mu + sigma * sigma / 2.0);
        assert!((mean_of(n, || s.log_normal(mu, sigma)) / expected - 1.0).abs() < 0.01);
        assert!((mean_of(n, || f64::from(u8::from(s.chance(0.2)))) - 0.2).abs() < 0.004);
    }

    #[test]
    fn below_covers_its_range() {
        let mut s = Seed(3).stream("below");
        let mut seen = [0_u32; 5];
        for _ in 0..5000 {
            seen[usize::try_from(s.below(5)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(s.below(0), 0);
    }
}
