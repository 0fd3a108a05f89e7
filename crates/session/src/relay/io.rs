//! The inputs, outputs and configuration of a relay.

use bytes::Bytes;
use polypath_core::packet::TrafficClass;
use polypath_core::units::Rate;

use super::Undelivered;
use crate::event::{Reject, SessionEvent};
use crate::key::{PrivateKey, PublicKey};
use crate::session::Limits;

/// The configuration of a relay.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// The relay's static key.
    pub private_key: PrivateKey,
    /// The static keys of the two nodes; initiations of any other are ignored.
    pub nodes: [PublicKey; 2],
    /// The longest accepted datagram, in bytes.
    pub max_datagram: usize,
    /// The rate limit of each node's forwarded traffic, in received UDP payload; more than zero.
    pub rate: Rate,
    /// The limits at which keys are dropped; only the nodes renew them.
    pub limits: Limits,
    /// Whether the driver passes on the ECN fields of received datagrams, so that the nodes may send
    /// ECN-capable ones.
    pub receives_ecn: bool,
}

/// One of the two nodes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The first in the configuration.
    First,
    /// The second.
    Second,
}

impl Side {
    /// Both.
    pub const ALL: [Side; 2] = [Side::First, Side::Second];

    /// The other node.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// The position in an array of both.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The input of a relay: a datagram from the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input<A> {
    /// Its source address.
    pub source: A,
    /// Its bytes.
    pub datagram: Bytes,
    /// The traffic class of its IP header.
    pub traffic_class: TrafficClass,
}

/// An output of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<A> {
    /// Send this datagram.
    Send {
        /// The destination address.
        to: A,
        /// Its bytes.
        datagram: Bytes,
        /// The traffic class of its IP header: that of the forwarded datagram, or else the default.
        traffic_class: TrafficClass,
    },
    /// An event of the relay.
    Event(RelayEvent<A>),
}

/// An event of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEvent<A> {
    /// The address of a node became known or changed.
    Located {
        /// The node.
        side: Side,
        /// Its address.
        at: A,
    },
    /// A datagram of a node was not forwarded.
    Undelivered {
        /// The node that sent it.
        side: Side,
        /// The reason.
        reason: Undelivered,
        /// Its length in bytes.
        len: usize,
    },
    /// An event of the session with a node.
    Session {
        /// The node.
        side: Side,
        /// The event.
        event: SessionEvent,
    },
    /// A datagram was dropped that belongs to neither session.
    Rejected(Reject),
    /// The source of entropy failed, so an initiation could not be decrypted.
    NoEntropy,
}
