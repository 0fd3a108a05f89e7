//! The counters of a relay, for its statistics file.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use polypath_core::time::Time;
use serde::Serialize;
use serde_json::Value;

use crate::stats::Volume;

/// Version of the statistics file; it changes when a field changes its meaning.
pub const VERSION: u32 = 1;

/// The counters of a relay.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// [`VERSION`].
    pub version: u32,
    /// The time in nanoseconds since the start of the run.
    pub at: Time,
    /// The paths.
    pub paths: Vec<PathStats>,
    /// The lateness of deadlines; only at the end of the run.
    pub drive: Option<Value>,
}

/// The counters of a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathStats {
    /// The path's name.
    pub name: String,
    /// The address at which the relay receives.
    pub local: SocketAddr,
    /// Traffic sent, IP headers included.
    pub sent: Volume,
    /// Traffic received from anyone, IP headers included.
    pub received: Volume,
    /// Datagrams that were not sent: the kernel had a full queue or no route; and cookies for unknown
    /// hosts while half of the send buffer was in use.
    pub unsent: u64,
    /// Datagrams that the kernel dropped before they were read: those of strangers during a flood,
    /// and all while the buffer was full.
    pub kernel_dropped: u64,
    /// Datagrams dropped that belong to neither node's session, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// The two nodes.
    pub nodes: Vec<NodeStats>,
}

/// The counters of a node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeStats {
    /// The node's name.
    pub name: String,
    /// Its address, if known.
    pub address: Option<SocketAddr>,
    /// Whether there is a session with it.
    pub established: bool,
    /// Its datagrams that were forwarded to the other node, and their bytes without headers.
    pub forwarded: Volume,
    /// Its datagrams that were dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// The session with it: frames sealed and opened, handshakes, and datagrams rejected by reason.
    pub session: Value,
}
