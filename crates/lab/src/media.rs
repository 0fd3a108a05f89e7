//! A media stream between real programs over emulated links.
//!
//! Every carrier, a policy between two nodes or another transport, has a network of its own, and
//! carries the stream at the same time as the others. All networks of a run have the same seed, so
//! that an outage or a fade meets all carriers at the same time, as in the simulator.
//!
//! *Time.* The networks' time zero is that of the nodes and of the stream. The thread of the
//! networks has a real-time priority, and nodes, RIST and streams a lower one, if the system allows it.
//! SRT comes after them and before all other programs: its sender does not sleep while its buffer is
//! full, and two of them would occupy two processors.
//!
//! *Lateness.* A run counts only if the networks were not late. If they were, the carriers are run
//! in groups, half as many at a time, from then on ([`LabConditions`]). Nor does it count if the
//! machine stalled, as it does for moments; such a group is repeated.
//!
//! *Paths.* Carriers have time to connect on all paths before the stream begins. A second after its
//! start the lab checks that each uses the paths that it should (`path_use`); the report warns of those
//! that it does not.

mod carrier;
mod ends;
mod group_run;
mod path_use;
mod programs;
mod stream;
mod transport;
mod wire;

use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_report::media::{CarrierMeasurement, LabConditions, LabRecord};
use polypath_scenario::MediaScenario;
use polypath_sim::MediaOutcome;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::groups::run_in_groups;
use crate::interrupt::Interrupt;
use crate::node_pair::PRIORITY;
use crate::preflight::preflight;
pub use carrier::MediaCarrier;
use group_run::GroupRun;
pub use transport::Transport;

/// The time before the first packet in which the carriers start, at least.
pub const START_UP: Duration = Duration::from_secs(5);
/// All runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaLabRuns {
    /// The outcomes of each carrier, in the order of the seeds.
    pub outcomes: Vec<Vec<MediaOutcome>>,
    /// The measurements of each carrier, in the order of the seeds.
    pub measurements: Vec<Vec<CarrierMeasurement>>,
    /// The conditions of the run of each seed.
    pub conditions: Vec<LabConditions>,
}

/// The run of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediaLabRun {
    /// The results of each carrier.
    pub carriers: Vec<CarrierRun>,
    /// The conditions.
    pub conditions: LabConditions,
}

/// The results of one carrier in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarrierRun {
    /// The deliveries, and the bytes on the wire.
    pub outcome: MediaOutcome,
    /// The measurements that only the lab makes.
    pub measurement: CarrierMeasurement,
}

impl MediaLabRuns {
    /// Adds the run of the next seed.
    pub fn push(&mut self, run: MediaLabRun) {
        let count = run.carriers.len();
        self.outcomes.resize_with(count, Vec::new);
        self.measurements.resize_with(count, Vec::new);
        let lists = self.outcomes.iter_mut().zip(&mut self.measurements);
        for (of_carrier, (outcomes, measurements)) in run.carriers.into_iter().zip(lists) {
            outcomes.push(of_carrier.outcome);
            measurements.push(of_carrier.measurement);
        }
        self.conditions.push(run.conditions);
    }

    /// The part of a report's record that only the lab has.
    #[must_use]
    pub fn record(&self) -> LabRecord<'_> {
        LabRecord {
            conditions: &self.conditions,
            measurements: &self.measurements,
        }
    }
}

/// Runs the stream of a scenario by all carriers, once for each seed.
///
/// The stream begins [`START_UP`] after time zero or later.
///
/// # Errors
/// Those of [`MediaLab::open`] and [`MediaLab::run`]. Leaves nothing behind.
pub fn run_media(
    scenario: &MediaScenario,
    carriers: &[MediaCarrier],
    seeds: &[u64],
    mut on_progress: impl FnMut(usize),
) -> Result<MediaLabRuns, LabError> {
    let mut lab = MediaLab::open(scenario, carriers)?;
    let mut runs = MediaLabRuns::default();
    for (done, seed) in seeds.iter().enumerate() {
        on_progress(done);
        runs.push(lab.run(*seed)?);
    }
    on_progress(seeds.len());
    Ok(runs)
}

/// The stream of a scenario and its carriers, for several runs.
#[derive(Debug)]
pub struct MediaLab<'a> {
    scenario: MediaScenario,
    carriers: &'a [MediaCarrier],
    interrupt: Interrupt,
    /// The number of carriers that run at the same time.
    group: usize,
}

impl<'a> MediaLab<'a> {
    /// Prepares the lab; signals to stop are caught until it is dropped.
    ///
    /// # Errors
    /// If the lab or a transport is not available.
    pub fn open(scenario: &MediaScenario, carriers: &'a [MediaCarrier]) -> Result<Self, LabError> {
        preflight()?;
        for carrier in carriers {
            if let MediaCarrier::Transport(transport) = carrier {
                transport.preflight()?;
            }
        }
        Ok(Self {
            scenario: with_start_up(scenario),
            carriers,
            interrupt: Interrupt::watch().map_err(LabError::Signals)?,
            group: carriers.len(),
        })
    }

    /// Runs the stream by all carriers with a seed.
    ///
    /// # Errors
    /// If the scenario makes no network, a carrier fails or cannot use any path when the stream
    /// begins, and with [`LabError::Interrupted`] on a signal to stop. Leaves nothing behind.
    pub fn run(&mut self, seed: u64) -> Result<MediaLabRun, LabError> {
        let run = |carriers: &[MediaCarrier]| {
            GroupRun::start(&self.scenario, carriers, Seed(seed))?.finish(&self.interrupt)
        };
        let (carriers, conditions) = run_in_groups(self.carriers, &mut self.group, run)?;
        Ok(MediaLabRun {
            carriers,
            conditions: conditions.unwrap_or_default(),
        })
    }
}

/// The scenario as the lab runs it, and as a simulation of the same runs must: with a warm-up in which
/// the carriers can start.
#[must_use]
pub fn with_start_up(scenario: &MediaScenario) -> MediaScenario {
    let mut scenario = scenario.clone();
    scenario.media.warm_up = scenario.media.warm_up.max(START_UP);
    scenario
}

#[cfg(test)]
mod tests;
