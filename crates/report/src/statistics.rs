//! Means with their uncertainty.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// A mean with the half width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % interval (Student's t); none for a single value.
    pub ci95: Option<f64>,
    /// The number of values.
    pub n: usize,
}

impl Estimate {
    /// The estimate in another unit: the values times `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            mean: self.mean * factor,
            ci95: self.ci95.map(|half| half * factor),
            ..self
        }
    }

    /// The ends of the 95 % interval; `None` for a single value, or if an end is not finite.
    #[must_use]
    pub fn interval(&self) -> Option<[f64; 2]> {
        let half = self.ci95?;
        let ends = [self.mean - half, self.mean + half];
        ends.iter().all(|end| end.is_finite()).then_some(ends)
    }

    /// Whether the 95 % interval includes a value: then no difference from it is shown. `None`
    /// without an interval.
    #[must_use]
    pub fn includes(&self, value: f64) -> Option<bool> {
        let [low, high] = self.interval()?;
        Some(low <= value && value <= high)
    }

    /// The difference of the means of independent samples, with the interval of Welch (1947); none
    /// if one of them has none. For samples that are positively correlated, such as runs from equal
    /// seeds, the interval is wider than necessary.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let error = |estimate: &Self| {
            let freedom = estimate.n.checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
            Some((estimate.ci95? / student_975(freedom), freedom))
        };
        let ci95 = error(self).zip(error(other)).map(|((a, of_a), (b, of_b))| {
            let (a, b) = (a * a, b * b);
            if a + b > 0.0 {
                let freedom = (a + b).powi(2) / (a * a / of_a + b * b / of_b);
                student_975(freedom) * (a + b).sqrt()
            } else {
                0.0
            }
        });
        Self {
            mean: self.mean - other.mean,
            ci95,
            n: self.n.min(other.n),
        }
    }

    /// The mean of independent values and its interval; `None` without values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let ci95 = (n > 1).then(|| {
            let freedom = (n - 1) as f64;
            student_975(freedom) * (squares / freedom / n as f64).sqrt()
        });
        Some(Estimate { mean, ci95, n })
    }

    /// The ratio of the sums of paired values, with the interval of the ratio estimator (Cochran,
    /// Sampling Techniques, 6.3); `None` without pairs, or if the second values sum to 0.
    ///
    /// The mean of the single ratios would be biased upwards, and short rounds would have the
    /// weight of long ones. Pairs of zeros observe nothing and do not count: a ratio of a single
    /// pair has no interval, however many are empty.
    #[must_use]
    pub fn of_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
        let pairs = || observed(pairs);
        let n = pairs().count();
        let (above, below) = pairs().fold((0.0, 0.0), |(x, y), pair| (x + pair.0, y + pair.1));
        if n == 0 || below <= 0.0 {
            return None;
        }
        let mean = above / below;
        let squares: f64 = pairs().map(|(x, y)| (x - mean * y).powi(2)).sum();
        let ci95 = (n > 1).then(|| {
            let freedom = (n - 1) as f64;
            let error = (squares / freedom / n as f64).sqrt() / (below / n as f64);
            student_975(freedom) * error
        });
        Some(Estimate { mean, ci95, n })
    }
}

/// The pairs other than zeros.
fn observed(pairs: &[(f64, f64)]) -> impl Iterator<Item = &(f64, f64)> {
    pairs.iter().filter(|pair| **pair != (0.0, 0.0))
}

/// The lag-1 autocorrelation of values, near 0 for independent ones; `None` for
/// fewer than three values, or of equal ones.
#[must_use]
pub fn lag_one(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean));
    (values.len() > 2 && squares > 0.0).then(|| products.sum::<f64>() / squares)
}

/// [`lag_one`] of a ratio of sums of paired values, as [`Estimate::of_ratio`] has it: of what each
/// pair adds to it above the ratio of all, on which its interval rests. Pairs of zeros do not count
/// here, either.
#[must_use]
pub fn lag_one_of_ratio(pairs: &[(f64, f64)]) -> Option<f64> {
    let ratio = Estimate::of_ratio(pairs)?.mean;
    let above: Vec<f64> = observed(pairs).map(|(x, y)| x - ratio * y).collect();
    lag_one(&above)
}

/// Whether [`lag_one`] of `n` values shows, at the 1 % level, that they are not independent: for
/// independent ones it is about normal with variance 1/n (Bartlett 1946).
#[must_use]
pub fn are_correlated(lag_one: f64, n: usize) -> bool {
    lag_one * (n as f64).sqrt() > NORMAL_99
}

