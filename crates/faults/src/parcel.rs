//! What the network carries: datagrams with addresses, and what they truly are.

use std::fmt;

use bytes::Bytes;
use polypath_core::frame::{OVER_IPV4, PathId, Payload};

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

    /// The node at the other end.
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

/// Who is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A node.
    Node(End),
    /// The relay by which the path goes.
    Relay,
    /// Somebody who has no key that either node takes.
    Stranger,
}

impl Host {
    /// The name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node(end) => end.name(),
            Self::Relay => "r",
            Self::Stranger => "x",
        }
    }
}

/// An address on a path; a node that moves gets another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Whose it is.
    pub host: Host,
    /// The path.
    pub path: PathId,
    /// The number among those that its host has had there.
    pub number: u32,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}.{}", self.host.name(), self.path.0, self.number)
    }
}

/// What a datagram truly is, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    /// A node or a relay with its own key wrote these bytes.
    Genuine,
    /// The network changed them.
    Changed,
    /// A node wrote them before its peer started anew, which cannot know that it had taken them; a stranger replays them.
    Old,
    /// A stranger made or replayed them, or a node wrote them with a key that is not its own.
    Forged,
}

/// A datagram on its way.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// Its number; copies that the network makes have the same.
    pub id: u64,
    /// Where it says that it comes from.
    pub source: Address,
    /// Where it goes.
    pub to: Address,
    /// What it is.
    pub truth: Truth,
    /// Its bytes.
    pub bytes: Bytes,
}

impl Parcel {
    /// From which node it leads away: its sender, or of what a relay sends the node that it does not go to.
    #[must_use]
    pub const fn from(&self) -> End {
        match (self.source.host, self.to.host) {
            (Host::Node(end), _) => end,
            (_, Host::Node(end)) => end.other(),
            _ => End::A,
        }
    }
}

impl Payload for Parcel {
    fn len(&self) -> usize {
        self.bytes.len() + OVER_IPV4 as usize
    }
}
