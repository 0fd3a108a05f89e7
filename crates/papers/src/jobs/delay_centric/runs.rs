//! Runs on the testbed and their results.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_claims::{Job, JobError, LabJob, LabOutcome, LabRun};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Network;
use polypath_sim::{AgentEvent, Detail, FlowCounters, NetworkEvent, NetworkObserver, run_network};
use serde::{Deserialize, Serialize};

use super::testbed::{SOURCES, Testbed};

/// The approximate run time per datagram in seconds of one core.
const SECONDS_OF_PACKET: f64 = 1e-6;

/// Runs that differ only in their seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Runs {
    pub(crate) bed: Testbed,
    pub(crate) seeds: Vec<u64>,
}

/// The result of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    /// The mean delay of the datagrams that arrived, in seconds.
    pub(crate) delay: f64,
    /// The share of lost datagrams.
    pub(crate) lost: f64,
    /// The number of sources that began on the first path of their list.
    pub(crate) began_left: u32,
    /// The number that ended there.
    pub(crate) ended_left: u32,
    /// The number of path switches of all sources.
    pub(crate) switches: u32,
}

impl Job for Runs {
    type Output = Vec<Run>;

    const KIND: &'static str = "delay_centric.runs";

    fn cost(&self) -> f64 {
        let packets = self.bed.packets * SOURCES * 100 / (100 - self.bed.background);
        self.seeds.len() as f64 * f64::from(packets) * SECONDS_OF_PACKET
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<Run>, JobError> {
        let network = self.bed.network()?;
        let share = PARTS / self.seeds.len().max(1) as u64;
        let mut runs = Vec::with_capacity(self.seeds.len());
        for &seed in &self.seeds {
            runs.push(run(&network, seed)?);
            parts.fetch_add(share, Ordering::Relaxed);
        }
        Ok(runs)
    }
}

/// The same runs in the lab: on real sockets, over emulated links.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LabRuns(pub(crate) Runs);

impl LabJob for LabRuns {
    type Output = Vec<Run>;

    const KIND: &'static str = "delay_centric.lab";

    fn runs(&self) -> Result<Vec<LabRun>, JobError> {
        let network = self.0.bed.network()?;
        let run = |&seed: &u64| LabRun::Senders {
            network: Box::new(network.clone()),
            seed,
        };
        Ok(self.0.seeds.iter().map(run).collect())
    }

    fn result(&self, outcomes: &[LabOutcome]) -> Result<Vec<Run>, JobError> {
        let runs = self.0.seeds.iter().zip(outcomes);
        runs.map(|(seed, outcome)| in_lab(*seed, outcome)).collect()
    }
}

fn in_lab(seed: u64, outcome: &LabOutcome) -> Result<Run, JobError> {
    let LabOutcome::Senders(outcome) = outcome else {
        return Err(JobError::Other(
            "the outcome is not that of senders".to_owned(),
        ));
    };
    let senders = &outcome.senders;
    let sent = senders.sent.max(senders.arrived).max(1);
    Ok(Run {
        seed,
        delay: senders.mean_delay.ok_or_else(|| nothing_arrived(seed))?,
        lost: 1.0 - senders.arrived as f64 / sent as f64,
        began_left: outcome.begun.first().copied().unwrap_or(0),
        ended_left: outcome.ended.first().copied().unwrap_or(0),
        switches: u32::try_from(senders.switches).unwrap_or(u32::MAX),
    })
}

fn nothing_arrived(seed: u64) -> JobError {
    JobError::Other(format!("seed {seed}: no datagram arrived"))
}

fn run(network: &Network, seed: u64) -> Result<Run, JobError> {
    let mut paths = PathCounts::default();
    let outcome = run_network(network, Seed(seed), &mut paths)?;
    let sources = outcome.flows.iter().take(SOURCES as usize);
    let total: FlowCounters = sources.flat_map(|flow| flow.spans.iter().copied()).sum();
    Ok(Run {
        seed,
        delay: total.delays.mean().ok_or_else(|| nothing_arrived(seed))?,
        lost: 1.0 - total.delays.count as f64 / total.sender.sent as f64,
        began_left: paths.began_left,
        ended_left: paths.now_left,
        switches: paths.switches,
    })
}

/// Counts the first and the last paths of sources, and their switches.
#[derive(Default)]
struct PathCounts {
    began_left: u32,
    now_left: u32,
    switches: u32,
}

impl NetworkObserver for PathCounts {
    fn on_progress(&mut self, _: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            flow_events: true,
            packets: false,
        }
    }

    fn on_event(&mut self, _: Time, event: &NetworkEvent) {
        if let NetworkEvent::Agent {
            event: AgentEvent::Path(change),
            ..
        } = event
        {
            let enters_left = u32::from(change.to.0 == 0);
            self.now_left += enters_left;
            match change.from {
                None => self.began_left += enters_left,
                Some(from) => {
                    self.now_left -= u32::from(from.0 == 0);
                    self.switches += 1;
                }
            }
        }
    }
}
