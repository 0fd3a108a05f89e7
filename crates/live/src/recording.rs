//! Files of recordings: what came to a node's endpoint and what it decided ([`polypath_session::record`]).
//!
//! Lines of JSON. The first is a [`Header`], each other an [`Entry`]. A recording that stops in the middle of its last
//! line is that of a node that was killed, or whose disk was full, and is as good up to there.

mod read;
mod write;

use polypath_core::endpoint::EndpointConfig;
use polypath_session::record::Entry;
use serde::{Deserialize, Serialize};

pub use read::{Reader, RecordingError};
pub(crate) use write::start;

/// Version of the form of recordings; it changes with any change of an entry's form or meaning.
pub const VERSION: u32 = 1;

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

/// A line of a recording after the first, with its number from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its number.
    pub number: u64,
    /// What stands in it.
    pub entry: Entry,
}

#[cfg(test)]
mod tests;
