//! The record of a lab run, from which the report is made.

use std::fs::File;
use std::io::BufReader;

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use polypath_report::{
    ExperimentRecord, Lateness, Mode, OverlayRecord, Progress, Recorder, SchemeRecord, Transfer,
};
use polypath_scenario::Scenario;
use polypath_sim::Side;
use polypath_sim::world::path_load;

use super::{CollectedOutput, Observations};
use crate::LabError;
use crate::emulation::EmulationResult;
use crate::http::FetchResult;
use crate::network::Snapshot;
use crate::node_process::NodeFiles;
use crate::transfer_file::TransferFile;

/// The factor by which the bound on lateness is wider without a real-time priority.
const WITHOUT_PRIORITY_FACTOR: u64 = 5;

/// Builds the record of the run.
pub(super) fn experiment(
    scenario: &Scenario,
    seed: Seed,
    observations: &Observations,
    collected: &CollectedOutput,
) -> Result<ExperimentRecord, LabError> {
    let mut schemes = Vec::new();
    for (index, scheme) in scenario.schemes.iter().enumerate() {
        let view = SchemeView {
            fetched: observations
                .rounds
                .iter()
                .map(|round| &round[index])
                .collect(),
            totals: observations
                .snapshots
                .iter()
                .map(|mark| &mark[index])
                .collect(),
        };
        let mut overlay = overlay(scenario, &collected.files[index])?;
        view.add_loads(&mut overlay);
        schemes.push(SchemeRecord {
            name: scheme.name().to_owned(),
            transfers: view.transfers(&collected.file),
            overlay,
            background_goodput: view.background_goodput(),
        });
    }
    Ok(ExperimentRecord {
        name: scenario.name.clone(),
        title: scenario.title.clone(),
        mode: Mode::Lab,
        seed: seed.0,
        parameters: scenario.parameters(),
        timeout: scenario.transfer.timeout,
        content: collected.file.content.clone(),
        schemes,
        lateness: Some(lateness(scenario, &collected.emulation)),
    })
}

/// Builds the overlay's record from the event streams of both nodes.
fn overlay(scenario: &Scenario, files: &[NodeFiles; 2]) -> Result<OverlayRecord, LabError> {
    let mut recorder = Recorder::new(scenario.paths.iter().map(|path| path.name.as_str()));
    for (files, side) in files.iter().zip([Side::Server, Side::Client]) {
        let path = files.events();
        let file = File::open(&path).map_err(LabError::Files)?;
        recorder
            .record_lines(side, BufReader::new(file))
            .map_err(|source| LabError::Events { path, source })?;
    }
    Ok(recorder.finish())
}

/// The observations of one scheme.
struct SchemeView<'a> {
    /// Its transfers, in the order of the rounds.
    fetched: Vec<&'a FetchResult>,
    /// The totals of its network at the start of each round and at the end of the last.
    totals: Vec<&'a Snapshot>,
}

impl SchemeView<'_> {
    fn transfers(&self, file: &TransferFile) -> Vec<Transfer> {
        let spans = self.totals.windows(2);
        let background = spans.map(|span| delivered(span[0], span[1]));
        let loaded = self.background_goodput().is_some();
        let transfers = self.fetched.iter().zip(background).zip(0..);
        transfers
            .map(|((fetched, background), round)| Transfer {
                round,
                started: fetched.started,
                duration: fetched.duration,
                size: file.content.size,
                intact: fetched.digest == file.digest,
                progress: fetched
                    .progress
                    .iter()
                    .map(|&(at, bytes)| Progress {
                        at,
                        bytes: Bytes(bytes),
                    })
                    .collect(),
                background: loaded.then_some(background),
            })
            .collect()
    }

    /// The goodput of background traffic; `None` without background traffic.
    fn background_goodput(&self) -> Option<Rate> {
        let (before, after) = (self.totals.first()?, self.totals.last()?);
        let bytes = delivered(before, after);
        Rate::average(bytes, after.at.since(before.at)).filter(|_| bytes > Bytes(0))
    }

    /// Adds the load of each direction of each path.
    fn add_loads(&self, overlay: &mut OverlayRecord) {
        let (Some(before), Some(after)) = (self.totals.first(), self.totals.last()) else {
            return;
        };
        for (path, id) in overlay.paths.iter_mut().zip((0..).map(PathId)) {
            path.forward.load = load(before, after, id, Side::Client);
            path.backward.load = load(before, after, id, Side::Server);
        }
    }
}

/// The bytes that background traffic delivered between two snapshots.
fn delivered(before: &Snapshot, after: &Snapshot) -> Bytes {
    Bytes(after.background.since(&before.background).total())
}

fn load(before: &Snapshot, after: &Snapshot, path: PathId, towards: Side) -> Option<f64> {
    let seconds = after.at.since(before.at).as_secs_f64();
    let links = before.links.iter().zip(&after.links);
    let loads = links.map(|(earlier, later)| {
        let counters = later.counters.since(&earlier.counters);
        (&earlier.name, counters.load(earlier.rate, seconds))
    });
    path_load(loads, path, towards)
}

fn lateness(scenario: &Scenario, emulation: &EmulationResult) -> Lateness {
    let measured = &emulation.lateness;
    Lateness {
        p50: measured.quantile(0.5),
        p99: measured.quantile(0.99),
        max: measured.max(),
        bound: lateness_bound(scenario, emulation.realtime),
    }
}

/// The bound on the 99th percentile of the lateness.
pub(super) fn lateness_bound(scenario: &Scenario, realtime: bool) -> Duration {
    let bound = scenario.lab.lateness_bound;
    if realtime {
        bound
    } else {
        bound * WITHOUT_PRIORITY_FACTOR
    }
}

#[cfg(test)]
mod tests;
