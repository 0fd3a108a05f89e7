//! Intervals of what follows from means, by the jackknife.

use std::collections::BTreeMap;

use polypath_report::statistics::student_975;

use super::JudgeError;
use super::eval::{LeftOut, Measured};

/// A number with half of its 95 % interval; none where every group has a single run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) ci95: Option<f64>,
}

impl Interval {
    /// True if it is proven to be positive.
    pub(super) fn is_positive(&self) -> bool {
        self.value - self.ci95.unwrap_or(0.0) > 0.0
    }

    /// True if it is not proven to be negative.
    pub(super) fn is_not_negative(&self) -> bool {
        self.value + self.ci95.unwrap_or(0.0) >= 0.0
    }
}

/// The interval of `f`, which is told the run to leave out; `names` are the quantities on which it depends.
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
    let half = if variance > 0.0 {
        student_975(variance * variance / weighted) * variance.sqrt()
    } else {
        0.0
    };
    Ok(Interval {
        value,
        ci95: is_random.then_some(half),
    })
}

/// The groups of these quantities, with the number of their runs.
fn groups<'a>(
    measured: &Measured<'a>,
    names: &[&str],
) -> Result<BTreeMap<&'a str, usize>, JudgeError> {
    let mut groups = BTreeMap::new();
    for measurement in names.iter().flat_map(|name| measured.of(name)) {
        let (group, n) = (measurement.group.as_str(), measurement.samples.len());
        if *groups.entry(group).or_insert(n) != n {
            return Err(JudgeError::Unpaired(group.to_owned()));
        }
    }
    Ok(groups)
}
