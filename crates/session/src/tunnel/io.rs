//! The inputs and outputs of a tunnel.

use bytes::Bytes;
use polypath_core::endpoint::Adjustment;
use polypath_core::event::Event;
use polypath_core::frame::PathId;
use polypath_core::packet::{Ecn, TrafficClass};
use polypath_core::time::Time;
use polypath_core::units;

use crate::address::Source;
use crate::event::SessionEvent;

/// An input of a tunnel.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// An IP packet of an application.
    Packet(Bytes),
    /// A datagram from the network.
    Datagram {
        /// The path on which it was received.
        path: PathId,
        /// Its source address.
        source: Source,
        /// The ECN field of its IP header.
        ecn: Ecn,
        /// Its bytes.
        datagram: Bytes,
    },
    /// The driver is behind, and the present is this time: timers that were due before it run at
    /// their own times, and their outputs leave at this time at the earliest.
    DriverBehind(Time),
    /// A new configuration of the endpoint; the session continues unchanged.
    Adjust(Box<Adjustment>),
    /// The peer's address on this path has become known.
    PeerAddressKnown(PathId),
    /// The wall clock was set: it would have shown this at [`Time::ZERO`], in nanoseconds since
    /// 1970 ([`SessionConfig::wall_clock`](crate::session::SessionConfig)).
    ///
    /// Without it, the handshakes of a node that started with a clock that was behind would be
    /// rejected as replays even after the clock was corrected.
    WallClock(u64),
    /// A local undeliverable on this path is gone, such as a missing interface: if the path is not
    /// live, it is probed immediately.
    PathReachable(PathId),
    /// The bytes that a path with a quota has carried
    /// ([`endpoint::Input::PathUsed`](polypath_core::endpoint::Input)).
    PathUsed {
        /// The path.
        path: PathId,
        /// The bytes on the wire in both directions since the last renewal.
        used: units::Bytes,
        /// Whether the quota was renewed since the last input.
        is_renewed: bool,
    },
    /// The MTU of a path's interface, from which path MTU discovery starts
    /// ([`polypath_core::pmtu`]) if paths are watched.
    InterfaceMtu {
        /// The path.
        path: PathId,
        /// The longest packet that the interface accepts, in bytes; 0 disables discovery.
        mtu: u16,
        /// Whether the route of the path has changed, so that what is known of its MTU no longer
        /// holds.
        rerouted: bool,
    },
}

/// An output of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Deliver this IP packet to the applications.
    Packet(Bytes),
    /// Send this datagram on this path.
    Datagram {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
        /// The traffic class of its outer IP header: that of the packet in it, or else the
        /// default; not ECN-capable if the peer or the relay of the path does not pass on marks.
        traffic_class: TrafficClass,
    },
    /// Reply with this datagram to the datagram just received, whose source is not necessarily the
    /// peer's address ([`PeerAddress::reply_to`](crate::address::PeerAddress::reply_to)).
    Reply {
        /// The path.
        path: PathId,
        /// Its bytes.
        datagram: Bytes,
    },
    /// The datagram just received is an authentic, new one of the peer; its source is the address
    /// of the peer, or of the relay, on this path.
    Authenticated {
        /// The path.
        path: PathId,
    },
    /// The datagram just received is an authentic, new one of this path's relay.
    RelayAuthenticated {
        /// The path.
        path: PathId,
    },
    /// A packet of an application was dropped because it exceeds the MTU of every path; its sender
    /// is to be notified by ICMP (RFC 1191, RFC 8201).
    PacketTooBig {
        /// The packet.
        packet: Bytes,
        /// The longest packet that a path carries, in bytes.
        mtu: u16,
    },
    /// An event of the endpoint.
    Event(Event),
    /// An event of the session with the peer.
    Session(SessionEvent),
    /// An event of the session with the relay of a path.
    Relay {
        /// The path.
        path: PathId,
        /// The event.
        event: SessionEvent,
    },
}

/// The fields of a received datagram's outer headers.
#[derive(Clone, Copy)]
pub(super) struct OuterHeader {
    pub(super) source: Source,
    pub(super) ecn: Ecn,
}
