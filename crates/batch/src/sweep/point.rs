//! One point of a sweep: its experiment, its runs and its report.

use std::sync::atomic::AtomicU64;

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_document::Override;
use polypath_report::network::{self, NetworkFigures, NetworkRecord};
use polypath_report::sweep::Kind;
use polypath_report::{Figures, Simulated, json, record};
use polypath_scenario::{Experiment, Scenario};
use polypath_sim::{NetworkOutcome, Observer, RunError, SimEvent, run};
use serde_json::Value;

use super::SweepError;
use crate::progress::Meter;
use crate::replicas::{replica_seed, run_counted};

/// One combination of parameters.
#[derive(Clone, Debug)]
pub struct Point {
    /// The overridden keys with their values.
    pub set: Vec<Override>,
    /// The experiment with these overrides.
    pub experiment: Experiment,
}

/// A failed run of a point.
#[derive(Debug, thiserror::Error)]
pub(super) enum PointError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("a media stream has no sweep")]
    Media,
    #[error("writing the report: {0}")]
    Json(#[from] serde_json::Error),
}

/// The output of one run of a point.
pub(super) enum RunOutput {
    /// A replica of a network with its seed.
    Replica(u64, NetworkOutcome),
    /// The complete `report.json` of transfers.
    Report(Value),
}

impl Point {
    pub(super) fn words(&self) -> Vec<String> {
        self.set.iter().map(ToString::to_string).collect()
    }

    pub(super) fn kind(&self) -> Kind {
        match self.experiment {
            Experiment::Network(_) => Kind::Network,
            // A media stream has no sweep: reading its file refuses one.
            Experiment::Transfers(_) | Experiment::Media(_) => Kind::Transfers,
        }
    }

    /// Performs run `number` of `replicas`.
    pub(super) fn run(
        &self,
        number: u32,
        replicas: u32,
        parts: &AtomicU64,
    ) -> Result<RunOutput, PointError> {
        match &self.experiment {
            Experiment::Network(network) => {
                let seed = replica_seed(network.seed, replicas, number);
                let outcome = run_counted(network, seed, parts, &mut ())?;
                Ok(RunOutput::Replica(seed, outcome))
            }
            Experiment::Transfers(scenario) => {
                let record = run_transfers(scenario, parts)?;
                let text = json::render(&record, &Figures::of(&record))?;
                Ok(RunOutput::Report(serde_json::from_str(&text)?))
            }
            Experiment::Media(_) => Err(PointError::Media),
        }
    }

    /// The `report.json` of all runs.
    ///
    /// # Errors
    /// If there is no run.
    pub(super) fn report(&self, runs: Vec<RunOutput>) -> Result<Value, SweepError> {
        let nothing = || SweepError::Nothing(self.words().join(" "));
        let Experiment::Network(network) = &self.experiment else {
            return runs
                .into_iter()
                .find_map(RunOutput::report)
                .ok_or_else(nothing);
        };
        let replicas: Vec<_> = runs.into_iter().filter_map(RunOutput::replica).collect();
        let replicas = &replicas[..];
        if replicas.is_empty() {
            return Err(nothing());
        }
        let record = NetworkRecord { network, replicas };
        let text = network::json(record, &NetworkFigures::of(record))?;
        Ok(serde_json::from_str(&text)?)
    }
}

impl RunOutput {
    fn replica(self) -> Option<(u64, NetworkOutcome)> {
        match self {
            Self::Replica(seed, outcome) => Some((seed, outcome)),
            Self::Report(_) => None,
        }
    }

    fn report(self) -> Option<Value> {
        match self {
            Self::Report(report) => Some(report),
            Self::Replica(..) => None,
        }
    }
}

fn run_transfers(
    scenario: &Scenario,
    parts: &AtomicU64,
) -> Result<record::ExperimentRecord, RunError> {
    let mut counted = ProgressObserver {
        observer: Simulated::new(scenario),
        meter: Meter::new(parts),
        finished: 0,
        transfers: u64::from(scenario.transfer.count) * scenario.schemes.len() as u64,
    };
    let outcome = run(scenario, Seed(scenario.seed), &mut counted)?;
    Ok(counted.observer.finish(scenario, &outcome))
}

/// Forwards to the report's observer and counts the progress of the run.
struct ProgressObserver<'a> {
    observer: Simulated,
    meter: Meter<'a>,
    finished: u64,
    transfers: u64,
}

impl Observer for ProgressObserver<'_> {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        if matches!(event, SimEvent::TransferFinished { .. }) {
            self.finished += 1;
            self.meter.update(self.finished, self.transfers);
        }
        self.observer.on_event(scheme, at, event);
    }
}
