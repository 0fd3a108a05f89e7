//! Confidence intervals of expressions, by the jackknife.

use std::collections::BTreeMap;

use polypath_report::statistics::student;

use super::JudgeError;
use super::eval::{LeftOut, Measured};
use crate::measurement::{Measurement, Sample};

/// The quantile at the upper end of a two-sided 95 % interval.
const UPPER_QUANTILE: f64 = 0.975;

/// A number with its standard error and degrees of freedom, which are `None` if every group has a
/// single run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) value: f64,
    error: Option<(f64, f64)>,
}

impl Interval {
    /// Half of the 95 % interval.
    pub(super) fn ci95(&self) -> Option<f64> {
        self.half(1)
    }

    /// Whether it is significantly positive.
    pub(super) fn is_positive(&self) -> bool {
        self.least(1) > 0.0
    }

    /// The lower end of the interval at the level of one of `tests` tests that hold together with
    /// 95 % (Bonferroni).
    pub(super) fn least(&self, tests: usize) -> f64 {
        self.value - self.half(tests).unwrap_or(0.0)
    }

    /// Whether it is not significantly negative, at the same level.
    pub(super) fn is_not_negative(&self, tests: usize) -> bool {
        self.value + self.half(tests).unwrap_or(0.0) >= 0.0
    }

    fn half(&self, tests: usize) -> Option<f64> {
        let (error, freedom) = self.error?;
        if error <= 0.0 {
            return Some(0.0);
        }
        let quantile = 1.0 - (1.0 - UPPER_QUANTILE) / tests.max(1) as f64;
        Some(student(freedom, quantile) * error)
    }
}

/// The interval of `f`, which computes the value without a run; `names` are the quantities on which
/// it depends.
pub(super) fn interval(
    measured: &Measured<'_>,
    names: &[&str],
    f: impl Fn(Option<LeftOut<'_>>) -> Result<f64, JudgeError>,
) -> Result<Interval, JudgeError> {
    let value = f(None)?;
    let (mut variance, mut weighted) = (0.0, 0.0);
    let mut is_random = false;
    for (group, n) in groups(measured, names)? {
        if n < 2 {
            continue;
        }
        is_random = true;
        let left_out = (0..n).map(|position| f(Some(LeftOut { group, position })));
        let left_out = left_out.collect::<Result<Vec<f64>, _>>()?;
        let n = n as f64;
        let mean = left_out.iter().sum::<f64>() / n;
        let squares: f64 = left_out.iter().map(|each| (each - mean).powi(2)).sum();
        let part = (n - 1.0) / n * squares;
        variance += part;
        weighted += part * part / (n - 1.0);
    }
    let freedom = if weighted > 0.0 {
        variance * variance / weighted
    } else {
        1.0
    };
    Ok(Interval {
        value,
        error: is_random.then_some((variance.sqrt(), freedom)),
    })
}

/// The groups of these quantities with their numbers of runs.
fn groups<'a>(
    measured: &Measured<'a>,
    names: &[&str],
) -> Result<BTreeMap<&'a str, usize>, JudgeError> {
    let mut groups: BTreeMap<&str, &Measurement> = BTreeMap::new();
    for measurement in names.iter().flat_map(|name| measured.of(name)) {
        let group = measurement.group.as_str();
        let first = *groups.entry(group).or_insert(measurement);
        if !have_same_seeds(&first.samples, &measurement.samples) {
            return Err(JudgeError::Unpaired(group.to_owned()));
        }
    }
    let counts = groups.into_iter();
    Ok(counts
        .map(|(group, first)| (group, first.samples.len()))
        .collect())
}

fn have_same_seeds(a: &[Sample], b: &[Sample]) -> bool {
    let seeds = |samples: &[Sample]| samples.iter().map(|sample| sample.seed).collect::<Vec<_>>();
    seeds(a) == seeds(b)
}
