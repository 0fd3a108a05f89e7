//! What of a node changes under way, ready to be put into force.

use std::net::SocketAddr;

use polypath_core::endpoint::Adjustment;
use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;

use crate::config::{PathConfig, Watch};
use crate::stats::InterfaceStatus;
use crate::udp::PathSocket;

/// What the file says when it is read again, or what has become of interfaces.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// What the file says of all paths together, if it was read.
    pub(crate) settings: Option<Settings>,
    /// Whether it is found out how long a packet each path carries whole.
    pub(crate) sizes: bool,
    pub(crate) paths: Vec<PathChange>,
}

/// What a file says of all paths together.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) adjustment: Adjustment,
    pub(crate) policy: PolicyConfig,
    pub(crate) liveness: Watch,
}

/// What changes about a path.
#[derive(Debug)]
pub(crate) struct PathChange {
    pub(crate) path: PathId,
    pub(crate) name: String,
    /// Where its configuration says that the peer is, where it says so differently than before.
    pub(crate) remote: Option<Remote>,
    /// The interface that its socket is bound to from now on, and that before, each with the rest of its path.
    pub(crate) interface: Option<Box<[PathConfig; 2]>>,
    /// The socket that takes the place of the one that it has.
    pub(crate) socket: Option<PathSocket>,
    /// The MTU in bytes that its interface has from now on, where that changes.
    pub(crate) mtu: Option<u32>,
    /// What it rests on from now on, where that changes.
    pub(crate) interface_status: Option<InterfaceStatus>,
}

impl PathChange {
    /// Whether the path may work from now on where it did not: it is there now, or goes by another way.
    pub(crate) fn may_reach(&self) -> bool {
        match &self.interface_status {
            Some(interface_status) => interface_status.missing.is_none(),
            None => self.remote.is_some() || self.interface.is_some() || self.socket.is_some(),
        }
    }
}

/// Where a path's configuration says that the peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remote {
    /// There, and nowhere else.
    At(SocketAddr),
    /// Where its datagrams come from.
    Learned,
}

impl From<Option<SocketAddr>> for Remote {
    fn from(configured: Option<SocketAddr>) -> Self {
        configured.map_or(Self::Learned, Self::At)
    }
}