/// The 99 % quantile of the standard normal distribution.
const NORMAL_99: f64 = 2.326_348;

/// The 97.5 % quantile of Student's t with these degrees of freedom.
#[must_use]
pub fn student_975(freedom: f64) -> f64 {
    student(freedom, 0.975)
}

/// The `q`-quantile of Student's t with these degrees of freedom.
#[must_use]
pub fn student(freedom: f64, q: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(q))
}

/// The `q`-quantile of values by linear interpolation between the nearest two; `None` without
/// values.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the position lies between the first and the last index"
)]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let (below, part) = (position.floor() as usize, position.fract());
    let above = sorted[(below + 1).min(last)];
    Some(sorted[below] + part * (above - sorted[below]))
}

/// The distribution-free 95 % interval of the `q`-quantile of independent values, by the ranks that
/// a binomial count of smaller values leaves (David and Nagaraja, Order Statistics, 7.1); a side on
/// which too few values lie has no bound.
#[must_use]
pub fn quantile_interval(values: &[f64], q: f64) -> (Option<f64>, Option<f64>) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let Ok(smaller) = Binomial::new(q.clamp(0.0, 1.0), n as u64) else {
        return (None, None);
    };
    // With r values below the quantile, it lies between the r-th and the next.
    let below = (1..=n)
        .take_while(|rank| smaller.cdf(*rank as u64 - 1) <= TAIL)
        .last();
    let above = (1..=n).find(|rank| smaller.cdf(*rank as u64 - 1) >= 1.0 - TAIL);
    (
        below.map(|rank| sorted[rank - 1]),
        above.map(|rank| sorted[rank - 1]),
    )
}

