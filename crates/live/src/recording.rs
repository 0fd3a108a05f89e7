//! Files of recordings: the inputs and outputs of a node's endpoint ([`polypath_session::record`]).
//!
//! A file consists of lines of JSON: a [`RecordingHeader`], [`Line`]s, and an [`End`]. A recording
//! without an end is from a node that was killed, or whose disk was full, and is valid up to there.

mod read;
mod write;

use polypath_core::endpoint::EndpointConfig;
use polypath_session::record::Entry;
use serde::{Deserialize, Serialize};

pub use read::{Reader, RecordingError};
pub(crate) use write::start;

/// Version of the format; any change of the form or meaning of an entry changes it.
pub const VERSION: u32 = 4;

/// The software that writes recordings.
pub const SOFTWARE: &str = concat!("polypath ", env!("CARGO_PKG_VERSION"));

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingHeader {
    /// [`VERSION`].
    pub recording: u32,
    /// The software that wrote it, [`SOFTWARE`].
    pub software: String,
    /// The start of the node by its wall clock, in nanoseconds since the Unix epoch.
    pub started: u64,
    /// The configuration of the endpoint.
    pub endpoint: EndpointConfig,
}

impl RecordingHeader {
    /// The header of a recording that starts now.
    pub(crate) fn new(endpoint: &EndpointConfig) -> Self {
        Self {
            recording: VERSION,
            software: SOFTWARE.to_owned(),
            started: crate::clock::wall_ns(),
            endpoint: endpoint.clone(),
        }
    }
}

/// A line of a recording after the first, numbered so that missing lines are detected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its number; that of the header is 1.
    #[serde(rename = "line")]
    pub number: u64,
    /// The entry.
    pub entry: Entry,
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
