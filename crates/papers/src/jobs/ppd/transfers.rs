//! Transfers, one after another, by several schemes over the same background.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_claims::{Job, JobError};
use polypath_core::event::Event;
use polypath_core::frame::FrameKind;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_core::units::Bytes;
use polypath_report::{ExperimentRecord, Figures, SchemeFigures, SchemeRecord, Simulated};
use polypath_scenario::{Scenario, Scheme};
use polypath_sim::{Observer, Outcome, Side, SimEvent};
use serde::{Deserialize, Serialize};

use super::calibration::Loads;
use super::setting::{Setting, Traffic};

/// Transfers by several schemes, in lock-step.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Transfers {
    pub(crate) setting: Setting,
    pub(crate) traffic: Traffic,
    pub(crate) schemes: Vec<Scheme>,
    /// The size of a file in bytes.
    pub(crate) bytes: u64,
    pub(crate) count: u32,
    pub(crate) seed: u64,
    /// The approximate duration of a transfer by the slowest scheme, in seconds, for the progress.
    #[serde(skip)]
    pub(crate) about: u32,
}

/// The result of one scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SchemeResult {
    /// The duration of each transfer in seconds; the timeout if it was aborted.
    pub(crate) times: Vec<f64>,
    /// The number of aborted transfers.
    pub(crate) timed_out: u32,
    /// The pre-buffer of each in seconds, and the rate of the playout after it in bytes a second,
    /// if it is finite.
    pub(crate) playout: Vec<(f64, Option<f64>)>,
    /// The growth of the playable part of the first file: times in seconds, and sizes in bytes.
    pub(crate) first: Vec<(f64, f64)>,
    /// Bytes that the background delivered in each round.
    pub(crate) background: Vec<f64>,
    /// Switches of the path of the server's data.
    pub(crate) switches: u32,
    /// Bytes that applications handed over, and bytes on the wire for them.
    pub(crate) bytes: [u64; 2],
    /// Load by path and direction, the transfers included.
    pub(crate) loads: Loads,
    /// The load of the first link between inner nodes that the paths share, by direction.
    pub(crate) shared: Option<[f64; 2]>,
    /// Frames lost by path and direction, and sent.
    pub(crate) frames: [[(u64, u64); 2]; 2],
}

/// The report's observer, which also counts progress and signalling.
struct ProgressObserver<'a> {
    seen: Simulated,
    parts: &'a AtomicU64,
    share: u64,
    /// Bytes of packet pairs and of requests to switch, by scheme.
    signals: Vec<[u64; 2]>,
}

impl Observer for ProgressObserver<'_> {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        if scheme == 0 && matches!(event, SimEvent::RoundOver { .. }) {
            self.parts.fetch_add(self.share, Ordering::Relaxed);
        }
        if let SimEvent::Overlay {
            event: Event::FrameOut { kind, len, .. },
            ..
        } = event
        {
            let [pairs, requests] = &mut self.signals[scheme];
            match kind {
                FrameKind::Pair => *pairs += u64::from(*len),
                FrameKind::Switch => *requests += u64::from(*len),
                _ => {}
            }
        }
        self.seen.on_event(scheme, at, event);
    }
}

impl Job for Transfers {
    type Output = Vec<SchemeResult>;
    const KIND: &'static str = "ppd.transfers.1";

    fn cost(&self) -> f64 {
        let seconds = 100.0 + f64::from(self.count * self.about);
        seconds * self.schemes.len() as f64 / 440.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<SchemeResult>, JobError> {
        Ok(self.simulate(parts)?.carried())
    }
}

impl Transfers {
    fn simulate(&self, parts: &AtomicU64) -> Result<Simulation, JobError> {
        let mut scenario = self.setting.scenario(&self.traffic, &self.schemes)?;
        scenario.transfer.size = Bytes(self.bytes);
        scenario.transfer.count = self.count;
        let mut observer = ProgressObserver {
            seen: Simulated::new(&scenario),
            parts,
            share: polypath_batch::PARTS / u64::from(self.count.max(1)),
            signals: vec![[0; 2]; self.schemes.len()],
        };
        let outcome = polypath_sim::run(&scenario, Seed(self.seed), &mut observer)?;
        let experiment = observer.seen.finish(&scenario, &outcome);
        Ok(Simulation {
            scenario,
            figures: Figures::of(&experiment),
            experiment,
            outcome,
            signals: observer.signals,
        })
    }
}

/// The rates of playout for which the wait is recorded, in bytes per second; the receiver window
/// allows 100 kB/s.
pub(crate) const RATES: [f64; 12] = [
    2e3, 4e3, 6e3, 8e3, 10e3, 15e3, 20e3, 30e3, 40e3, 60e3, 80e3, 100e3,
];

/// The same transfers, with the waits that playout needs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Playback(pub(crate) Transfers);

/// The result of a scheme, with the mean wait in seconds before playout at each of [`RATES`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Played {
    pub(crate) carried: SchemeResult,
    pub(crate) waits: Vec<f64>,
    /// Bytes of packet pairs and of requests to switch.
    pub(crate) signals: [u64; 2],
}

