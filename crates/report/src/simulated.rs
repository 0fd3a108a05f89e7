//! A simulation as an experiment: its observer and its records.

use polypath_core::event::Stamped;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_scenario::Scenario;
use polypath_sim::{Observer, Outcome, SchemeOutcome, Side, SimEvent};

use crate::record::{Content, ExperimentRecord, Mode, Progress, SchemeRecord, Source, Transfer};
use crate::recorder::Recorder;

/// Observes the simulation of all schemes of a scenario.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The size of the file of every transfer.
    size: Bytes,
    schemes: Vec<Observed>,
}

/// The observations of one scheme.
#[derive(Clone, Debug)]
struct Observed {
    recorder: Recorder,
    transfers: Vec<Transfer>,
}

impl Simulated {
    /// An observer without observations.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let paths = || scenario.paths.iter().map(|path| path.name.clone());
        let observed = || Observed {
            recorder: Recorder::new(paths()),
            transfers: Vec::new(),
        };
        Self {
            size: scenario.transfer.size,
            schemes: scenario.schemes.iter().map(|_| observed()).collect(),
        }
    }

    /// The experiment, with the outcome of the simulation.
    #[must_use]
    pub fn finish(self, scenario: &Scenario, outcome: &Outcome) -> ExperimentRecord {
        let span = outcome.end.since(outcome.start);
        let schemes = self.schemes.into_iter().zip(&outcome.schemes);
        ExperimentRecord {
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            mode: Mode::Sim,
            seed: scenario.seed,
            parameters: scenario.parameters(),
            timeout: scenario.transfer.timeout,
            content: Content {
                source: Source::Simulated,
                size: self.size,
            },
            schemes: schemes
                .map(|(seen, outcome)| seen.finish(outcome, span))
                .collect(),
            lateness: None,
        }
    }
}

impl Observer for Simulated {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        let Some(seen) = self.schemes.get_mut(scheme) else {
            return;
        };
        match *event {
            SimEvent::Overlay { side, event } => seen.recorder.record(side, &Stamped { at, event }),
            SimEvent::TransferStarted { round } => seen.transfers.push(Transfer {
                round,
                started: at,
                duration: None,
                size: self.size,
                intact: false,
                progress: Vec::new(),
                background: None,
            }),
            SimEvent::Progress { bytes, .. } => seen.progress(at, Bytes(bytes)),
            SimEvent::TransferFinished { ok, .. } => seen.finish_transfer(at, ok),
            SimEvent::RoundOver { background, .. } => seen.end_round(Bytes(background.total())),
        }
    }
}

impl Observed {
    fn progress(&mut self, at: Time, bytes: Bytes) {
        if let Some(transfer) = self.transfers.last_mut() {
            let at = at.since(transfer.started);
            transfer.progress.push(Progress { at, bytes });
        }
    }

    fn finish_transfer(&mut self, at: Time, ok: bool) {
        if let Some(transfer) = self.transfers.last_mut() {
            transfer.duration = ok.then(|| at.since(transfer.started));
            transfer.intact = ok;
        }
    }

    fn end_round(&mut self, background: Bytes) {
        if let Some(transfer) = self.transfers.last_mut() {
            transfer.background = Some(background);
        }
    }

    fn finish(mut self, outcome: &SchemeOutcome, span: Duration) -> SchemeRecord {
        self.drop_background_unless_loaded();
        let mut overlay = self.recorder.finish();
        for (path, id) in overlay.paths.iter_mut().zip((0..).map(PathId)) {
            path.forward.load = outcome.path_load(id, Side::Client);
            path.backward.load = outcome.path_load(id, Side::Server);
        }
        SchemeRecord {
            name: outcome.scheme.name().to_owned(),
            transfers: self.transfers,
            overlay,
            background_goodput: Rate::average(Bytes(outcome.background.total()), span)
                .filter(|rate| rate.0 > 0),
        }
    }

    /// Without any delivery in all rounds there is no background; a single round without is harm.
    fn drop_background_unless_loaded(&mut self) {
        let delivered = |transfer: &Transfer| transfer.background.is_some_and(|b| b > Bytes(0));
        if !self.transfers.iter().any(delivered) {
            for transfer in &mut self.transfers {
                transfer.background = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(backgrounds: [u64; 2]) -> Vec<Option<Bytes>> {
        let mut seen = Observed {
            recorder: Recorder::new(["path1"]),
            transfers: Vec::new(),
        };
        for (round, background) in (0..).zip(backgrounds) {
            seen.transfers.push(Transfer {
                round,
                started: Time::ZERO,
                duration: None,
                size: Bytes(1),
                intact: false,
                progress: Vec::new(),
                background: None,
            });
            seen.end_round(Bytes(background));
        }
        seen.drop_background_unless_loaded();
        seen.transfers.iter().map(|t| t.background).collect()
    }

    #[test]
    fn no_background_is_decided_for_all_rounds_at_once() {
        assert_eq!(observed([0, 7]), [Some(Bytes(0)), Some(Bytes(7))]);
        assert_eq!(observed([0, 0]), [None, None]);
    }
}
