//! The lab of this machine, for figures that measure on real sockets.

use polypath_claims::{Lab, LabOutcome, LabRun};
use polypath_lab::sources::{SOURCE_RUNS, SourceLab, SourceRun};

use crate::failure::Failure;
use crate::lab::failure_of;

/// The number of repetitions of runs that were too late to count.
const REPEATS: u32 = 2;

/// The lab of this machine.
pub(super) struct MachineLab(SourceLab);

impl MachineLab {
    /// Opens the lab; fails if this machine has none.
    pub(super) fn open() -> Result<Self, Failure> {
        polypath_lab::enter_user_namespace().map_err(|refusal| Failure::Machine(refusal.into()))?;
        SourceLab::open().map(Self).map_err(failure_of)
    }
}

impl Lab for MachineLab {
    fn capacity(&self) -> usize {
        SOURCE_RUNS
    }

    fn run(&mut self, runs: &[LabRun]) -> Result<Vec<LabOutcome>, String> {
        let runs: Vec<SourceRun<'_>> = runs
            .iter()
            .map(|run| SourceRun {
                network: &run.network,
                seed: run.seed,
            })
            .collect();
        let mut late = String::new();
        for _ in 0..=REPEATS {
            let ran = self.0.run(&runs, |_| ());
            let (outcomes, conditions) = ran.map_err(|error| failure_of(error).message())?;
            let Some(why) = conditions.invalid_reason() else {
                let outcome = |of: polypath_lab::sources::SourceOutcome| LabOutcome {
                    senders: of.senders,
                    begun: of.begun,
                    ended: of.ended,
                };
                return Ok(outcomes.into_iter().map(outcome).collect());
            };
            late = why;
        }
        Err(format!("{late}; end other programs, or use --no-lab"))
    }
}