impl Job for Playback {
    type Output = Vec<Played>;
    const KIND: &'static str = "ppd.playback.2";

    fn cost(&self) -> f64 {
        self.0.cost()
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<Played>, JobError> {
        let done = self.0.simulate(parts)?;
        let waits = |scheme: &SchemeFigures| {
            RATES
                .map(|rate| scheme.prebuffer_at(rate).unwrap_or(0.0))
                .to_vec()
        };
        let schemes = done.carried().into_iter().zip(&done.figures.schemes);
        let schemes = schemes.zip(&done.signals);
        Ok(schemes
            .map(|((carried, figures), signals)| Played {
                carried,
                waits: waits(figures),
                signals: *signals,
            })
            .collect())
    }
}

/// A finished simulation.
struct Simulation {
    scenario: Scenario,
    experiment: ExperimentRecord,
    figures: Figures,
    outcome: Outcome,
    signals: Vec<[u64; 2]>,
}

impl Simulation {
    fn carried(&self) -> Vec<SchemeResult> {
        let schemes = self.experiment.schemes.iter().zip(&self.figures.schemes);
        let of_scheme =
            |(n, (record, figures)): (usize, (&SchemeRecord, &SchemeFigures))| SchemeResult {
                times: times(&self.scenario, record),
                timed_out: u32::try_from(figures.timed_out).unwrap_or(u32::MAX),
                playout: playout(figures),
                first: first(figures),
                background: background(record),
                switches: u32::try_from(record.overlay.server_switches().count())
                    .unwrap_or(u32::MAX),
                bytes: [
                    record.overlay.totals.bytes_in.0,
                    record.overlay.totals.wire_bytes.0,
                ],
                loads: loads(record),
                shared: shared_load(&self.outcome, n),
                frames: frames(record),
            };
        schemes.enumerate().map(of_scheme).collect()
    }
}

fn first(figures: &SchemeFigures) -> Vec<(f64, f64)> {
    let curve = figures.curves.first();
    curve.map_or_else(Vec::new, |curve| curve.steps().to_vec())
}

fn times(scenario: &Scenario, record: &SchemeRecord) -> Vec<f64> {
    let transfers = record.transfers.iter();
    let time = |t: &polypath_report::Transfer| t.duration.unwrap_or(scenario.transfer.timeout);
    transfers
        .map(|transfer| time(transfer).as_secs_f64())
        .collect()
}

fn playout(figures: &SchemeFigures) -> Vec<(f64, Option<f64>)> {
    let lines = figures
        .curves
        .iter()
        .map(polypath_report::playout::Curve::line);
    lines
        .map(|line| {
            (
                line.prebuffer,
                Some(line.rate).filter(|rate| rate.is_finite()),
            )
        })
        .collect()
}

fn background(record: &SchemeRecord) -> Vec<f64> {
    let transfers = record.transfers.iter();
    transfers
        .filter_map(|transfer| Some(transfer.background?.0 as f64))
        .collect()
}

fn loads(record: &SchemeRecord) -> Loads {
    let of = |n: usize| {
        let path = record.overlay.paths.get(n);
        path.map_or([0.0; 2], |path| {
            [&path.forward, &path.backward].map(|direction| direction.load.unwrap_or(0.0))
        })
    };
    [of(0), of(1)]
}

fn frames(record: &SchemeRecord) -> [[(u64, u64); 2]; 2] {
    let of = |n: usize| {
        let path = record.overlay.paths.get(n);
        path.map_or([(0, 0); 2], |path| {
            [&path.forward, &path.backward].map(|d| (d.lost(), d.frames_out))
        })
    };
    [of(0), of(1)]
}

fn shared_load(outcome: &Outcome, scheme: usize) -> Option<[f64; 2]> {
    let links = &outcome.schemes.get(scheme)?.links;
    let of = |side| {
        let shared = |name: &polypath_sim::world::LinkName| name.path.is_none() && name.inner;
        let mut links = links.iter();
        let link = links.find(|link| shared(&link.name) && link.name.towards == Some(side));
        link.map(|link| link.load)
    };
    Some([of(Side::Client)?, of(Side::Server)?])
}

#[cfg(test)]
mod tests;
