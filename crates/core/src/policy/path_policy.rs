//! The interface of a policy.

use alloc::vec::Vec;

use dyn_clone::DynClone;

use super::PathSet;
use crate::frame::{Epoch, PathId};
use crate::machine::Deadline;
use crate::packet::{FlowId, PacketMeta};
use crate::repair::{PathEstimate, PathLimit};
use crate::time::{Duration, Time};

/// The paths that carry one packet, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The paths that carry a copy, or a fragment ([`Self::needed`]).
    pub copies: PathSet,
    /// The paths that carry a probe instead of the packet.
    pub probes: PathSet,
    /// Whether the packet may wait in the endpoint, which then sends it when those before it have
    /// left at the rate of the path ([`PathLimit::rate`]).
    pub may_wait: bool,
    /// The number of frames that restore the packet: with 1 each of `copies` carries a copy, with
    /// more a fragment ([`crate::fragment`]).
    pub needed: u8,
    /// Whether the queues of the paths are long: the packet is marked, or dropped if no path
    /// carries it.
    pub is_congested: bool,
}

impl Default for Plan {
    /// No path carries the packet.
    fn default() -> Self {
        Self::copies(PathSet::EMPTY)
    }
}

impl Plan {
    /// Copies on `copies`, now.
    #[must_use]
    pub const fn copies(copies: PathSet) -> Self {
        Self {
            copies,
            probes: PathSet::EMPTY,
            may_wait: false,
            needed: 1,
            is_congested: false,
        }
    }
}

/// The paths as a policy sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The live paths that are wide enough for the packet ([`crate::pmtu`]).
    pub usable: PathSet,
    /// The paths that carry copies of a packet that goes on all paths: the usable paths, and those
    /// that answer again but may not yet carry a packet alone ([`crate::liveness`]).
    pub copies: PathSet,
    /// The live paths, including those too narrow for this packet. A policy leaves an active path
    /// that is not live.
    pub alive: PathSet,
    /// The live and returning paths that are wide enough, but ahead of their ceilings
    /// ([`crate::metering`]): they carry no packet now, and are neither usable nor for copies.
    pub full: PathSet,
}

impl Paths {
    /// Paths that all carry every packet.
    #[must_use]
    pub const fn trusted(usable: PathSet) -> Self {
        Self {
            usable,
            copies: usable,
            alive: usable,
            full: PathSet::EMPTY,
        }
    }

    /// The paths without those that are `closed`. If all live paths are, the returning ones carry
    /// packets, as they do where no path is live.
    #[must_use]
    pub(crate) const fn without(self, closed: PathSet) -> Self {
        let (usable, copies) = (self.usable.without(closed), self.copies.without(closed));
        Self {
            usable: if usable.is_empty() { copies } else { usable },
            copies,
            alive: self.alive.without(closed),
            full: self.full.without(closed),
        }
    }

    /// The paths, of which those of `full` are ahead of their ceilings, too.
    #[must_use]
    pub(crate) const fn with_full(self, full: PathSet) -> Self {
        Self {
            usable: self.usable.without(full),
            copies: self.copies.without(full),
            full: self.full.or(self.copies.and(full)),
            ..self
        }
    }
}

/// Feedback of the peer to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// The receiver asks for data on path `to`, opening `epoch`.
    Switch {
        /// The path to become active.
        to: PathId,
        /// The epoch that the switch opens.
        epoch: Epoch,
    },
    /// The peer acknowledged a data packet.
    Acknowledged {
        /// The path that carried it.
        path: PathId,
        /// The time from its transmission to the arrival of its ACK.
        rtt: Duration,
    },
    /// The peer reported what arrived.
    Measured {
        /// A path.
        path: PathId,
        /// Its measured delay and losses.
        estimate: Option<PathEstimate>,
        /// Its limit; `None` before it was used beyond its capacity.
        limit: Option<PathLimit>,
        /// Whether packets on it are missing, and nothing has arrived since.
        is_silent: bool,
    },
    /// The peer answered a heartbeat of liveness detection.
    Health {
        /// The path that carried it.
        path: PathId,
        /// The smoothed round-trip time of the path.
        rtt: Duration,
        /// The round-trip time of this heartbeat.
        latest: Duration,
        /// The number of heartbeats that were lost on the path, in either direction, since the one
        /// that was answered before; 0 while the path is not live.
        lost: u32,
    },
    /// The peer answered a heartbeat of the policy.
    HeartbeatReply {
        /// The path that carried it.
        path: PathId,
        /// Its number, from [`Action::Heartbeat`].
        id: u64,
    },
}

