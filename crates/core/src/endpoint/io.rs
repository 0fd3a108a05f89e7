//! The inputs and outputs of an endpoint.

use super::config::Adjustment;
use crate::event::Event;
use crate::frame::{Frame, PathId};
use crate::packet::PacketMeta;
use crate::time::Time;

/// What comes to an endpoint.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Input<P> {
    /// A packet of an application, to be carried to the other end.
    Packet {
        /// What the policy may know of it.
        meta: PacketMeta,
        /// The packet.
        payload: P,
    },
    /// A frame of the other end; its `path` is the one it arrived on.
    Frame(Frame<P>),
    /// What is sent from now on can reach the other end, as after a handshake: paths that do not live are
    /// tried at once.
    Reachable,
    /// The same of what is sent on this path alone, as once its interface is there.
    PathReachable(PathId),
    /// The other end has started anew, and knows nothing of before: the frames that come from now on are its own, and count
    /// from its first one.
    PeerRestarted,
    /// The driver is behind, and the present is this time: timers that were due before it run at their own times, and
    /// their outputs leave at this time at the earliest.
    DriverBehind(Time),
    /// The MTU of a path's interface, from which path MTU discovery starts ([`crate::pmtu`]) where paths are watched.
    InterfaceMtu {
        /// The path.
        path: PathId,
        /// The longest packet that the interface accepts, in bytes; 0 disables discovery.
        mtu: u16,
        /// Whether the route of the path has changed, so that what is known of its MTU no longer holds.
        rerouted: bool,
    },
    /// Go on like this; sequence numbers, epochs, and what is known of the paths and of packets go on, too.
    Adjust(Adjustment),
}

/// What an endpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Output<P> {
    /// Send this frame on its path.
    Transmit(Frame<P>),
    /// Hand this packet to the application.
    Deliver(P),
    /// Something happened.
    Event(Event),
    /// No path carries this packet of the application whole: it goes no further.
    Refused {
        /// The packet.
        payload: P,
        /// The longest packet that a path carries, in bytes.
        limit: u16,
        /// Whether that will stand: no search is under way that may raise it ([`crate::pmtu`]).
        is_final: bool,
    },
}
