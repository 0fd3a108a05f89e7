//! The inputs and outputs of an endpoint.

use alloc::boxed::Box;

use super::config::Adjustment;
use crate::event::Event;
use crate::frame::{Frame, PathId};
use crate::packet::PacketMeta;
use crate::time::Time;
use crate::units::Bytes;

/// The inputs of an endpoint.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Input<P> {
    /// A packet of an application, for the peer.
    Packet {
        /// The metadata that the policy may use.
        meta: PacketMeta,
        /// The packet.
        payload: P,
    },
    /// A frame of the peer; its `path` is the one that it arrived on.
    Frame(Frame<P>),
    /// Frames can reach the peer from now on, as after a handshake: paths that are not live are
    /// probed immediately.
    Reachable,
    /// Frames on this path can reach the peer from now on, as after its interface has appeared.
    PathReachable(PathId),
    /// The peer has restarted without its state: its sequence numbers start again.
    PeerRestarted,
    /// Whether the peer reports which packets arrive, as it usually does: otherwise losses are not
    /// repaired.
    PeerReports(bool),
    /// Whether the peer restores packets from fragments, as it usually does: otherwise it gets
    /// copies.
    PeerFragments(bool),
    /// Whether the peer gives feedback on the spacing of packets, as it usually does: otherwise the
    /// spacing stays as it is.
    PeerSpacing(bool),
    /// The driver is behind, and the present is this time: timers that were due before it run at
    /// their own times, and their outputs leave at this time at the earliest.
    DriverBehind(Time),
    /// The MTU of a path's interface, from which path MTU discovery starts ([`crate::pmtu`]) where
    /// paths are watched.
    InterfaceMtu {
        /// The path.
        path: PathId,
        /// The longest packet that the interface accepts, in bytes; 0 disables discovery.
        mtu: u16,
        /// Whether the route of the path has changed, so that what is known of its MTU no longer
        /// holds.
        rerouted: bool,
    },
    /// The bytes on the wire that a path with a quota has carried in both directions since its last
    /// renewal, as the driver counted them ([`crate::metering`]); the endpoint goes on from there.
    PathUsed {
        /// The path.
        path: PathId,
        /// The bytes.
        used: Bytes,
        /// Whether the quota was renewed since the last input, so that the path opens.
        is_renewed: bool,
    },
    /// Change the settings. Sequence numbers, epochs and the state of paths and packets are kept.
    Adjust(Box<Adjustment>),
}

/// The outputs of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Output<P> {
    /// Send this frame on its path.
    Transmit(Frame<P>),
    /// Hand this packet to the application.
    Deliver(P),
    /// An event.
    Event(Event),
    /// The packet of the application is too long for every path and is dropped.
    Refused {
        /// The packet.
        payload: P,
        /// The largest MTU of a path, in bytes.
        limit: u16,
        /// Whether no search that may raise the limit is in progress ([`crate::pmtu`]).
        is_final: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every packet moves one of each.
    #[test]
    fn inputs_and_outputs_are_small() {
        assert!(size_of::<Input<()>>() <= 48);
        assert!(size_of::<Output<()>>() <= 48);
    }
}
