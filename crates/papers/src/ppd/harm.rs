//! What the background loses to the measured transfers.

use polypath_report::statistics::Estimate;
use polypath_scenario::Scheme;

use super::plan::{Row, shown, title};
use crate::Sheet;

/// What the background delivered beside each scheme over what it delivered beside plain TCP in the same rounds, at the
/// loads at which both ran in lock-step.
pub(super) fn harm_sheet(id: &str, rows: &[Row]) -> Sheet {
    let lines = rows.iter().flat_map(|row| {
        let others = Scheme::ALL[1..].iter();
        others.filter_map(|scheme| {
            let harm = harm(row, *scheme)?;
            Some(vec![
                format!("{:.3}", row.load),
                title(*scheme).to_owned(),
                shown(Some(harm), 5),
                harm.n.to_string(),
            ])
        })
    });
    Sheet {
        id: id.to_owned(),
        title: "What the background delivered over what it delivered beside plain TCP in the same rounds".to_owned(),
        columns: ["load", "scheme", "ratio", "rounds"].map(str::to_owned).to_vec(),
        rows: lines.collect(),
    }
}

/// The ratio over all rounds; nothing where the two did not run in lock-step.
fn harm(row: &Row, scheme: Scheme) -> Option<Estimate> {
    let (baseline, runs) = (row.of(Scheme::Tcp), row.of(scheme));
    let rounds = |runs: &[super::transfers::Carried]| -> Vec<f64> {
        runs.iter()
            .flat_map(|run| run.background.iter().copied())
            .collect()
    };
    let (baseline, delivered) = (rounds(baseline), rounds(runs));
    if !row.in_lock_step || baseline.len() != delivered.len() {
        return None;
    }
    let pairs: Vec<(f64, f64)> = delivered.into_iter().zip(baseline).collect();
    Estimate::of_ratio(&pairs)
}
