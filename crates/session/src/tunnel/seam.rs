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
    /// Whoever drives this is behind: what is due until then is done by and by, at its own time, and leaves at
    /// this time at the earliest.
    Late(Time),
    /// The endpoint goes on like this; the session goes on as it is.
    Adjust(Adjustment),
    /// The peer's address on this path is known from now on.
    Addressed(PathId),
    /// The wall clock would have shown this at [`Time::ZERO`], in nanoseconds since 1970
    /// ([`SessionConfig::wall_clock`](crate::session::SessionConfig)): a machine without a clock of its own is to be told
    /// where it was set, or a node that began with a clock that was behind would be taken for a replay though it no longer is.
    WallClock(u64),
    /// Where this path carried nothing for want of something at this end, it may from now on: if it does not live, it
    /// is tried at once.
    Reachable(PathId),
    /// The interface of a path lets through packets of at most so many bytes; how many cross whole is found out from
    /// now on, where paths are watched ([`polypath_core::pmtu`]).
    Room {
        /// The path.
        path: PathId,
        /// The longest packet in bytes; 0 where nothing is to be found out.
        packet: u16,
        /// Whether the path goes by another way than before, of which nothing is known.
        elsewhere: bool,
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
    RelayHeard {
        /// The path.
        path: PathId,
    },
    /// This packet of an application was dropped, since no path carries it whole, and its sender is to send shorter
    /// ones (RFC 1191, RFC 8201).
    TooLong {
        /// The packet.
        packet: Bytes,
        /// The longest packet that a path carries, in bytes.
        limit: u16,
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
