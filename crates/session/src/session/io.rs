//! What a session is given, and what it says.

use bytes::Bytes;
use polypath_core::frame::PathId;

use crate::event::SessionEvent;
use crate::key::{PrivateKey, PublicKey};
use crate::session::Limits;

/// How a session is set up.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// This end's static key.
    pub private_key: PrivateKey,
    /// The peer's static key; nobody else is answered.
    pub peer: PublicKey,
    /// For each path whether the peer's address is known from the start.
    pub reachable: Vec<bool>,
    /// The longest datagram that is taken, in bytes.
    pub max_datagram: usize,
    /// The wall clock at [`Time::ZERO`](polypath_core::time::Time::ZERO), in nanoseconds since 1970; the
    /// peer answers no handshake of an end whose clock went back between runs, and can only begin one itself.
    pub wall_clock: u64,
    /// When keys are renewed and dropped.
    pub limits: Limits,
}

impl SessionConfig {
    /// The same end's session with the relay by which a path goes, whose address is known.
    #[must_use]
    pub fn with_relay(&self, relay: PublicKey) -> Self {
        Self {
            peer: relay,
            reachable: vec![true],
            ..self.clone()
        }
    }
}

/// What comes to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A datagram from the network.
    Datagram {
        /// The path on which it came.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// A frame for the peer, of at least two bytes.
    Seal {
        /// The path on which it is to go.
        path: PathId,
        /// Its bytes.
        frame: Bytes,
    },
}

/// What a session says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send this datagram on this path.
    Send {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// Send this datagram to where the datagram just taken came from, which says nothing of where the peer is: the
    /// answer to an initiation, which may be an old one that somebody replays.
    Reply {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// The datagram just taken was sealed with keys agreed on with the peer, or ends a handshake, and is new: its source is
    /// the peer's address on this path. It comes before what follows from the datagram.
    Authenticated {
        /// The path.
        path: PathId,
    },
    /// A frame of the peer.
    Opened {
        /// The path on which it came.
        path: PathId,
        /// Its bytes.
        frame: Bytes,
    },
    /// Something happened.
    Event(SessionEvent),
}
