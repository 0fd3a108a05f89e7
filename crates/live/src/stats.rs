//! What a node counted, for its statistics file.

mod file;
mod interface_status;
mod writer;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use polypath_core::event::DropReason;
use polypath_core::liveness::{PathHealth, PathState};
use polypath_core::pmtu::MtuState;
use polypath_core::time::Time;
use polypath_session::event::{Counters, Reject};
use polypath_session::session::Session;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use file::{Kind, StatsFile, kind_of};
pub use interface_status::{InterfaceStatus, Missing};
pub(crate) use writer::StatsWriter;

use crate::drive::DriveReport;

/// Version of the statistics file; it changes when a field changes its meaning.
pub const VERSION: u32 = 1;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes, with the IP header.
    pub bytes: u64,
}

impl Volume {
    /// Counts a packet of `bytes` bytes.
    pub fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// The traffic of a path in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) sent: Volume,
    pub(crate) received: Volume,
}

/// What went through the TUN device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TunStats {
    /// From applications.
    pub from_applications: Volume,
    /// To applications.
    pub to_applications: Volume,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// From applications, what could not be split into packets and is lost; with `offload` only.
    pub unsplit: u64,
}

/// What went through a path's socket, all datagrams included: handshakes, path checks, frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathStats {
    /// The path's name.
    pub name: String,
    /// The address that this end sends from and receives at.
    pub local: Option<SocketAddr>,
    /// Where the peer is, if that is known, or the relay.
    pub remote: Option<SocketAddr>,
    /// The interface that it is bound to, and what is missing here for it to carry anything.
    #[serde(flatten)]
    pub interface_status: InterfaceStatus,
    /// Sent.
    pub sent: Volume,
    /// Received, authentic or not.
    pub received: Volume,
    /// How much that was in the last second that is over.
    pub rate: RateStats,
    /// Received from the peer, as its seal proves, and new.
    pub authentic: u64,
    /// How many seconds ago the last of those came.
    pub last_heard_s: Option<f64>,
    /// Received for another path, as they say themselves: where these keep coming, the paths of the two nodes are not in the
    /// same order.
    pub misplaced: u64,
    /// Datagrams that the kernel did not take: a queue was full or the network not to be reached.
    pub unsent: u64,
    /// Of these, datagrams longer than the interface lets through whole.
    pub too_long: u64,
    /// Datagrams that the kernel dropped before they were read: strangers' while they flood the path, and all while there
    /// was no space for more; counted each second.
    pub kernel_dropped: u64,
    /// Datagrams for a peer whose address was not known yet.
    pub unaddressed: u64,
    /// Of those sent, heartbeats and answers to the peer's, as the event stream counts their bytes.
    pub heartbeats: Volume,
    /// The longest IP packet that is known to cross whole on this path, outer headers included, in bytes; none before that is
    /// found out, or where it is not.
    pub mtu_bytes: Option<u32>,
    /// How far that is found out; nothing where it is not.
    pub mtu_state: Option<MtuState>,
    /// What the answers to this end's heartbeats tell; nothing where paths are not watched.
    pub liveness: Option<LivenessStats>,
    /// The session with the relay by which the path goes; nothing where it goes by none.
    pub relay: Option<RelayStats>,
}

/// The session with the relay of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RelayStats {
    /// Whether datagrams can go by it now.
    pub established: bool,
    /// Frames sealed and opened, handshakes, and datagrams rejected by reason.
    pub session: Value,
}

impl From<&Session> for RelayStats {
    fn from(relay: &Session) -> Self {
        Self {
            established: relay.is_established(),
            session: session(relay.counters(), None),
        }
    }
}

/// How much a path carried in the last second that is over, all headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RateStats {
    /// Sent, in bit/s.
    pub sent_bit_per_s: u64,
    /// Received, in bit/s.
    pub received_bit_per_s: u64,
}

/// Which paths carry which packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PolicyStats {
    /// The policy's name, as the node's file has it.
    pub kind: String,
    /// The path that carries data now; none where several do.
    pub active: Option<String>,
    /// How often data went to another path because the policy said so.
    pub switches: u64,
}

/// What became of reloads of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reloads {
    /// Came into force.
    pub applied: u64,
    /// Were refused whole.
    pub refused: u64,
    /// Why the last one was, if it was.
    pub last_error: Option<String>,
}

/// What heartbeats tell of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LivenessStats {
    /// Whether it lives.
    pub state: PathState,
    /// The smoothed round-trip time in milliseconds; none before the first answer.
    pub rtt_ms: Option<f64>,
    /// Its mean deviation in milliseconds, RTTVAR of RFC 6298: the path's jitter, both ways together.
    pub rttvar_ms: Option<f64>,
    /// The share of heartbeats that got lost while the path lived, 0 to 1; none before one was counted.
    pub loss: Option<f64>,
    /// How often it fell silent.
    pub silences: u64,
    /// Heartbeats answered.
    pub answered: u64,
}

impl From<PathHealth> for LivenessStats {
    fn from(health: PathHealth) -> Self {
        Self {
            state: health.state,
            rtt_ms: health.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            rttvar_ms: health.rttvar.map(|rttvar| rttvar.as_secs_f64() * 1e3),
            loss: health.loss,
            silences: health.silences,
            answered: health.answered,
        }
    }
}

/// What a node counted so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    /// [`VERSION`].
    pub version: u32,
    /// When, in nanoseconds since the start of the run.
    pub at: Time,
    /// The version of the node's software.
    pub software: String,
    /// Seconds since the node started.
    pub uptime_s: f64,
    /// The TUN device's interface name.
    pub tun_name: String,
    /// The policy.
    pub policy: PolicyStats,
    /// Reloads of the configuration.
    pub reloads: Reloads,
    /// Whether packets can cross.
    pub established: bool,
    /// The TUN device.
    pub tun: TunStats,
    /// The paths.
    pub paths: Vec<PathStats>,
    /// How many paths the peer has, as it said in the last handshake; another number than here is a
    /// mistake in one of the files.
    pub peer_paths: Option<u8>,
    /// Packets that the endpoint dropped, by reason as in the event stream; without those that it never
    /// did. `duplicate` counts the copies that were not the first.
    pub dropped: BTreeMap<DropReason, u64>,
    /// The session: frames sealed and opened, handshakes, and datagrams rejected by reason.
    pub session: Value,
    /// How well deadlines were met; at the end of the run.
    pub drive: Option<Value>,
}

/// The session's counters as the file has them, and how many seconds ago its keys were agreed on.
#[must_use]
pub fn session(counters: &Counters, age_s: Option<f64>) -> Value {
    let rejected: Map<String, Value> = Reject::ALL
        .iter()
        .map(|reason| (reason.name().to_owned(), counters.rejected(*reason).into()))
        .collect();
    json!({
        "age_s": age_s,
        "sealed": counters.sealed,
        "opened": counters.opened,
        "initiated": counters.initiated,
        "established": counters.established,
        "hellos": counters.hellos,
        "discarded": counters.discarded,
        "rejected": rejected,
    })
}

/// The drive's report as the file has it; lateness in microseconds.
#[must_use]
pub fn drive(report: &DriveReport) -> Value {
    let us = |quantile: f64| report.lateness.quantile(quantile).as_nanos() / 1000;
    json!({
        "lateness_us": { "p50": us(0.5), "p99": us(0.99), "max": us(1.0) },
        "inputs": report.inputs,
        "stuck": report.stuck,
        "rests": report.rests,
    })
}
