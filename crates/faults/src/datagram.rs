//! Datagrams on the simulated network, with their addresses and provenance.

use std::fmt;
use std::net::SocketAddr;

use bytes::Bytes;
use polypath_core::frame::{OVER_IPV4, PathId, Payload};
use polypath_core::packet::Ecn;
use polypath_session::address::Source;

/// One of the two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The first.
    A,
    /// The second.
    B,
}

impl End {
    /// Both.
    pub const ALL: [End; 2] = [End::A, End::B];

    /// The other node.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// The position in an array of both.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// The host of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A node.
    Node(End),
    /// The relay of the path.
    Relay,
    /// An attacker, whose keys no node accepts.
    Attacker,
}

impl Host {
    /// The name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node(end) => end.name(),
            Self::Relay => "r",
            Self::Attacker => "x",
        }
    }
}

/// An address on a path; each move of a node changes the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Its host.
    pub host: Host,
    /// The path.
    pub path: PathId,
    /// The number of earlier addresses of the host on this path.
    pub number: u32,
}

impl From<Address> for Source {
    /// An IPv4 address that the host and the path determine, and a port that each move changes.
    fn from(address: Address) -> Self {
        let host = match address.host {
            Host::Node(end) => 1 + end as u8,
            Host::Relay => 3,
            Host::Attacker => 4,
        };
        let port = (address.number & 0xffff) as u16;
        SocketAddr::from(([10, 0, address.path.0, host], port)).into()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}.{}", self.host.name(), self.path.0, self.number)
    }
}

/// The true origin of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Sent unmodified by a node or a relay with its own key.
    Genuine,
    /// Modified by the network.
    Modified,
    /// A copy that its receiver cannot recognise as one: it was accepted before the receiver's
    /// restart, or the original initiation arrives later.
    UnknownCopy,
    /// Forged or replayed by an attacker, or sent by an impostor with another key.
    Forged,
}

/// A datagram in flight.
#[derive(Clone, Debug)]
pub struct TestDatagram {
    /// Its number, which copies made by the network share.
    pub id: u64,
    /// Its source address, which may be spoofed.
    pub source: Address,
    /// Its destination address.
    pub to: Address,
    /// Its origin.
    pub provenance: Provenance,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Its bytes.
    pub bytes: Bytes,
}

impl TestDatagram {
    /// The direction, as the node it moves away from: the sender, or for a datagram of a relay the
    /// other node than its receiver.
    #[must_use]
    pub const fn sending_side(&self) -> End {
        match (self.source.host, self.to.host) {
            (Host::Node(end), _) => end,
            (_, Host::Node(end)) => end.other(),
            _ => End::A,
        }
    }
}

impl Payload for TestDatagram {
    fn len(&self) -> usize {
        self.bytes.len() + OVER_IPV4 as usize
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        if self.ecn.is_capable() {
            self.ecn = Ecn::Ce;
        }
    }
}
