//! Concurrent downloads by the kernel's TCP over emulated links: over two nodes, or over the first
//! path alone.
//!
//! They are those of [`run_concurrent_downloads`](polypath_sim::run_concurrent_downloads): they
//! begin within a second, and one more begins after the measurement. Carriers run at the same time,
//! each over a network of its own whose links fade at the same times, and in groups if their
//! networks would be late together.

mod group_run;

use polypath_core::rng::Seed;
use polypath_report::downloads::{DownloadCarrier, DownloadOutcome, DownloadSchedule};
use polypath_report::media::LabConditions;

use crate::LabError;
use crate::groups::run_in_groups;
use crate::interrupt::Interrupt;
use crate::preflight::preflight;
use crate::tcp;
use group_run::GroupRun;

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
