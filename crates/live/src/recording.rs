//! Files of recordings: what came to a node's endpoint and what it decided ([`polypath_session::record`]).
//!
//! Lines of JSON. The first is a [`Header`], each other a [`Line`], and the last an [`End`]. A recording without an end is
//! that of a node that was killed, or whose disk was full, and is as good up to there.

mod read;
mod write;

use polypath_core::endpoint::EndpointConfig;
use polypath_session::record::Entry;
use serde::{Deserialize, Serialize};

pub use read::{Reader, RecordingError};
pub(crate) use write::start;

/// Version of the form of recordings; it changes with any change of an entry's form or meaning.
pub const VERSION: u32 = 4;

/// The software that makes recordings.
pub const SOFTWARE: &str = concat!("polypath ", env!("CARGO_PKG_VERSION"));

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`VERSION`].
    pub recording: u32,
    /// What made it, [`SOFTWARE`].
    pub software: String,
    /// When the node began, in nanoseconds since 1970 by its wall clock.
    pub started: u64,
    /// How the endpoint is set up.
    pub endpoint: EndpointConfig,
}

impl Header {
    /// The header of a recording that begins now.
    pub(crate) fn new(endpoint: EndpointConfig) -> Self {
        Self {
            recording: VERSION,
            software: SOFTWARE.to_owned(),
            started: crate::clock::wall_ns(),
            endpoint,
        }
    }
}

/// A line of a recording after the first, with its number: one that is missing shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its number; that of the header is 1.
    #[serde(rename = "line")]
    pub number: u64,
    /// What stands in it.
    pub entry: Entry,
}

/// The last line of a recording: none of those before it is missing at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Its own number.
    pub end: u64,
}

/// Whether a file that begins with these bytes is a recording, of whatever version.
pub(crate) fn is_head(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"recording\":")
}

#[cfg(test)]
mod tests;
