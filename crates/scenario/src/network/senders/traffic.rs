//! The traffic of senders, whichever kind it is.

use polypath_core::policy::PolicyConfig;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;

use crate::network::traffic::multihomed::Multihomed;
use crate::network::traffic::tunnel::Tunnel;

/// The traffic of senders.
#[derive(Clone, Copy, Debug)]
pub enum SenderTraffic<'a> {
    /// Sources whose datagrams the receiver acknowledges, as in the delay-centric paper.
    Multihomed(&'a Multihomed),
    /// Nodes of the overlay.
    Tunnel(&'a Tunnel),
}

impl<'a> SenderTraffic<'a> {
    /// Sources whose datagrams the receiver acknowledges; `None` for nodes.
    #[must_use]
    pub const fn multihomed(self) -> Option<&'a Multihomed> {
        match self {
            Self::Multihomed(traffic) => Some(traffic),
            Self::Tunnel(_) => None,
        }
    }

    /// The size of a datagram, as the file states it.
    #[must_use]
    pub const fn packet(self) -> Bytes {
        match self {
            Self::Multihomed(traffic) => traffic.packet,
            Self::Tunnel(traffic) => traffic.packet,
        }
    }

    /// The size of a datagram on the wire.
    #[must_use]
    pub const fn datagram(self) -> Bytes {
        match self {
            Self::Multihomed(traffic) => traffic.packet,
            Self::Tunnel(traffic) => traffic.frame_size(),
        }
    }

    /// The interval between datagrams.
    #[must_use]
    pub const fn interval(self) -> Duration {
        match self {
            Self::Multihomed(traffic) => traffic.interval,
            Self::Tunnel(traffic) => traffic.interval,
        }
    }

    /// The routes: for each the nodes and links between the ends.
    #[must_use]
    pub fn ways(self) -> &'a [Vec<String>] {
        match self {
            Self::Multihomed(traffic) => &traffic.ways,
            Self::Tunnel(traffic) => &traffic.ways,
        }
    }

    /// The policy.
    #[must_use]
    pub fn policy(self) -> PolicyConfig {
        match self {
            Self::Multihomed(traffic) => traffic.policy.into(),
            Self::Tunnel(traffic) => traffic.policy,
        }
    }
}
