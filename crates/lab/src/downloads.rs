//! Concurrent downloads by the kernel's TCP over emulated links: over two nodes, or over the first
//! path alone.
//!
//! They are those of [`run_concurrent_downloads`](polypath_sim::run_concurrent_downloads): they
//! begin within a second, and one more begins after the measurement. Carriers run at the same time,
//! each over a network of its own whose links fade at the same times, and in groups if their
//! networks would be late together.

mod connections;
mod group_run;

use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_link::Counters;
use polypath_report::downloads::DownloadShares;
use polypath_report::media::LabConditions;
use polypath_scenario::{Scenario, Scheme};
use polypath_sim::ConcurrentDownloads;

use crate::LabError;
use crate::groups::run_in_groups;
use crate::interrupt::Interrupt;
use crate::preflight::preflight;
use crate::tcp;
use group_run::GroupRun;

/// A carrier of concurrent downloads.
#[derive(Clone, Debug)]
pub struct DownloadCarrier {
    /// Its name in messages.
    pub name: String,
    /// The file of its paths.
    pub scenario: Scenario,
    /// The policy of its nodes; without nodes the first path carries the downloads.
    pub policy: Option<PolicyConfig>,
}

/// The downloads and their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadSchedule {
    /// The number of downloads, without the one that begins after the measurement.
    pub flows: u32,
    /// The time before the measurement, in which the downloads begin and their windows settle.
    pub warm_up: Duration,
    /// The duration of the measurement.
    pub measured: Duration,
    /// The time for which the last download runs beside the others.
    pub last: Duration,
}

/// The result of the downloads of a carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DownloadOutcome {
    /// The shares, in bytes.
    pub shares: DownloadShares,
    /// The duration of the measurement.
    pub measured: Duration,
    /// The totals of the links towards the receivers, in the measurement.
    pub links: Counters,
    /// The packets that the receivers' host received with a mark (CE, RFC 3168), in the whole run.
    pub marked: u64,
}

impl DownloadSchedule {
    /// The times of the totals, from the start: when the measurement begins, when it ends and the
    /// last download begins, and the end.
    #[must_use]
    pub fn totals_at(self) -> [Duration; 3] {
        let end = self.warm_up + self.measured;
        [self.warm_up, end, end + self.last]
    }

    /// The same downloads in the simulator, by a carrier.
    #[must_use]
    pub fn simulated(self, carrier: &DownloadCarrier) -> ConcurrentDownloads {
        let detector = match carrier.policy {
            Some(PolicyConfig::Diversity(config)) => Some(config.detector()),
            _ => None,
        };
        let [_, late, _] = self.totals_at();
        ConcurrentDownloads {
            flows: self.flows + 1,
            scheme: carrier.policy.map_or(Scheme::Tcp, Scheme::Policy),
            detector,
            late: Some(Time::ZERO + late),
        }
    }
}

impl DownloadOutcome {
    /// The goodput in bits per second.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        self.shares.received * 8.0 / self.measured.as_secs_f64()
    }

    /// The mean time that a packet waited at a link before its first bit left, in seconds.
    #[must_use]
    pub fn queue_delay(&self) -> f64 {
        let transmitted = self.links.packets_in - self.links.drops.queue();
        self.links.waited.as_secs_f64() / transmitted.max(1) as f64
    }
}

/// A lab for concurrent downloads; signals to stop are caught until it is dropped.
#[derive(Debug)]
pub struct DownloadLab {
    interrupt: Interrupt,
    /// The number of carriers that run at the same time, at most.
    group: usize,
}

impl DownloadLab {
    /// Prepares the lab.
    ///
    /// # Errors
    /// If the lab or a congestion control, by the kernel's name, is not available, with the remedy.
    pub fn open(congestion_controls: &[String]) -> Result<Self, LabError> {
        preflight()?;
        for name in congestion_controls {
            tcp::preflight(name)?;
        }
        let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
        Ok(Self {
            interrupt,
            group: usize::MAX,
        })
    }

    /// Runs the downloads of a schedule by all carriers, with a congestion control and a seed.
    ///
    /// The settings of TCP are the kernel's, with ECN, and not those of the scenario.
    ///
    /// # Errors
    /// If a scenario makes no network, a carrier fails or does not use all paths within 20 s, and
    /// with [`LabError::Interrupted`] on a signal to stop. Leaves nothing behind.
    pub fn run(
        &mut self,
        carriers: &[DownloadCarrier],
        congestion_control: &str,
        schedule: DownloadSchedule,
        seed: u64,
    ) -> Result<(Vec<DownloadOutcome>, LabConditions), LabError> {
        let run = |carriers: &[DownloadCarrier]| {
            let group = GroupRun::start(carriers, congestion_control, schedule, Seed(seed))?;
            group.finish(&self.interrupt)
        };
        let (outcomes, conditions) = run_in_groups(carriers, &mut self.group, run)?;
        Ok((outcomes, conditions.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
