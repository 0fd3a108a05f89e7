//! Changes of a running node, ready to be applied by the packet thread.

use std::net::SocketAddr;

use polypath_core::endpoint::Adjustment;
use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;

use crate::config::{LivenessSetting, PathConfig};
use crate::stats::InterfaceStatus;
use crate::udp::PathSocket;
use crate::udp::traffic_class::CopiedFields;

/// A change that a reload or a change of the interfaces causes.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// The settings of all paths together, on a reload.
    pub(crate) settings: Option<Settings>,
    /// Whether path MTU discovery runs (RFC 8899).
    pub(crate) discovers_mtu: bool,
    pub(crate) paths: Vec<PathChange>,
}

/// The settings of all paths together.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) adjustment: Box<Adjustment>,
    pub(crate) policy: PolicyConfig,
    pub(crate) liveness: LivenessSetting,
}

/// A change of one path; a part that is `None` stays as it is.
#[derive(Debug)]
pub(crate) struct PathChange {
    pub(crate) path: PathId,
    pub(crate) name: String,
    /// The configured address of the peer.
    pub(crate) remote: Option<Remote>,
    /// The interface to bind the socket to.
    pub(crate) interface: Option<Box<Rebinding>>,
    /// The socket that replaces the current one.
    pub(crate) socket: Option<PathSocket>,
    /// The fields of the traffic class that datagrams have of the packet in them.
    pub(crate) copied: Option<CopiedFields>,
    /// The MTU of the interface in bytes.
    pub(crate) mtu: Option<u32>,
    /// The interface and what is missing.
    pub(crate) interface_status: Option<InterfaceStatus>,
}

/// The configurations of a path whose socket is bound to another interface.
#[derive(Debug)]
pub(crate) struct Rebinding {
    pub(crate) old: PathConfig,
    pub(crate) new: PathConfig,
}

impl PathChange {
    /// Whether the path may become usable: its interface is present, or its route changes.
    pub(crate) fn may_reach(&self) -> bool {
        match &self.interface_status {
            Some(status) => status.missing.is_none(),
            None => self.remote.is_some() || self.interface.is_some() || self.socket.is_some(),
        }
    }
}

/// The address of the peer on a path, by the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remote {
    /// This address only.
    At(SocketAddr),
    /// The source of the peer's latest authentic datagrams.
    Learned,
}

impl From<Option<SocketAddr>> for Remote {
    fn from(configured: Option<SocketAddr>) -> Self {
        configured.map_or(Self::Learned, Self::At)
    }
}