/// The probability on either side of a 95 % interval.
const TAIL: f64 = 0.025;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // t(0.975, 4) = 2.776445; the standard deviation of 1..5 is sqrt(2.5).
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((estimate.mean - 3.0).abs() < 1e-12);
        let half = 2.776_445 * (2.5_f64 / 5.0).sqrt();
        assert!((estimate.ci95.unwrap() - half).abs() < 1e-5);
        assert_eq!(Estimate::of(&[7.0]).unwrap().ci95, None);
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn an_interval_includes_what_lies_between_its_ends() {
        let of = |mean, ci95| Estimate { mean, ci95, n: 3 };
        assert_eq!(of(1.0, Some(2.0)).interval(), Some([-1.0, 3.0]));
        assert_eq!(of(1.0, Some(2.0)).includes(0.0), Some(true));
        assert_eq!(of(1.0, Some(1.0)).includes(0.0), Some(true), "an end");
        assert_eq!(of(1.0, Some(0.9)).includes(0.0), Some(false));
        assert_eq!(of(1.0, None).includes(0.0), None);
        assert_eq!(of(f64::NAN, Some(1.0)).includes(0.0), None);
        assert_eq!(of(1.0, Some(f64::INFINITY)).includes(0.0), None);
    }

    #[test]
    fn the_difference_of_independent_samples_is_that_of_welch() {
        // Variances of the means 0.5 and 2 with 4 degrees of freedom each: 5.882 in all.
        let a = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let b = Estimate::of(&[2.0, 4.0, 6.0, 8.0, 10.0]).unwrap();
        let difference = a.minus(&b);
        assert!((difference.mean + 3.0).abs() < 1e-12);
        let half = student_975(6.25 / (0.25 / 4.0 + 4.0 / 4.0)) * 2.5_f64.sqrt();
        assert!((difference.ci95.unwrap() - half).abs() < 1e-9);
        let single = Estimate::of(&[1.0]).unwrap();
        assert_eq!(a.minus(&single).ci95, None);
        let equal = Estimate::of(&[2.0, 2.0]).unwrap();
        assert_eq!(equal.minus(&equal).includes(0.0), Some(true));
    }

    #[test]
    fn empty_pairs_make_no_ratio_surer() {
        let of = |pairs: &[(f64, f64)]| Estimate::of_ratio(pairs).unwrap();
        let one = of(&[(0.0, 0.0), (3.0, 2.0), (0.0, 0.0)]);
        assert_eq!(
            one,
            Estimate {
                mean: 1.5,
                ci95: None,
                n: 1
            }
        );
        let two = [(3.0, 2.0), (2.0, 2.0)];
        assert_eq!(of(&[two[0], (0.0, 0.0), two[1]]), of(&two));
    }

    #[test]
    fn correlated_values_are_distinguished_from_independent_ones() {
        // The squares of -2..=2 sum to 10, the products of neighbours to 4.
        let ramp = lag_one(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((ramp - 0.4).abs() < 1e-12, "{ramp}");
        let turns = lag_one(&[1.0, -1.0, 1.0, -1.0]).unwrap();
        assert!((turns + 0.75).abs() < 1e-12, "{turns}");
        assert_eq!((lag_one(&[1.0, 2.0]), lag_one(&[3.0; 9])), (None, None));
        // Of 2, 4, 6, 8, 10 each over 2 the ratio is 3, and the ramp is left.
        let ratios = [2.0, 4.0, 6.0, 8.0, 10.0].map(|x| (x, 2.0));
        let ramp = lag_one_of_ratio(&ratios).unwrap();
        assert!((ramp - 0.4).abs() < 1e-12, "{ramp}");
        let with_gaps: Vec<_> = ratios.iter().flat_map(|x| [*x, (0.0, 0.0)]).collect();
        assert_eq!(lag_one_of_ratio(&with_gaps), Some(ramp));
        let level = [(2.0, 1.0), (4.0, 2.0), (0.0, 0.0), (8.0, 4.0)];
        assert_eq!(lag_one_of_ratio(&level), None, "every ratio is the same");
        assert_eq!(lag_one_of_ratio(&[(0.0, 0.0); 4]), None);
        let stream = &mut polypath_core::rng::Seed(1).stream("values");
        let found = (0..2000).filter(|_| {
            let values: Vec<f64> = (0..20).map(|_| stream.uniform()).collect();
            are_correlated(lag_one(&values).unwrap(), values.len())
        });
        let found = found.count();
        assert!(
            (1..40).contains(&found),
            "{found} of 2000 independent series"
        );
    }

    #[test]
    fn quantiles_interpolate() {
        let values = [4.0, 1.0, 2.0, 3.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_interval_of_a_quantile_is_between_the_ranks_of_the_table() {
        // Of ten values the median lies between the 2nd and the 9th with 97.9 %, the 3rd and the
        // 8th with 89.1 % (Hahn and Meeker, Statistical Intervals, table A.15a).
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(quantile_interval(&ten, 0.5), (Some(2.0), Some(9.0)));
        let many: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(quantile_interval(&many, 0.5), (Some(86.0), Some(115.0)));
        let (low, high) = quantile_interval(&many, 0.99);
        assert!(low.is_some_and(|low| (190.0..199.0).contains(&low)) && high.is_none());
        assert_eq!(quantile_interval(&[], 0.5), (None, None));
        assert_eq!(quantile_interval(&[1.0], 0.5), (None, None));
    }

    proptest! {
        #[test]
        fn a_shift_moves_the_mean_and_not_the_interval(
            values in prop::collection::vec(-1e3_f64..1e3, 2..40),
            shift in -1e3_f64..1e3,
        ) {
            let moved: Vec<f64> = values.iter().map(|value| value + shift).collect();
            let (a, b) = (Estimate::of(&values).unwrap(), Estimate::of(&moved).unwrap());
            prop_assert!((b.mean - a.mean - shift).abs() < 1e-6);
            prop_assert!((b.ci95.unwrap() - a.ci95.unwrap()).abs() < 1e-6);
        }

        #[test]
        fn the_same_values_in_another_order_have_the_ratio_one(
            values in prop::collection::vec(1.0_f64..1e3, 2..40),
            turn in 0_usize..40,
        ) {
            let mut turned = values.clone();
            turned.rotate_left(turn % values.len());
            let pairs: Vec<_> = values.iter().copied().zip(turned).collect();
            prop_assert!((Estimate::of_ratio(&pairs).unwrap().mean - 1.0).abs() < 1e-9);
            let twice: Vec<_> = values.iter().map(|value| (2.0 * value, *value)).collect();
            let ratio = Estimate::of_ratio(&twice).unwrap();
            prop_assert!((ratio.mean - 2.0).abs() < 1e-9 && ratio.ci95.unwrap() < 1e-9);
        }

        #[test]
        fn quantiles_grow(values in prop::collection::vec(-1e3_f64..1e3, 1..40), q in 0.0..1.0) {
            prop_assert!(quantile(&values, q) <= quantile(&values, (q + 0.1).min(1.0)));
        }
    }
}
