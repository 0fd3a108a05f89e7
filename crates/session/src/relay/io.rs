//! What a relay is given, and what it says.

use bytes::Bytes;
use polypath_core::units::Rate;

use super::Undelivered;
use crate::event::{Reject, SessionEvent};
use crate::key::{PrivateKey, PublicKey};
use crate::session::Limits;

/// How a relay is set up.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// The relay's static key.
    pub private_key: PrivateKey,
    /// The static keys of the two nodes; nobody else is answered.
    pub nodes: [PublicKey; 2],
    /// The longest datagram that is taken, in bytes.
    pub max_datagram: usize,
    /// What each node may have forwarded, UDP payload as it comes; it is more than zero.
    pub rate: Rate,
    /// When keys are dropped; the nodes renew them.
    pub limits: Limits,
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

    /// The node at the other end of the path.
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

/// What comes to a relay: a datagram from the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input<A> {
    /// Where it came from.
    pub source: A,
    /// Its bytes.
    pub datagram: Bytes,
}

/// What a relay says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<A> {
    /// Send this datagram.
    Send {
        /// Where.
        to: A,
        /// Its bytes.
        datagram: Bytes,
    },
    /// Something happened.
    Event(RelayEvent<A>),
}

/// What happened at a relay, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEvent<A> {
    /// A node proved to be at another address than before, or to be there at all.
    Located {
        /// Which.
        side: Side,
        /// Where.
        at: A,
    },
    /// A datagram of a node was not forwarded.
    Undelivered {
        /// Whose it was.
        side: Side,
        /// Why.
        reason: Undelivered,
        /// Its length in bytes.
        len: usize,
    },
    /// Something happened in the session with a node.
    Session {
        /// Which.
        side: Side,
        /// What.
        event: SessionEvent,
    },
    /// A datagram was dropped that belongs to the session of neither.
    Rejected(Reject),
    /// The random source failed, so that a handshake could not be read.
    NoEntropy,
}
