//! The inputs, outputs and configuration of a session.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::packet::TrafficClass;

use crate::address::Source;
use crate::event::SessionEvent;
use crate::key::{PresharedKey, PrivateKey, PublicKey};
use crate::session::Limits;

/// A kept timestamp that is further ahead of this node's clock is not used, in nanoseconds.
const MAX_AHEAD: u64 = 86_400_000_000_000;
/// The longest accepted datagram unless it is configured, in bytes: a full Ethernet frame.
const DEFAULT_MAX_DATAGRAM: usize = 1500;

/// The configuration of a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// This node's static key.
    pub private_key: PrivateKey,
    /// The peer's static key; initiations of any other are ignored.
    pub peer: PublicKey,
    /// The key that both nodes have in common; handshakes of nodes with different ones fail.
    pub preshared_key: Option<PresharedKey>,
    /// The timestamp of the newest initiation that an earlier run of this node accepted
    /// ([`Session::peer_timestamp`](super::Session::peer_timestamp)), in nanoseconds since 1970; 0
    /// if unknown. Older initiations are replays. It counts while it is
    /// [usable](usable_timestamp) by this node's clock, and is kept for the next run until the peer
    /// has completed a new handshake.
    pub peer_timestamp: u64,
    /// For each path, whether the peer's address is known from the start.
    pub reachable: Vec<bool>,
    /// The longest accepted datagram, in bytes.
    pub max_datagram: usize,
    /// The wall clock at [`Time::ZERO`](polypath_core::time::Time::ZERO), in nanoseconds since
    /// 1970.
    ///
    /// The peer rejects the initiations of a node whose clock went back between two runs; such a
    /// node can only answer the peer's.
    pub wall_clock: u64,
    /// The limits at which keys are renewed and dropped.
    pub limits: Limits,
    /// Whether the driver passes on the ECN fields of received datagrams, so that the peer may send
    /// ECN-capable ones (RFC 9601).
    pub receives_ecn: bool,
}

/// The timestamp `kept` by an earlier run, if it can be used where the wall clock shows
/// `wall_clock`, both in nanoseconds since 1970.
///
/// One that is more than a day ahead cannot: the clock of one of the nodes was wrong, and the
/// peer's initiations must not be rejected for longer.
#[must_use]
pub fn usable_timestamp(kept: u64, wall_clock: u64) -> Option<u64> {
    (kept <= wall_clock.saturating_add(MAX_AHEAD)).then_some(kept)
}

impl SessionConfig {
    /// The configuration of a session without paths, with defaults for the rest.
    #[must_use]
    pub fn new(private_key: PrivateKey, peer: PublicKey) -> Self {
        Self {
            private_key,
            peer,
            preshared_key: None,
            peer_timestamp: 0,
            reachable: Vec::new(),
            max_datagram: DEFAULT_MAX_DATAGRAM,
            wall_clock: 0,
            limits: Limits::default(),
            receives_ecn: false,
        }
    }

    /// The configuration of this node's session with a relay of one path, whose address is known.
    #[must_use]
    pub fn with_relay(&self, relay: PublicKey) -> Self {
        Self {
            reachable: vec![true],
            max_datagram: self.max_datagram,
            wall_clock: self.wall_clock,
            limits: self.limits,
            receives_ecn: self.receives_ecn,
            ..Self::new(self.private_key.clone(), relay)
        }
    }
}

/// An input of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A datagram from the network.
    Datagram {
        /// The path on which it was received.
        path: PathId,
        /// Its source address.
        source: Source,
        /// Its bytes.
        datagram: Bytes,
    },
    /// A frame for the peer, of at least two bytes.
    Seal {
        /// The path that carries it.
        path: PathId,
        /// Its bytes.
        frame: Bytes,
        /// The traffic class of its datagram.
        traffic_class: TrafficClass,
    },
}

/// An output of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send this datagram to the peer on this path.
    Send {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
        /// The traffic class of its IP header.
        traffic_class: TrafficClass,
    },
    /// Reply with this datagram to the datagram just received
    /// ([`PeerAddress::reply_to`](crate::address::PeerAddress::reply_to)).
    ///
    /// It is the response to an initiation, or a cookie. The initiation may be a replay or forged,
    /// so its source is not necessarily the peer's address.
    Reply {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// The datagram just received is new and opened under agreed keys, or completed a handshake:
    /// its source is the peer's address on this path.
    ///
    /// It precedes the other outputs of that datagram.
    Authenticated {
        /// The path.
        path: PathId,
    },
    /// A frame of the peer.
    Opened {
        /// The path on which it was received.
        path: PathId,
        /// Its bytes.
        frame: Bytes,
    },
    /// An event of the session.
    Event(SessionEvent),
}
