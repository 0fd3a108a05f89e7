//! Measurements on the kernel: figures request runs in the lab as they request simulations.
//!
//! A [`LabJob`] is a set of runs, and its result a function of their outcomes. Real time and real
//! sockets make no two runs equal, so a result is stored and reused like that of a simulation, and
//! `--fresh` repeats it.

use std::fmt;

use polypath_report::downloads::{DownloadCarrier, DownloadOutcome, DownloadSchedule};
use polypath_report::spaced::{SpacedOutcome, SpacedRun};
use polypath_report::streams::{StreamOutcome, StreamsRun};
use polypath_scenario::Network;
use polypath_sim::SendersOutcome;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::study::JobError;

/// Runs in the lab.
pub trait LabJob: Serialize + fmt::Debug + Clone + 'static {
    /// The result.
    type Output: Serialize + DeserializeOwned;

    /// The name of this kind of job.
    const KIND: &'static str;

    /// The runs, all of which take place at about the same time.
    ///
    /// # Errors
    /// If a generated scenario is invalid.
    fn runs(&self) -> Result<Vec<LabRun>, JobError>;

    /// The result of the runs, whose outcomes are in their order.
    ///
    /// # Errors
    /// If they have no result, such as no datagram that arrived.
    fn result(&self, outcomes: &[LabOutcome]) -> Result<Self::Output, JobError>;
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub enum LabRun {
    /// A run of the senders of a network.
    Senders {
        /// The network.
        network: Box<Network>,
        /// The seed of its random streams.
        seed: u64,
    },
    /// Concurrent downloads by the kernel's TCP.
    Downloads {
        /// The carriers, which run at the same time.
        carriers: Vec<DownloadCarrier>,
        /// The congestion control, by the kernel's name.
        congestion_control: String,
        /// The number of downloads and their times.
        schedule: DownloadSchedule,
        /// The seed of the random streams of the links.
        seed: u64,
    },
    /// Streams over several connections, by the deployed server and receiver.
    Streams(Box<StreamsRun>),
    /// Senders of spaced packets, beside transfers.
    Spaced(Box<SpacedRun>),
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum LabOutcome {
    /// That of senders.
    Senders(SendersLabOutcome),
    /// That of downloads, by carrier.
    Downloads(Vec<DownloadOutcome>),
    /// That of streams, in the order of the run.
    Streams(Vec<StreamOutcome>),
    /// That of spaced packets.
    Spaced(SpacedOutcome),
}

/// The outcome of a run of senders.
#[derive(Clone, Debug, PartialEq)]
pub struct SendersLabOutcome {
    /// The outcome of the senders.
    pub senders: SendersOutcome,
    /// The number of senders that began on each path.
    pub begun: Vec<u32>,
    /// The number of senders on each path at the end.
    pub ended: Vec<u32>,
}

impl LabRun {
    /// Whether the run needs the machine for itself.
    #[must_use]
    pub const fn is_alone(&self) -> bool {
        matches!(
            self,
            Self::Downloads { .. } | Self::Streams(_) | Self::Spaced(_)
        )
    }
}

/// The lab of this machine.
pub trait Lab {
    /// The number of runs that fit into one call, at least 1.
    fn capacity(&self) -> usize;

    /// Runs what is given, at about the same time unless a run needs the machine for itself, and returns the
    /// outcomes in this order, each of the kind of its run.
    ///
    /// # Errors
    /// If a run fails, or the lab was too late to count.
    fn run(&mut self, runs: &[LabRun]) -> Result<Vec<LabOutcome>, String>;
}
