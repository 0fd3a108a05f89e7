//! Hartigan's dip: the distance of a sample from unimodal distributions (J. A. Hartigan and P. M.
//! Hartigan, "The Dip Test of Unimodality", Annals of Statistics 13, 1985).
//!
//! The dip is the greatest distance between the empirical distribution and the nearest unimodal
//! one, from 1/(2n) to 1/4. The paper compares it with that of uniform samples, whose dips are
//! greater than those of bell-shaped ones. A point with a flat tail is unimodal, too, and has
//! greater dips: here a sample is bimodal only if its dip exceeds the critical dips of all of
//! these.

use polypath_core::rng::Seed;
use polypath_report::statistics::quantile;

/// The number of random samples of each unimodal distribution that determine a critical dip.
const NULL_SAMPLES: usize = 2000;
const NULL_SEED: Seed = Seed(1);
/// The share of the values at the point before a flat tail; 0 is the uniform distribution.
const NULL_POINTS: [f64; 6] = [0.0, 0.1, 0.25, 0.4, 0.55, 0.7];
/// The width of the point relative to the tail: no two values are equal.
const POINT_WIDTH: f64 = 1e-6;

/// The dip of values; `None` for fewer than two.
pub(super) fn dip(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mut x = values.to_vec();
    x.sort_by(f64::total_cmp);
    Some(Sorted(&x).dip())
}

/// The dip that unimodal samples of `n` values exceed with a probability of at most `level`.
pub(super) fn critical(n: usize, level: f64) -> Option<f64> {
    let each = NULL_POINTS.iter();
    let each = each.map(|&point| critical_of(n, level, point));
    each.reduce(|a, b| Some(a?.max(b?)))?
}

/// The same for samples with the share `point` of their values at one point.
fn critical_of(n: usize, level: f64, point: f64) -> Option<f64> {
    let mut stream = NULL_SEED.stream(&format!("dip/{n}/{point}"));
    let mut dips = Vec::with_capacity(NULL_SAMPLES);
    for _ in 0..NULL_SAMPLES {
        let value = |_| {
            let is_point = stream.chance(point);
            let tail = stream.uniform();
            if is_point { tail * POINT_WIDTH } else { tail }
        };
        dips.push(dip(&(0..n).map(value).collect::<Vec<f64>>())?);
    }
    quantile(&dips, 1.0 - level)
}

/// Sorted values. Distances are in counts of values: the i-th step of the distribution is from i to
/// i + 1.
struct Sorted<'a>(&'a [f64]);

impl Sorted<'_> {
    /// Shrinks the modal interval until the distance within it is at most the distance outside.
    fn dip(&self) -> f64 {
        let n = self.0.len();
        let (mut low, mut high) = (0, n - 1);
        let mut greatest: f64 = 1.0;
        loop {
            let (minorant, majorant) = (self.minorant(low, high), self.majorant(low, high));
            let (gap, left, right) = self.widest_gap(&minorant, &majorant);
            if gap <= greatest {
                break;
            }
            greatest = greatest.max(self.above(&minorant, left));
            greatest = greatest.max(self.below(&majorant, right));
            if (left, right) == (low, high) {
                break;
            }
            (low, high) = (left, right);
        }
        greatest / (2.0 * n as f64)
    }

    /// The knots of the greatest convex minorant of the lower ends of the steps.
    fn minorant(&self, low: usize, high: usize) -> Vec<usize> {
        self.hull(low, high, |before, after| before >= after)
    }

    /// The knots of the least concave majorant of the upper ends.
    fn majorant(&self, low: usize, high: usize) -> Vec<usize> {
        self.hull(low, high, |before, after| before <= after)
    }

    /// Drops each knot for which `wrong` is true of the slopes before and after, both multiplied by
    /// the two widths.
    fn hull(&self, low: usize, high: usize, wrong: fn(f64, f64) -> bool) -> Vec<usize> {
        let mut knots: Vec<usize> = Vec::new();
        for next in low..=high {
            while let [.., a, b] = knots[..] {
                let (before, after) = (self.0[b] - self.0[a], self.0[next] - self.0[b]);
                let (rise_before, rise_after) = ((b - a) as f64, (next - b) as f64);
                if !wrong(rise_before * after, rise_after * before) {
                    break;
                }
                knots.pop();
            }
            knots.push(next);
        }
        knots
    }

    /// The greatest distance between both curves, with the knots on its left and right.
    fn widest_gap(&self, minorant: &[usize], majorant: &[usize]) -> (f64, usize, usize) {
        let ends = (minorant[0], minorant[minorant.len() - 1]);
        let mut widest = (0.0, ends.0, ends.1);
        for pair in minorant.windows(2) {
            for &knot in majorant
                .iter()
                .filter(|k| (pair[0] + 1..=pair[1]).contains(*k))
            {
                let gap = knot as f64 + 1.0 - self.line(pair, knot);
                if gap > widest.0 {
                    widest = (gap, pair[0], knot);
                }
            }
        }
        for pair in majorant.windows(2) {
            for &knot in minorant.iter().filter(|k| (pair[0]..pair[1]).contains(*k)) {
                let gap = self.line(pair, knot) + 1.0 - knot as f64;
                if gap > widest.0 {
                    widest = (gap, knot, pair[1]);
                }
            }
        }
        widest
    }

    /// The greatest distance of the distribution above its minorant, up to the knot `end`.
    fn above(&self, minorant: &[usize], end: usize) -> f64 {
        let pairs = minorant.windows(2).filter(|pair| pair[1] <= end);
        let distances = pairs.flat_map(|pair| {
            let distance = |at: usize| at as f64 + 1.0 - self.line(pair, at);
            (pair[0]..=pair[1]).map(distance)
        });
        distances.fold(0.0, f64::max)
    }

    /// The greatest distance of the distribution below its majorant, from the knot `start` on.
    fn below(&self, majorant: &[usize], start: usize) -> f64 {
        let pairs = majorant.windows(2).filter(|pair| pair[0] >= start);
        let distances = pairs.flat_map(|pair| {
            let distance = |at: usize| self.line(pair, at) + 1.0 - at as f64;
            (pair[0]..=pair[1]).map(distance)
        });
        distances.fold(0.0, f64::max)
    }

    /// The line through two knots, at a value.
    fn line(&self, pair: &[usize], at: usize) -> f64 {
        let (from, to) = (pair[0], pair[1]);
        let width = self.0[to] - self.0[from];
        if width <= 0.0 {
            return at as f64;
        }
        from as f64 + (to - from) as f64 * (self.0[at] - self.0[from]) / width
    }
}

