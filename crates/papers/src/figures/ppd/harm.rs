//! The goodput that the background loses to the measured transfers.

use polypath_claims::FigureTable;
use polypath_report::statistics::Estimate;
use polypath_scenario::Scheme;

use super::plan::{LoadPoint, title};
use super::playout::Runs;
use crate::figures::estimates::shown;
use crate::jobs::ppd::transfers::SchemeResult;

/// Schemes that ran in lock-step, and the setting; the first is the baseline of the others.
pub(super) struct LockStepRuns<'a> {
    at: String,
    schemes: Vec<(Scheme, Vec<&'a SchemeResult>)>,
}

impl<'a> LockStepRuns<'a> {
    /// The schemes of a row; `None` if they did not run in lock-step.
    pub(super) fn of_row(row: &'a LoadPoint) -> Option<Self> {
        let schemes = row.schemes.iter();
        let schemes = schemes.map(|(scheme, runs)| (*scheme, runs.iter().collect()));
        row.in_lock_step.then(|| Self {
            at: format!("{:.3}", row.load),
            schemes: schemes.collect(),
        })
    }

    /// The schemes of media files, without plain TCP, which runs separately.
    pub(super) fn of_runs(at: &str, runs: &'a Runs) -> Self {
        let others = runs.schemes.iter();
        let others = others.filter(|(scheme, _)| *scheme != Scheme::Tcp);
        let carried = others.map(|(scheme, runs)| {
            let runs = runs.iter().map(|run| &run.carried);
            (*scheme, runs.collect())
        });
        Self {
            at: at.to_owned(),
            schemes: carried.collect(),
        }
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let Some(((base, plain), others)) = self.schemes.split_first() else {
            return Vec::new();
        };
        let line = |(scheme, runs): &(Scheme, Vec<&SchemeResult>)| {
            let harm = harm(plain, runs);
            vec![
                self.at.clone(),
                title(*scheme).to_owned(),
                title(*base).to_owned(),
                shown(harm, 5),
                harm.map_or(0, |harm| harm.n).to_string(),
            ]
        };
        others.iter().map(line).collect()
    }
}

/// The bytes that the background delivered with each scheme over those delivered with another in
/// the same rounds.
pub(super) fn harm_table<'a>(
    id: &str,
    all: impl IntoIterator<Item = LockStepRuns<'a>>,
) -> FigureTable {
    let columns = ["load", "scheme", "baseline", "ratio", "replicas"];
    FigureTable {
        id: id.to_owned(),
        title: "Bytes delivered by the background over those delivered with another scheme in the \
                same rounds"
            .to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: all.into_iter().flat_map(|one| one.lines()).collect(),
    }
}

/// The ratio over all rounds. The rounds of one replica continue in one network and are not
/// independent: its interval is that of the sums of replicas.
fn harm(plain: &[&SchemeResult], runs: &[&SchemeResult]) -> Option<Estimate> {
    let sum = |run: &SchemeResult| run.background.iter().sum::<f64>();
    let pairs = plain.iter().zip(runs);
    let pairs: Vec<(f64, f64)> = pairs.map(|(plain, run)| (sum(run), sum(plain))).collect();
    Estimate::of_ratio(&pairs)
}
