//! How long files take.

use polypath_core::time::Duration;
use polypath_sim::FlowOutcome;

use super::series::Series;
use crate::statistics::{Estimate, quantile};

/// The files of equal flows that were finished after the warm-up, each from its start, with its SYN or first segment,
/// to the ACK of its last.
#[derive(Clone, Debug, PartialEq)]
pub struct FileFigures {
    /// How many, over all replicas.
    pub finished: u64,
    /// How many in one run.
    pub per_run: Option<Estimate>,
    /// The mean of the times that they took, in seconds.
    pub mean: Option<Estimate>,
    /// The median of those times over all replicas, in seconds.
    pub median: Option<f64>,
    /// Their 95th percentile, likewise.
    pub p95: Option<f64>,
}

impl FileFigures {
    /// The figures of `members`; `runs` has the outcomes of the same flows in each replica.
    pub(super) fn of(members: &[Series<'_>], runs: &[&[FlowOutcome]]) -> Self {
        let times = |run: &&[FlowOutcome]| -> Vec<f64> {
            let files = run.iter().flat_map(|flow| flow.files.iter().flatten());
            files.copied().map(Duration::as_secs_f64).collect()
        };
        let runs: Vec<Vec<f64>> = runs.iter().map(times).collect();
        let counts: Vec<f64> = runs.iter().map(|run| run.len() as f64).collect();
        let all = runs.concat();
        Self {
            finished: all.len() as u64,
            per_run: Estimate::of(&counts),
            mean: Estimate::of_ratio(&sums(members)),
            median: quantile(&all, 0.5),
            p95: quantile(&all, 0.95),
        }
    }
}

/// Of each sample the times of all members together, and how many there are: every file weighs the same.
fn sums(members: &[Series<'_>]) -> Vec<(f64, f64)> {
    let samples = members.first().map_or(0, |series| series.samples.len());
    let sum = |number: usize| {
        let files = members.iter().map(|member| member.samples[number].files);
        files.fold((0.0, 0.0), |(s, n), (sum, count)| (s + sum, n + count))
    };
    (0..samples).map(sum).collect()
}
