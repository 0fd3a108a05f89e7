//! Means and intervals of samples, as numbers and as text.

use polypath_claims::Sample;
use polypath_report::plot::Point;
use polypath_report::statistics::Estimate;

/// The mean; 0 without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mean of samples with its interval; `None` without samples.
pub(crate) fn estimate(samples: &[Sample]) -> Option<Estimate> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    Estimate::of(&values)
}

/// The mean of samples with its interval as a point of a curve, at `x`.
pub(crate) fn point(x: f64, samples: &[Sample]) -> Option<Point> {
    let Estimate { mean, ci95, .. } = estimate(samples)?;
    Some(Point { x, y: mean, ci95 })
}

/// A number with its interval and `digits` decimal places for tables, or a dash.
pub(crate) fn shown(estimate: Option<Estimate>, digits: usize) -> String {
    let Some(estimate) = estimate else {
        return "-".to_owned();
    };
    let mean = format!("{:.digits$}", estimate.mean);
    estimate
        .ci95
        .map_or(mean.clone(), |half| format!("{mean} +- {half:.digits$}"))
}

/// The mean of samples with its interval, formatted for tables.
pub(crate) fn text(samples: &[Sample], digits: usize) -> String {
    shown(estimate(samples), digits)
}
