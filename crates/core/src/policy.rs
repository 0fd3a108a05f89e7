//! Which paths carry a packet, as a full copy or as a probe.
//!
//! A policy sees what a packet is ([`PacketMeta`]), never its content, and answers with a [`Plan`]. A
//! policy that decides over time names deadlines and answers feedback with [`Action`]s. All policies are
//! written for n paths; the papers use two.

pub mod delay_centric;
mod duplicate;
mod path_set;
mod probe_and_switch;
mod single_path;

pub use delay_centric::{DelayCentric, DelayCentricConfig};
pub use duplicate::{DuplicateAcks, DuplicateAll};
pub use path_set::{Members, PathSet};
pub use probe_and_switch::ProbeAndSwitch;
pub use single_path::SinglePath;

use alloc::boxed::Box;

use crate::frame::{Epoch, PathId};
use crate::machine::Deadline;
use crate::packet::{Kind, PacketMeta};
use crate::time::{Duration, Time};

/// What becomes of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The paths that carry a full copy.
    pub copies: PathSet,
    /// The paths that carry a probe in its stead.
    pub probes: PathSet,
}

/// The paths as a policy sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Those that carry the packet: all that are alive but for those too narrow for it ([`crate::pmtu`]).
    pub usable: PathSet,
    /// Those that carry copies of what goes on all: the usable ones, and those that answer again but are not yet trusted
    /// with what goes on one alone ([`crate::liveness`]).
    pub copies: PathSet,
    /// Those that can be sent on, whatever the length of this packet: a path is to be left where it is not among them.
    pub alive: PathSet,
}

impl Paths {
    /// Paths all of which are trusted.
    #[must_use]
    pub const fn trusted(usable: PathSet) -> Self {
        Self {
            usable,
            copies: usable,
            alive: usable,
        }
    }
}

/// What a policy learns from the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// The receiver asks for data on path `to`, opening `epoch`.
    Switch {
        /// The path to become active.
        to: PathId,
        /// The epoch that the switch opens.
        epoch: Epoch,
    },
    /// The other end acknowledged a data packet.
    Acknowledged {
        /// The path that carried it.
        path: PathId,
        /// From its sending to the arrival of its ACK.
        rtt: Duration,
    },
    /// The other end answered a heartbeat.
    HeartbeatReply {
        /// The path that carried it.
        path: PathId,
        /// Its number, as [`Action::Heartbeat`] said it.
        id: u64,
    },
}

/// What a policy wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a packet pair on this path, to measure delta T.
    SendPair(PathId),
    /// Send a heartbeat on this path, which the other end answers, to measure the round-trip time.
    Heartbeat {
        /// The path.
        path: PathId,
        /// Its number on the path, which the answer repeats.
        id: u64,
    },
    /// The active path changed; for the record.
    Switched {
        /// The path that was active.
        from: PathId,
        /// The path that is active now.
        to: PathId,
    },
}

/// Chooses the paths of each packet.
pub trait PathPolicy: core::fmt::Debug + Send {
    /// Which paths carry the packet; at a session's start also what else is to be sent.
    fn route(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        paths: &Paths,
        act: &mut dyn FnMut(Action),
    ) -> Plan;

    /// Takes what the other end says.
    fn handle_feedback(&mut self, _: Time, _: Feedback, _: &mut dyn FnMut(Action)) {}

    /// When the policy next wants to act on its own.
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    /// Acts on a deadline that has come.
    fn handle_timeout(&mut self, _: Time, _: &Paths, _: &mut dyn FnMut(Action)) {}

    /// The path that carries data as long as it can be used, where one does.
    fn active(&self) -> Option<PathId> {
        None
    }

    /// The number of switches so far, which every frame carries.
    fn epoch(&self) -> Epoch {
        Epoch::default()
    }
}

/// The policies by name, with their parameters, as scenario and node files have them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(
    feature = "serde",
    serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum PolicyConfig {
    /// Everything on one path: plain tunnelling, the papers' baseline.
    SinglePath {
        /// The path, by its position in the file, from 0.
        #[cfg_attr(feature = "serde", serde(default))]
        path: u8,
    },
    /// Pure ACKs and control segments on all paths, data on one (PPD-TCP1, PPD paper 3.1).
    DuplicateAcks {
        /// The path of the data, by its position in the file, from 0.
        #[cfg_attr(feature = "serde", serde(default))]
        path: u8,
    },
    /// Everything on all paths (PPD-TCP2, PPD paper 3.2).
    DuplicateAll {},
    /// Pure ACKs and control segments on all paths, data on the active path, probes on the others, and
    /// a switch where a probe wins (PPD-TCP3, PPD paper 3.3).
    ProbeAndSwitch {
        /// The path that is active first, by its position in the file, from 0.
        #[cfg_attr(feature = "serde", serde(default))]
        path: u8,
    },
}

impl PolicyConfig {
    /// The policy, with a packet pair every `pair_interval` where it sends any.
    #[must_use]
    pub fn build(self, pair_interval: Duration) -> Box<dyn PathPolicy> {
        self.build_in(Epoch::default(), pair_interval)
    }

    /// The same, in an epoch that another policy left it.
    pub(crate) fn build_in(self, epoch: Epoch, pair_interval: Duration) -> Box<dyn PathPolicy> {
        match self {
            Self::SinglePath { path } => Box::new(SinglePath::new(PathId(path))),
            Self::DuplicateAcks { path } => Box::new(DuplicateAcks::new(PathId(path))),
            Self::DuplicateAll {} => Box::new(DuplicateAll),
            Self::ProbeAndSwitch { path } => {
                Box::new(ProbeAndSwitch::new(PathId(path), pair_interval).in_epoch(epoch))
            }
        }
    }

    /// The name by which files and statistics know it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SinglePath { .. } => "single-path",
            Self::DuplicateAcks { .. } => "duplicate-acks",
            Self::DuplicateAll {} => "duplicate-all",
            Self::ProbeAndSwitch { .. } => "probe-and-switch",
        }
    }

    /// The same, with data on `first` to begin with where it names a path.
    #[must_use]
    pub(crate) const fn beginning_on(self, first: PathId) -> Self {
        let path = first.0;
        match self {
            Self::SinglePath { .. } => Self::SinglePath { path },
            Self::DuplicateAcks { .. } => Self::DuplicateAcks { path },
            Self::DuplicateAll {} => Self::DuplicateAll {},
            Self::ProbeAndSwitch { .. } => Self::ProbeAndSwitch { path },
        }
    }

    /// Whether it sends every packet on every path.
    #[must_use]
    pub const fn copies_all(self) -> bool {
        matches!(self, Self::DuplicateAll {})
    }

    /// Whether it sends pure ACKs and control segments on every path.
    #[must_use]
    pub const fn copies_control(self) -> bool {
        !matches!(self, Self::SinglePath { .. })
    }

    /// Whether it compares when copies and probes arrive: each then needs a time of its own.
    #[must_use]
    pub const fn probes(self) -> bool {
        matches!(self, Self::ProbeAndSwitch { .. })
    }

    /// The path that it names, if it names one.
    #[must_use]
    pub fn named_path(self) -> Option<PathId> {
        match self {
            Self::SinglePath { path }
            | Self::DuplicateAcks { path }
            | Self::ProbeAndSwitch { path } => Some(PathId(path)),
            Self::DuplicateAll {} => None,
        }
    }
}

/// Whether all wait for this packet while it costs next to nothing: then every path carries it.
fn is_small_and_vital(meta: &PacketMeta) -> bool {
    matches!(meta.kind, Kind::PureAck | Kind::Control)
}

#[cfg(test)]
mod tests;
