//! Streams over several connections (`MultiTCP` paper, 5) by the deployed server and receiver, beside
//! transfers of the kernel's TCP, over an emulated link.
//!
//! Each stream has a network of its own, and all run at the same time, or in groups if their
//! networks would be late together.

mod group_run;
mod live;
mod plain;
mod programs;

use polypath_report::media::LabConditions;
use polypath_report::streams::{StreamCarrier, StreamOutcome, StreamsRun};

use crate::LabError;
use crate::groups::run_in_groups;
use crate::interrupt::Interrupt;
use crate::preflight::preflight;
use crate::tcp;
use group_run::GroupRun;

/// A lab for streams; signals to stop are caught until it is dropped.
#[derive(Debug)]
pub struct StreamLab {
    interrupt: Interrupt,
    /// The number of streams that run at the same time, at most.
    group: usize,
}

impl StreamLab {
    /// Prepares the lab.
    ///
    /// # Errors
    /// If the lab or the congestion control, by the kernel's name, is not available, with the
    /// remedy.
    pub fn open(congestion_control: &str) -> Result<Self, LabError> {
        preflight()?;
        tcp::preflight(congestion_control)?;
        let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
        Ok(Self {
            interrupt,
            group: usize::MAX,
        })
    }

    /// Runs all streams, and returns their outcomes in this order.
    ///
    /// # Errors
    /// If the scenario makes no network, or a stream or its transfers fail; and with
    /// [`LabError::Interrupted`] on a signal to stop. Leaves nothing behind.
    pub fn run(
        &mut self,
        run: &StreamsRun,
    ) -> Result<(Vec<StreamOutcome>, LabConditions), LabError> {
        let of_group =
            |streams: &[StreamCarrier]| GroupRun::start(run, streams)?.finish(&self.interrupt);
        let (outcomes, conditions) = run_in_groups(&run.streams, &mut self.group, of_group)?;
        Ok((outcomes, conditions.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
