//! Whether the datagrams of a path may be fragmented, and the length up to which they are not.

use std::mem;

use polypath_core::frame::PathId;
use polypath_core::pmtu::MtuState;
use polypath_session::tunnel::Input;

/// The state of a path's don't-fragment option and of its path MTU discovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DontFragment {
    pub(super) probing: PeerProbing,
    /// Whether the option is set at the socket.
    pub(super) is_set: bool,
    /// The longest datagram that is expected to be delivered, in bytes; none before the first
    /// failure.
    pub(super) longest: Option<usize>,
    /// Whether the next datagram is a probe of the path MTU.
    pub(super) is_probe_next: bool,
    /// The MTU that was logged last, in bytes of the IP packet.
    pub(super) logged: Option<usize>,
    /// The longest packet that the machine may try, as notified last, in bytes; 0 disables the
    /// discovery.
    pub(super) packet_mtu: u16,
    /// Whether the path's route has changed since the machine was notified.
    pub(super) is_rerouted: bool,
    /// The last logged values of a path that is narrower than the TUN device.
    pub(super) narrow: Option<NarrowPath>,
}

/// A path whose interface carries less than the TUN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NarrowPath {
    /// The longest packet that the interface carries, in bytes.
    pub(super) packet_mtu: u16,
    /// Whether longer packets take other paths; otherwise their datagrams are fragmented.
    pub(super) discovers_mtu: bool,
}

/// The MTU of the TUN device.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::node) struct TunMtu {
    /// The MTU in bytes.
    pub(in crate::node) mtu: u16,
    /// Whether the file states it; otherwise it follows from the paths at the start.
    pub(in crate::node) is_configured: bool,
}

/// A result of path MTU discovery, in bytes of the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuUpdate {
    pub(super) state: MtuState,
    /// The longest packet that was delivered.
    pub(super) found: Option<u16>,
    /// The longest packet that is sent for now.
    pub(super) limit: Option<u16>,
}

/// Whether the peer answers probes of the path MTU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PeerProbing {
    /// No probe has been sent.
    #[default]
    NotStarted,
    /// The peer answers, or may answer yet.
    Active,
    /// The peer answers no probe.
    Unanswered,
}

impl DontFragment {
    /// Notifies the machine of the longest packet that it may try.
    pub(super) fn notification(&mut self, path: PathId) -> Input {
        Input::InterfaceMtu {
            path,
            mtu: self.packet_mtu,
            rerouted: mem::take(&mut self.is_rerouted),
        }
    }

    /// Whether the MTU that was found is disproved, where a new search starts with `found`.
    pub(super) fn is_lost(&self, found: Option<u16>) -> bool {
        found.is_none() && self.logged.is_some()
    }

    /// Forgets what was found, none of which is disproved.
    pub(super) fn restart(&mut self) {
        (self.longest, self.logged) = (None, None);
    }
}
