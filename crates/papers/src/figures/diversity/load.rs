//! The load of all links over time.

use polypath_report::plot::{Point, Series};

use crate::figures::pictures::thin;
use crate::jobs::diversity::run::RunResult;

/// The packets that all flows send in each round.
pub(super) fn load_over_time(run: &RunResult, name: &str) -> Series {
    let point = |(round, &total): (usize, &u64)| Point {
        x: round as f64,
        y: total as f64,
        ci95: None,
    };
    thin(Series {
        name: name.to_owned(),
        points: run.totals.iter().enumerate().map(point).collect(),
        ..Series::default()
    })
}
