//! Sources over several paths on real sockets, in real time, over emulated links: the test bed of
//! the delay-centric paper (III).
//!
//! The senders of a network ([`Senders`](polypath_scenario::network::Senders)) are the sources of
//! [`polypath_live::sources`] in one namespace, and a responder answers them in another. The links
//! between them, and the other flows of the file on these, are those of the simulator. A source
//! draws its start, its intervals and its guard times from the random streams that it has in a
//! simulation with the same seed. Runs take place at the same time, each over a network of its own,
//! and in groups if their networks would be late together.

mod group_run;
mod running;

use polypath_report::media::LabConditions;
use polypath_scenario::Network;
use polypath_sim::SendersOutcome;

use crate::LabError;
use crate::groups::run_in_groups;
use crate::interrupt::Interrupt;
use crate::preflight::preflight;
use group_run::GroupRun;

/// The number of runs that take place at the same time, at most: more of the paper's test bed would
/// be late on two cores.
pub const SOURCE_RUNS: usize = 16;

/// A run of the senders of a network.
#[derive(Clone, Copy, Debug)]
pub struct SourceRun<'a> {
    /// The network, with exactly one flow of kind `multihomed`.
    pub network: &'a Network,
    /// The seed of all random streams.
    pub seed: u64,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceOutcome {
    /// The outcome of the senders after the warm-up. A datagram arrived if it was acknowledged
    /// before the end of the run.
    pub senders: SendersOutcome,
    /// The number of senders that began on each path.
    pub begun: Vec<u32>,
    /// The number of senders on each path at the end.
    pub ended: Vec<u32>,
    /// Packets that the kernel refused or dropped outside the emulated links, in both directions.
    pub refused: u64,
}

/// A lab for sources; signals to stop are caught until it is dropped.
#[derive(Debug)]
pub struct SourceLab {
    interrupt: Interrupt,
    group: usize,
}

impl SourceLab {
    /// Prepares the lab.
    ///
    /// # Errors
    /// If the lab is not available, with the remedy.
    pub fn open() -> Result<Self, LabError> {
        preflight()?;
        let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
        Ok(Self {
            interrupt,
            group: SOURCE_RUNS,
        })
    }

    /// Runs the senders of all networks and returns their outcomes, in this order; `on_done`
    /// receives the number of finished runs.
    ///
    /// # Errors
    /// If a network has no senders, the system refuses a namespace, device or socket, an emulation
    /// fails, and with [`LabError::Interrupted`] on a signal to stop. Leaves nothing behind.
    pub fn run(
        &mut self,
        runs: &[SourceRun<'_>],
        mut on_done: impl FnMut(usize),
    ) -> Result<(Vec<SourceOutcome>, LabConditions), LabError> {
        let run = |group: &[SourceRun<'_>]| GroupRun::start(group)?.finish(&self.interrupt);
        let mut outcomes = Vec::new();
        let mut conditions: Option<LabConditions> = None;
        while outcomes.len() < runs.len() {
            let rest = &runs[outcomes.len()..];
            let group = &rest[..rest.len().min(self.group)];
            let (of_group, found) = run_in_groups(group, &mut self.group, run)?;
            outcomes.extend(of_group);
            // It was smaller only because something else kept the machine busy, as far as known.
            self.group = (self.group * 2).min(SOURCE_RUNS);
            conditions = match (conditions, found) {
                (Some(all), Some(found)) => Some(all.with(found)),
                (all, found) => all.or(found),
            };
            on_done(outcomes.len());
        }
        Ok((outcomes, conditions.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