/// The round-trip time of a path, as a policy measures it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredRtt {
    /// The smoothed round-trip time.
    pub smoothed: Duration,
    /// The short-term average (delay-centric paper, II.C).
    pub short: Duration,
    /// The long-term average; the round-trip time rises while the short-term one is above it.
    pub long: Duration,
}

/// A running guard time, after which a policy decides again (delay-centric paper, II.B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardTime {
    /// The destination of the pending switch; `None` if the guard time follows a switch.
    pub to: Option<PathId>,
    /// The end of the guard time.
    pub end: Time,
}

/// A request of a policy to its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a packet pair on this path, to measure delta T.
    SendPair(PathId),
    /// Send a heartbeat on this path, which the peer answers, to measure the round-trip time.
    Heartbeat {
        /// The path.
        path: PathId,
        /// Its number on the path, which the answer repeats.
        id: u64,
    },
    /// The active path has changed: report it.
    Switched {
        /// The path that was active.
        from: PathId,
        /// The path that is active now.
        to: PathId,
    },
    /// One of the flows that choose by themselves has moved to another path.
    FlowSwitched {
        /// The previous path.
        from: PathId,
        /// The new path.
        to: PathId,
    },
}

/// A flow that has chosen its path by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// The flow.
    pub flow: FlowId,
    /// Its path.
    pub path: PathId,
    /// The time of its last packet.
    pub last_packet: Time,
}

/// Selects the paths of each packet.
pub trait PathPolicy: core::fmt::Debug + Send + DynClone {
    /// Returns the paths that carry the packet. The first packet of a session may also cause
    /// actions.
    fn route(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        paths: &Paths,
        act: &mut dyn FnMut(Action),
    ) -> Plan;

    /// Handles feedback of the peer.
    fn handle_feedback(&mut self, _: Time, _: Feedback, _: &mut dyn FnMut(Action)) {}

    /// Performs the work that is due at `now`.
    fn handle_timeout(&mut self, _: Time, _: &Paths, _: &mut dyn FnMut(Action)) {}

    /// The next time at which the policy acts on its own.
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    /// The path that carries data while it is usable, or on which new flows begin; `None` if several
    /// do, or if it differs from packet to packet.
    fn active(&self) -> Option<PathId> {
        None
    }

    /// The round-trip time of `path`; `None` if the policy has not measured it, or measures none.
    fn measured_rtt(&self, _: PathId) -> Option<MeasuredRtt> {
        None
    }

    /// The number of flows on `path`; `None` if flows do not choose by themselves.
    fn flows_on(&self, _: PathId) -> Option<usize> {
        None
    }

    /// The flows with their paths; none if flows do not choose by themselves.
    fn flow_paths(&self) -> Vec<FlowPath> {
        Vec::new()
    }

    /// Continues with flows where they were under the policy before.
    fn resume_flows(&mut self, _: Vec<FlowPath>) {}

    /// The running guard time, if there is one; of several the one that ends first.
    fn guard_time(&self) -> Option<GuardTime> {
        None
    }

    /// The number of switches so far, which every frame carries.
    fn epoch(&self) -> Epoch {
        Epoch::default()
    }
}

dyn_clone::clone_trait_object!(PathPolicy);
