//! The tables of the figures without background.

use polypath_claims::FigureTable;

use super::super::modes::Threshold;
use super::super::sweep::{Sweep, delays, only, ratio, share};
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::delay_centric::testbed::SOURCES;

/// Mean delays, modes and switches by utilisation.
pub(super) fn shares(sweep: &Sweep, threshold: Threshold) -> FigureTable {
    let row = |(&at, runs): (&u32, &Vec<_>)| {
        let upper = only(runs, |run| threshold.is_upper(run));
        let lower = only(runs, |run| !threshold.is_upper(run));
        let switches = runs.iter().map(|run| f64::from(run.switches)).sum::<f64>();
        let lost = runs.iter().map(|run| run.lost).sum::<f64>();
        let n = runs.len() as f64;
        vec![
            ratio(at).to_string(),
            text(&delays(runs), 1),
            text(&share(runs, |run| threshold.is_upper(run)), 3),
            text(&delays(&upper), 1),
            text(&delays(&lower), 1),
            format!("{:.1}", switches / n),
            format!("{:.2}", lost / n * 100.0),
        ]
    };
    let columns = [
        "utilisation",
        "mean delay ms",
        "share in the upper mode",
        "upper mode ms",
        "lower mode ms",
        "switches a run",
        "lost %",
    ];
    let rows = sweep.utilisations.iter().zip(&sweep.runs).map(row);
    let title = format!("{}: modes by utilisation", sweep.mechanism.title());
    figure_table("modes", &title, &columns, rows.collect())
}

/// The dependence of the modes on the paths on which the sources start.
pub(in crate::figures::delay_centric) fn starts(
    sweep: &Sweep,
    threshold: Threshold,
) -> FigureTable {
    let mut rows = Vec::new();
    for (&at, runs) in sweep.utilisations.iter().zip(&sweep.runs) {
        for more in SOURCES / 2..=SOURCES {
            let began = only(runs, |run| {
                run.began_left.max(SOURCES - run.began_left) == more
            });
            rows.push(vec![
                ratio(at).to_string(),
                format!("{more} and {}", SOURCES - more),
                began.len().to_string(),
                text(&share(&began, |run| threshold.is_upper(run)), 2),
                text(&delays(&began), 1),
            ]);
        }
    }
    let columns = [
        "utilisation",
        "sources that start on either path",
        "runs",
        "share in the upper mode",
        "mean delay ms",
    ];
    let title = format!("{}: modes by the random start", sweep.mechanism.title());
    figure_table("starts", &title, &columns, rows)
}