#[cfg(test)]
mod tests {
    use polypath_core::rng::Stream;
    use proptest::prelude::*;

    use super::*;

    /// The number of 400 samples of `n` values that are bimodal at the 5 % level.
    fn found(n: usize, mut draw: impl FnMut(&mut Stream) -> f64) -> usize {
        let critical = critical(n, 0.05).unwrap();
        let stream = &mut Seed(7).stream("samples");
        let samples = (0..400).map(|_| (0..n).map(|_| draw(stream)).collect::<Vec<f64>>());
        samples
            .filter(|sample| dip(sample).unwrap() > critical)
            .count()
    }

    #[test]
    fn even_values_have_the_least_dip_and_two_points_the_greatest() {
        let even: Vec<f64> = (0..50).map(f64::from).collect();
        assert!((dip(&even).unwrap() - 0.01).abs() < 1e-12);
        let apart = |n: u32| (0..n).map(|i| f64::from(i % 2) * 1e6 + f64::from(i) * 1e-6);
        let two = dip(&apart(100).collect::<Vec<f64>>()).unwrap();
        assert!((two - 0.25).abs() < 0.01, "{two}");
        let tied: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert!(dip(&tied).unwrap() > 0.2, "{:?}", dip(&tied));
        assert_eq!(dip(&[1.0]), None);
    }

    /// Table 1 of the paper: the 95 % points of the dip of 50, 100 and 200 uniform values.
    #[test]
    fn the_critical_dips_are_those_of_the_paper() {
        for (n, theirs) in [(50, 0.0702), (100, 0.0503), (200, 0.0360)] {
            let ours = critical_of(n, 0.05, 0.0).unwrap();
            assert!((ours / theirs - 1.0).abs() < 0.03, "{n}: {ours}, {theirs}");
        }
    }

    #[test]
    fn at_most_a_twentieth_of_unimodal_samples_is_bimodal() {
        let chance = 400 / 20 + 13; // three standard deviations
        assert!(found(100, Stream::uniform) <= chance);
        assert!(found(100, Stream::normal) <= chance);
        assert!(found(40, |s| s.exponential(1.0)) <= chance);
        assert!(found(100, |s| s.log_normal(0.0, 2.0)) <= chance);
        // A point with a tail has one mode.
        for point in [0.2, 0.4, 0.6] {
            let with_tail = |s: &mut Stream| {
                let is_point = s.chance(point);
                let tail = 900.0 * s.uniform();
                if is_point { s.uniform() } else { tail }
            };
            assert!(found(100, with_tail) <= chance, "{point}");
        }
    }

    #[test]
    fn two_modes_are_found() {
        let modes = |share: f64, apart: f64| {
            move |s: &mut Stream| {
                let upper = s.chance(share);
                s.normal() + if upper { apart } else { 0.0 }
            }
        };
        for (n, share, apart) in [(100, 0.5, 6.0), (40, 0.5, 8.0), (200, 0.3, 8.0)] {
            let found = found(n, modes(share, apart));
            assert!(found >= 380, "{found} of 400: {n}, {share}, {apart}");
        }
        // Runs of which some are stable: near 3 ms or widely spread about 800 ms.
        let mixed = |s: &mut Stream| {
            if s.chance(0.3) {
                850.0 + 50.0 * s.normal()
            } else {
                3.0 + s.exponential(2.0)
            }
        };
        let found = found(40, mixed);
        assert!(found >= 310, "{found} of 400");
    }

    proptest! {
        /// The dip is within its bounds and does not depend on location, scale or direction.
        #[test]
        fn the_dip_is_invariant(
            values in prop::collection::vec(-1e3_f64..1e3, 2..60), scale in 0.1_f64..10.0,
        ) {
            let of = dip(&values).unwrap();
            let n = values.len() as f64;
            prop_assert!(of >= 0.5 / n - 1e-12 && of <= 0.25 + 0.5 / n + 1e-12, "{of}");
            let moved: Vec<f64> = values.iter().map(|v| 7.0 - v * scale).collect();
            prop_assert!((dip(&moved).unwrap() - of).abs() < 1e-9);
        }
    }
}
