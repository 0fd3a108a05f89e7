//! Completion times of files.

use polypath_core::time::Duration;
use polypath_sim::FlowOutcome;

use super::series::Series;
use crate::statistics::{Estimate, lag_one_of_ratio, quantile};

/// The files of equal flows that were finished after the warm-up, each from its start, with its SYN
/// or first segment, to the ACK of its last.
#[derive(Clone, Debug, PartialEq)]
pub struct FileFigures {
    /// Their number, over all replicas.
    pub finished: u64,
    /// The number of unfinished files at the end of all replicas. Their completion times are
    /// unknown and in none of the figures.
    pub under_way: u64,
    /// Their number in one run.
    pub per_run: FileCounts,
    /// The mean completion time of the finished files, in seconds.
    pub mean: Option<Estimate>,
    /// Its lag-1 correlation over the spans of a single run; near 0 if the spans are practically
    /// independent.
    pub lag_one: Option<f64>,
    /// The median of those times in seconds, interpolated between the nearest two: the mean of that
    /// of each replica; a single run has no interval.
    pub median: Option<Estimate>,
    /// Their 95th percentile, likewise.
    pub p95: Option<Estimate>,
}

/// The files of one run: means over the replicas; exact, and without an interval, of a single run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileCounts {
    /// Files finished after the warm-up.
    pub finished: Option<Estimate>,
    /// Files unfinished at its end.
    pub under_way: Option<Estimate>,
}

impl FileFigures {
    /// The figures of `members`; `runs` has the outcomes of the same flows in each replica.
    pub(super) fn of(members: &[Series<'_>], runs: &[&[FlowOutcome]]) -> Self {
        let times: Vec<Vec<f64>> = runs.iter().map(|run| times(run)).collect();
        let finished: Vec<usize> = times.iter().map(Vec::len).collect();
        let under_way: Vec<usize> = runs.iter().map(|run| under_way(run)).collect();
        let percentile = |q| {
            let found: Vec<f64> = times.iter().filter_map(|run| quantile(run, q)).collect();
            Estimate::of(&found)
        };
        let sums = sums(members);
        let is_single = runs.len() == 1;
        Self {
            finished: finished.iter().sum::<usize>() as u64,
            under_way: under_way.iter().sum::<usize>() as u64,
            per_run: FileCounts {
                finished: per_run(&finished),
                under_way: per_run(&under_way),
            },
            mean: Estimate::of_ratio(&sums),
            lag_one: is_single.then(|| lag_one_of_ratio(&sums)).flatten(),
            median: percentile(0.5),
            p95: percentile(0.95),
        }
    }
}

/// The completion times, in seconds, of the files that the flows of a run finished.
fn times(run: &[FlowOutcome]) -> Vec<f64> {
    let spans = run.iter().flat_map(|flow| &flow.files);
    let finished = spans.flat_map(|files| &files.finished);
    finished.copied().map(Duration::as_secs_f64).collect()
}

/// The number of unfinished files at the end of a run.
fn under_way(run: &[FlowOutcome]) -> usize {
    let last = run.iter().filter_map(|flow| flow.files.last());
    last.filter(|files| files.under_way).count()
}

fn per_run(counts: &[usize]) -> Option<Estimate> {
    let counts: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    Estimate::of(&counts)
}

/// For each sample the sum of the times of all members, and their number: every file has the same
/// weight.
fn sums(members: &[Series<'_>]) -> Vec<(f64, f64)> {
    let samples = members.first().map_or(0, |series| series.samples.len());
    let sum = |number: usize| {
        let files = members.iter().map(|member| member.samples[number].files);
        files.fold((0.0, 0.0), |(s, n), (sum, count)| (s + sum, n + count))
    };
    (0..samples).map(sum).collect()
}
