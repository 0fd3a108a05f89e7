//! Files of recordings: the inputs and outputs of a machine ([`polypath_session::record`]).
//!
//! A file consists of lines of JSON: a [`RecordingHeader`], [`Line`]s, and an [`End`]. A recording
//! without an end is from a program that was killed, or whose disk was full, and is valid up to there.

mod read;
mod replay;
mod write;

use polypath_core::connections::ReceptionConfig;
use polypath_core::endpoint::EndpointConfig;
use serde::{Deserialize, Serialize};

pub use read::{Reader, RecordingError};
pub use replay::{FirstDifference, ReplayResult, check, replay};
pub use write::start;

/// Version of the format; any change of the form or meaning of an entry changes it.
pub const VERSION: u32 = 4;

/// The software that writes recordings.
pub const SOFTWARE: &str = concat!("polypath ", env!("CARGO_PKG_VERSION"));

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// [`VERSION`].
    pub recording: u32,
    /// The software that wrote it, [`SOFTWARE`].
    pub software: String,
    /// The start of the program by its wall clock, in nanoseconds since the Unix epoch.
    pub started: u64,
    /// The machine.
    #[serde(flatten)]
    pub machine: RecordedMachine,
}

/// A recorded machine, by its configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedMachine {
    /// The endpoint of a node; its lines have [`Entry`](polypath_session::record::Entry).
    Endpoint(Box<EndpointConfig>),
    /// The reception of a stream; its lines have
    /// [`ReceptionEntry`](polypath_session::record::ReceptionEntry).
    Reception(ReceptionConfig),
}

impl RecordingHeader {
    /// The header of a recording that starts now.
    #[must_use]
    pub fn new(machine: RecordedMachine) -> Self {
        Self {
            recording: VERSION,
            software: SOFTWARE.to_owned(),
            started: crate::clock::wall_ns(),
            machine,
        }
    }
}

/// A line of a recording after the first, numbered so that missing lines are detected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line<E> {
    /// Its number; that of the header is 1.
    #[serde(rename = "line")]
    pub number: u64,
    /// The entry.
    pub entry: E,
}

/// The last line of a recording, which shows that the recording is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Its own number.
    pub end: u64,
}

#[cfg(test)]
mod tests;
