//! The axes and curves of the figures.

use polypath_claims::Sample;
use polypath_report::plot::{Axis, Series};

use super::modes::Threshold;
use super::sweep::{Sweep, delays, only};
use crate::figures::pictures::axis;
use crate::jobs::delay_centric::runs::Run;

/// The utilisation of eq. 2, as the horizontal axis.
pub(super) fn utilisation() -> Axis {
    axis("utilisation", "")
}

/// A mean delay as the vertical axis.
pub(super) fn milliseconds() -> Axis {
    axis("mean packet delay", "ms")
}

/// The curve of the mean over all runs.
pub(super) fn mean_of(sweep: &Sweep, name: &str) -> Series {
    sweep.series(name, delays)
}

/// The curves of a figure: the mean over all runs, and the means over the runs of each mode where
/// enough runs are in it.
pub(super) fn modes_of(sweep: &Sweep, threshold: Threshold, least: usize) -> Vec<Series> {
    let of = |is_upper: bool| {
        move |runs: &[Run]| -> Vec<Sample> {
            let mode = only(runs, |run| threshold.is_upper(run) == is_upper);
            if mode.len() < least {
                Vec::new()
            } else {
                delays(&mode)
            }
        }
    };
    vec![
        mean_of(sweep, "overall mean"),
        sweep.series("upper mode", of(true)),
        sweep.series("lower mode", of(false)),
    ]
}
