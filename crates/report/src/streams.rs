//! Streams over several connections beside transfers, as the lab measures them.

use std::path::PathBuf;

use polypath_core::connections::{ControllerConfig, PlayOutConfig, WindowControl};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_scenario::Scenario;

/// Streams over the first path of a scenario, each over a network of its own, with the same transfers
/// beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamsRun {
    /// The file of the path.
    pub scenario: Scenario,
    /// The media of all streams.
    pub media: StreamMedia,
    /// The name and the transport of each stream.
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
    /// Its transport.
    pub transport: StreamTransport,
}

/// The transport of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StreamTransport {
    /// By the deployed server and receiver, with this controller of connections and windows.
    Connections(ControllerConfig),
    /// By one connection of the kernel's TCP.
    Tcp,
}

/// The media of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamMedia {
    /// Bytes of no meaning, as many as the stream takes.
    Endless,
    /// A clip that ffmpeg sends in real time, as MPEG-TS of this rate.
    Live {
        /// The file.
        clip: PathBuf,
        /// The rate of the multiplex.
        rate: Rate,
    },
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
    /// The mechanism that limits the connections at the end; `None` of the kernel's TCP alone.
    pub window_control: Option<WindowControl>,
    /// The bytes that arrived of a live stream.
    pub received: Vec<u8>,
}
