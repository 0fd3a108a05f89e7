//! Streams over several connections beside transfers, as the lab measures them.

use polypath_core::connections::{ControllerConfig, PlayOutConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_scenario::Scenario;

/// Streams over the first path of a scenario, each over a network of its own, with the same transfers
/// beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamsRun {
    /// The file of the path.
    pub scenario: Scenario,
    /// The name and the controller of each stream.
    pub streams: Vec<StreamCarrier>,
    /// The wanted rate of a stream.
    pub rate: Rate,
    /// The rate to which the server limits a connection, if it does.
    pub connection_limit: Option<Rate>,
    /// The player, if the stream is played.
    pub play_out: Option<PlayOutConfig>,
    /// The times of the transfers from the start.
    pub transfers: Vec<TransferTime>,
    /// The congestion control of all senders, by the kernel's name.
    pub congestion_control: String,
    /// The duration in whole seconds.
    pub duration: Duration,
    /// The seed of the random streams of the links.
    pub seed: u64,
}

/// A stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamCarrier {
    /// Its name in messages.
    pub name: String,
    /// The controller of its connections and windows.
    pub controller: ControllerConfig,
}

/// The time in which a transfer sends, from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferTime {
    /// Its begin.
    pub from: Duration,
    /// Its end.
    pub until: Duration,
}

/// The outcome of a stream, with a value for each second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamOutcome {
    /// The rate of the media received in order, in bits per second.
    pub throughput: Vec<f64>,
    /// The wanted sum of windows at the end of the second, in packets.
    pub windows: Vec<f64>,
    /// The connections that carry the stream at the end of the second.
    pub connections: Vec<f64>,
    /// The rate of all transfers together, in bits per second.
    pub transfers: Vec<f64>,
    /// The number of times the player stopped; 0 without one.
    pub stops: u32,
}
