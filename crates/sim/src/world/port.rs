//! The ports at which packets enter and leave a simulated network.

use polypath_core::frame::PathId;

/// The two sides that the paths of a scenario connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The side of the server, from which a scenario lists the links of a path.
    Server,
    /// The side of the client.
    Client,
}

impl Side {
    /// The opposite side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }
}

/// One end of a path.
///
/// A packet that enters at a port leaves at the port of the same path on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId {
    /// The path, by its position in the scenario.
    pub path: PathId,
    /// The side.
    pub side: Side,
}

impl PortId {
    /// The index of the port in a network: by path, the server's side first.
    pub(crate) const fn position(self) -> usize {
        2 * self.path.index() + self.side as usize
    }

    /// The other end of the same path.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self {
            path: self.path,
            side: self.side.other(),
        }
    }
}

/// A packet that enters a simulated network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInput<X> {
    /// The port of entry.
    pub port: PortId,
    /// The packet; its length is its size on the links.
    pub payload: X,
}
