//! Runs of the figures on real sockets, beside the simulation.

use polypath_batch::replica_seeds;
use polypath_claims::{FigureTable, Pending, SEED, Sample, Study};

use super::fairness::Pairs;
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::psp::in_lab::{InLab, LabFlows};
use crate::jobs::psp::merge::{Merge, Span};

/// The period of a run of senders with a fixed spacing.
pub(super) const SPAN: Span = Span {
    seconds: 25,
    warm_up: 5,
};

/// The runs of one setting by seed.
pub(super) struct LabRuns(Vec<(u64, LabFlows)>);

/// A row of a table that has both: its name, and the samples of the simulation and of the lab.
pub(super) type Both = (&'static str, Vec<Sample>, Vec<Sample>);

impl LabRuns {
    /// Runs `merge` with each seed; `None` without a lab.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn of(
        study: &mut Study<'_>,
        merge: impl Fn(u64) -> Merge,
    ) -> Result<Option<Self>, Pending> {
        let seeds = replica_seeds(SEED, study.pick(1, 3));
        // Each is requested before the first that is missing ends this.
        let runs: Vec<_> = seeds
            .iter()
            .map(|&seed| study.request_in_lab(&InLab(merge(seed))))
            .collect();
        let runs = runs.into_iter().collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(runs.map(|runs| Self(seeds.into_iter().zip(runs).collect())))
    }

    /// A value of each run; runs without one are left out.
    pub(super) fn samples(&self, of: impl Fn(&LabFlows) -> Option<f64>) -> Vec<Sample> {
        let sample = |(seed, flows): &(u64, LabFlows)| {
            Some(Sample {
                seed: *seed,
                value: of(flows)?,
            })
        };
        self.0.iter().filter_map(sample).collect()
    }

    /// The senders' traces, as those of the simulation.
    pub(super) fn into_pairs(self) -> Pairs {
        let runs = self.0.into_iter();
        Pairs::from_runs(runs.map(|(seed, flows)| (seed, flows.traces)).collect())
    }
}

/// The values of the lab beside those of the simulation.
pub(super) fn beside(title: &str, digits: usize, rows: &[Both]) -> FigureTable {
    let row = |(name, simulated, lab): &Both| {
        vec![
            (*name).to_owned(),
            text(simulated, digits),
            text(lab, digits),
        ]
    };
    figure_table(
        "lab",
        title,
        &["", "simulated", "in the lab"],
        rows.iter().map(row).collect(),
    )
}
