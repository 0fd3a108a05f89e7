//! The results of the calibrations as a table.

use polypath_claims::{FigureTable, Pending, Study};
use polypath_report::statistics::Estimate;

use super::plan::{calibrate, seeds};
use crate::figures::estimates::{mean, shown};
use crate::jobs::ppd::calibration::Calibrated;
use crate::jobs::ppd::setting::Setting;

/// The idle times of each load of a setting, and the loads that were measured with them, by path
/// and direction.
pub(super) fn loads_table(
    study: &mut Study<'_>,
    id: &str,
    setting: &Setting,
    targets: &[f64],
) -> Result<FigureTable, Pending> {
    let found = calibrate(study, setting, targets)?;
    let rows = targets.iter().zip(&found);
    let columns = [
        "load wanted",
        "TCP idle s",
        "UDP off s",
        "path 1 there",
        "path 1 back",
        "path 2 there",
        "path 2 back",
        "farthest %",
        "runs",
        "tries",
    ];
    let seed = seeds("calibration", 1)[0];
    Ok(FigureTable {
        id: id.to_owned(),
        title: format!(
            "Idle times of the calibration, and the resulting loads (first seed {seed})"
        ),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.map(|(target, found)| line(*target, found)).collect(),
    })
}

fn line(target: f64, found: &Calibrated) -> Vec<String> {
    let of = |path: usize, direction: usize| {
        let loads: Vec<f64> = found.loads.iter().map(|run| run[path][direction]).collect();
        shown(Estimate::of(&loads), 3)
    };
    let [idle, _] = found.idle;
    let mut cells = vec![
        format!("{target:.3}"),
        format!("{:.3}", idle.tcp),
        format!("{:.3}", idle.udp),
    ];
    cells.extend([of(0, 0), of(0, 1), of(1, 0), of(1, 1)]);
    cells.push(farthest(target, found));
    cells.extend([found.loads.len().to_string(), found.tries.to_string()]);
    cells
}

/// The maximum deviation of the mean load of a path and direction from its target.
fn farthest(target: f64, found: &Calibrated) -> String {
    let directions = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(path, direction)| {
        let loads: Vec<f64> = found.loads.iter().map(|run| run[path][direction]).collect();
        100.0 * (mean(&loads) / target - 1.0)
    });
    let farthest = directions
        .into_iter()
        .max_by(|a, b| a.abs().total_cmp(&b.abs()));
    farthest.map_or("-".to_owned(), |miss| format!("{miss:+.1}"))
}
