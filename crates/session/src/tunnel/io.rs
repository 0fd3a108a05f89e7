//! What comes to a tunnel, and what it says.

use bytes::Bytes;
use polypath_core::endpoint::Adjustment;
use polypath_core::event::Event;
use polypath_core::frame::PathId;
use polypath_core::time::Time;

use crate::event::SessionEvent;

/// What comes to a tunnel.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// An IP packet of an application.
    Packet(Bytes),
    /// A datagram from the network.
    Datagram {
        /// The path on which it came.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// The driver is behind, and the present is this time: timers that were due before it run at their own times, and
    /// their outputs leave at this time at the earliest.
    DriverBehind(Time),
    /// A new configuration of the endpoint; the session is not affected.
    Adjust(Adjustment),
    /// The peer's address on this path has become known.
    PeerAddressKnown(PathId),
    /// The wall clock would have shown this at [`Time::ZERO`], in nanoseconds since 1970
    /// ([`SessionConfig::wall_clock`](crate::session::SessionConfig)): a machine without a clock of its own is to be told
    /// where it was set, or a node that began with a clock that was behind would be taken for a replay though it no longer is.
    WallClock(u64),
    /// A local obstacle on this path is gone, such as a missing interface: if the path is not live, it is probed at once.
    PathReachable(PathId),
    /// The MTU of a path's interface, from which path MTU discovery starts ([`polypath_core::pmtu`]) where paths are
    /// watched.
    InterfaceMtu {
        /// The path.
        path: PathId,
        /// The longest packet that the interface accepts, in bytes; 0 disables discovery.
        mtu: u16,
        /// Whether the route of the path has changed, so that what is known of its MTU no longer holds.
        rerouted: bool,
    },
}

/// What a tunnel says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Hand this IP packet to the applications.
    Packet(Bytes),
    /// Send this datagram on this path.
    Datagram {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// Send this datagram to where the datagram just taken came from, which says nothing of where the peer is.
    Reply {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// The datagram just taken is the peer's own and new; its source is the peer's address on this path, or its relay's.
    Authenticated {
        /// The path.
        path: PathId,
    },
    /// The datagram just taken is of the relay by which this path goes, and new.
    RelayAuthenticated {
        /// The path.
        path: PathId,
    },
    /// A packet of an application was dropped because it exceeds the MTU of every path; its sender is to be notified
    /// (ICMP: RFC 1191, RFC 8201).
    PacketTooBig {
        /// The packet.
        packet: Bytes,
        /// The longest packet that a path carries, in bytes.
        mtu: u16,
    },
    /// Something happened at the endpoint.
    Event(Event),
    /// Something happened in the session.
    Session(SessionEvent),
    /// Something happened in the session with the relay of a path.
    Relay {
        /// The path.
        path: PathId,
        /// What.
        event: SessionEvent,
    },
}
