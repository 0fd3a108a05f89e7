//! The kinds of traffic: one file each, with its keys and their checks.
//!
//! A new kind is a file here and a variant of [`Traffic`]; everything else asks `Traffic::kind`.

pub mod datagrams;
pub mod multihomed;
pub mod spaced;
pub mod striped;
pub mod tcp;

use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::GraphLink;
use crate::tcp::Tcp;
use datagrams::{Cbr, Exponential, Pareto, Poisson, Recording};
use multihomed::Multihomed;
use polypath_document::Problems;
use spaced::Spaced;
use striped::Striped;
use tcp::{Ftp, Sessions, SingleFile};

/// The traffic of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Traffic {
    /// Over one TCP connection, without end.
    Ftp(Ftp),
    /// Over one TCP connection, one file.
    File(SingleFile),
    /// Files one after another, each over a TCP connection of its own, with pauses (PPD paper, 5).
    Sessions(Sessions),
    /// Datagrams at even intervals.
    Cbr(Cbr),
    /// Datagrams at exponential intervals.
    Poisson(Poisson),
    /// Bursts of datagrams at a constant rate with exponential on and off times.
    Exponential(Exponential),
    /// Bursts of datagrams at a constant rate with Pareto on and off times.
    Pareto(Pareto),
    /// Datagrams whose spacing the receiver's feedback sets.
    Spaced(Spaced),
    /// Datagrams over the route with the lowest delay of several.
    Multihomed(Multihomed),
    /// Media over several TCP connections, whose number and windows the receiver sets.
    Striped(Striped),
    /// Recorded datagrams.
    Trace(Recording),
}

/// The properties of a kind of traffic that checks, routing and reports use.
pub(super) trait TrafficKind {
    /// Reports the values that no schema can refuse; `key` is that of the traffic.
    fn check(&self, key: &str, problems: &mut Problems);

    /// Whether the traffic, whose key is `key`, can begin on the link `first`; reports why not.
    fn check_first_link(&self, _key: &str, _first: &GraphLink, _problems: &mut Problems) -> bool {
        true
    }

    /// The largest packets of each kind and direction, over the flow's own `tcp`: those of a
    /// connection, unless the kind sends others.
    fn largest_packets(&self, tcp: &Tcp) -> Vec<FlowPacket> {
        tcp::connection_packets(tcp)
    }

    /// Whether it goes over TCP.
    fn is_tcp(&self) -> bool {
        false
    }

    /// Whether it sends files, which end.
    fn has_files(&self) -> bool {
        false
    }

    /// Whether its receiver answers, as a TCP receiver always does, so that the flow needs a return
    /// route.
    fn needs_return_route(&self) -> bool {
        self.is_tcp()
    }

    /// Whether it sets the receiver windows of its connections itself.
    fn sets_receiver_windows(&self) -> bool {
        false
    }

    /// The nodes and links of each route between the ends of the flow; `None` for the single route
    /// of the flow's `via`.
    fn routes(&self) -> Option<&[Vec<String>]> {
        None
    }
}

/// A packet of a flow.
pub(super) struct FlowPacket {
    pub(super) direction: Direction,
    /// The word for it in messages.
    pub(super) what: &'static str,
    pub(super) size: Bytes,
    /// The key of its size below that of the flow.
    pub(super) key: &'static str,
}

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the sender to the receiver.
    There,
    /// From the receiver to the sender.
    Back,
}

impl FlowPacket {
    fn new(direction: Direction, what: &'static str, size: Bytes, key: &'static str) -> Self {
        Self {
            direction,
            what,
            size,
            key,
        }
    }
}

impl Traffic {
    /// The kind of this traffic.
    pub(super) fn kind(&self) -> &dyn TrafficKind {
        match self {
            Self::Ftp(kind) => kind,
            Self::File(kind) => kind,
            Self::Sessions(kind) => kind,
            Self::Cbr(kind) => kind,
            Self::Poisson(kind) => kind,
            Self::Exponential(kind) => kind,
            Self::Pareto(kind) => kind,
            Self::Spaced(kind) => kind,
            Self::Multihomed(kind) => kind,
            Self::Striped(kind) => kind,
            Self::Trace(kind) => kind,
        }
    }

    /// Whether it sends files, which end.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.kind().has_files()
    }

    /// Whether its receiver answers, so that the flow needs a return route.
    #[must_use]
    pub fn needs_return_route(&self) -> bool {
        self.kind().needs_return_route()
    }

    /// Whether it goes over TCP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.kind().is_tcp()
    }

    /// Whether it sets the receiver windows of its connections itself.
    #[must_use]
    pub fn sets_receiver_windows(&self) -> bool {
        self.kind().sets_receiver_windows()
    }
}
