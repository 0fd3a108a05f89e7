//! The MTU of each path ([`polypath_core::pmtu`]), and the datagrams that exceed it.
//!
//! From the first padded heartbeat on, datagrams are sent with don't-fragment. Where the MTU cannot
//! be discovered, because the peer does not know padded heartbeats or heartbeats at all, the system
//! fragments as it does by default. A datagram that exceeds the current limit is sent in fragments:
//! it holds a packet of at most the minimum MTU of IPv6, which every path must carry.

use std::mem;

use polypath_core::frame::PathId;
use polypath_core::packet::TrafficClass;
use polypath_core::pmtu::{MIN_PACKET, MtuState, PathMtu};
use polypath_session::tunnel::{Input, packet_overhead};

use super::Paths;
use super::dont_fragment::{DontFragment, MtuUpdate, NarrowPath, PeerProbing, TunMtu};
use super::path::Path;
use crate::node::path_log;

impl Paths {
    /// Notes the MTU of the TUN device.
    pub(in crate::node) fn set_tun_mtu(&mut self, tun: TunMtu) {
        self.tun = tun;
    }

    /// Starts or stops path MTU discovery and returns the inputs that notify the machine. A path
    /// that is narrower than a configured MTU of the TUN device is left out: the file has its
    /// datagrams fragmented.
    pub(in crate::node) fn set_mtu_discovery(&mut self, is_enabled: bool) -> Vec<Input> {
        let tun = self.tun;
        let paths = (0..).map(PathId).zip(&mut self.all);
        paths
            .map(|(id, path)| {
                path.set_mtu_discovery(is_enabled, tun);
                path.dont_fragment.notification(id)
            })
            .collect()
    }

    /// The inputs that notify the machine of paths whose route has changed since the last call.
    pub(in crate::node) fn rerouted(&mut self) -> Vec<Input> {
        let paths = (0..).map(PathId).zip(&mut self.all);
        paths
            .filter(|(_, path)| path.dont_fragment.is_rerouted)
            .map(|(id, path)| path.dont_fragment.notification(id))
            .collect()
    }

    /// Applies and logs a result of the discovery.
    pub(super) fn update_mtu(&mut self, path: PathId, update: MtuUpdate) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.update_mtu(update);
        }
    }

    /// The path's confirmed MTU in bytes of the IP packet, outer headers included.
    pub(in crate::node) fn wire_mtu(&self, path: PathId, mtu: PathMtu) -> Option<u32> {
        let path = self.all.get(path.index())?;
        u32::try_from(path.wire_mtu(mtu.confirmed?)).ok()
    }
}

impl Path {
    /// The bytes that a datagram adds to the packet in it.
    fn overhead(&self) -> usize {
        packet_overhead(self.log.has_relay())
    }

    /// The length of the IP packet that carries `packet` bytes of an application, in bytes.
    fn wire_mtu(&self, packet: u16) -> usize {
        self.wire_len(usize::from(packet) + self.overhead())
    }

    /// The longest packet that the interface carries without fragmentation, in bytes.
    fn packet_mtu(&self) -> u16 {
        let mtu = (self.socket.mtu() as usize).saturating_sub(self.wire_len(self.overhead()));
        u16::try_from(mtu).unwrap_or(u16::MAX)
    }

    fn set_mtu_discovery(&mut self, is_enabled: bool, tun: TunMtu) {
        let is_enabled = is_enabled && (!tun.is_configured || self.packet_mtu() >= tun.mtu);
        // No packet is longer than the TUN device's MTU.
        let packet_mtu = if is_enabled {
            self.packet_mtu().min(tun.mtu)
        } else {
            0
        };
        self.log_narrow(is_enabled, tun);
        if is_enabled != (self.dont_fragment.packet_mtu > 0) {
            self.dont_fragment = DontFragment {
                is_set: self.dont_fragment.is_set,
                narrow: self.dont_fragment.narrow,
                ..DontFragment::default()
            };
        }
        if packet_mtu != self.dont_fragment.packet_mtu {
            self.dont_fragment.restart();
        }
        self.dont_fragment.packet_mtu = packet_mtu;
        self.apply_dont_fragment();
    }

    /// Logs once that the interface carries less than the TUN device.
    fn log_narrow(&mut self, discovers_mtu: bool, TunMtu { mtu, .. }: TunMtu) {
        let packet_mtu = self.packet_mtu();
        let narrow = (packet_mtu < mtu).then_some(NarrowPath {
            packet_mtu,
            discovers_mtu,
        });
        let logged = mem::replace(&mut self.dont_fragment.narrow, narrow);
        if narrow.is_some() && narrow != logged {
            path_log::log_narrow_path(&self.stats.name, mtu, packet_mtu, discovers_mtu);
        }
    }

    /// Notes that the route of the path has changed.
    pub(super) fn rerouted(&mut self) {
        self.dont_fragment.is_rerouted = true;
        self.dont_fragment.restart();
        self.outgoing.retry_gso();
    }

    /// Applies the don't-fragment option to a socket that replaces another.
    pub(super) fn apply_dont_fragment_to_new_socket(&mut self) {
        self.dont_fragment.is_set = false;
        self.apply_dont_fragment();
    }

    fn apply_dont_fragment(&mut self) {
        let state = &self.dont_fragment;
        let is_wanted = state.packet_mtu > 0 && state.probing == PeerProbing::Active;
        if is_wanted == state.is_set {
            return;
        }
        // Queued datagrams leave under the option for which they were queued.
        self.flush();
        if let Err(error) = self.socket.set_dont_fragment(is_wanted) {
            path_log::log_dont_fragment_failed(&self.stats.name, &error);
        }
        self.dont_fragment.is_set = is_wanted;
        // GSO may have been refused because of an MTU that a router reported.
        self.outgoing.retry_gso();
    }

    /// Notes that a heartbeat is sent next, in an IP packet of `len` bytes.
    pub(super) fn heartbeat_sent(&mut self, len: u32) {
        self.stats.heartbeats.add(len as usize);
        if len < u32::from(MIN_PACKET) {
            return;
        }
        self.dont_fragment.is_probe_next = true;
        if self.dont_fragment.probing == PeerProbing::NotStarted {
            self.dont_fragment.probing = PeerProbing::Active;
            self.apply_dont_fragment();
        }
    }

    /// Whether `datagram`, which is sent now, exceeds the path's MTU and is not a probe of it.
    pub(super) fn needs_fragments(&mut self, datagram: &[u8]) -> bool {
        if mem::take(&mut self.dont_fragment.is_probe_next) || !self.dont_fragment.is_set {
            return false;
        }
        // The interface carries no more, whatever the discovery finds.
        let most = (self.socket.mtu() as usize).saturating_sub(self.wire_len(0));
        datagram.len() > self.dont_fragment.longest.unwrap_or(most).min(most)
    }

    /// Sends a datagram that exceeds the path's MTU.
    pub(super) fn send_in_fragments(&mut self, datagram: &[u8], traffic_class: TrafficClass) {
        self.flush();
        let Some(remote) = self.remote.get() else {
            self.stats.unaddressed += 1;
            return;
        };
        match self
            .socket
            .send_in_fragments(datagram, traffic_class, remote)
        {
            Ok(()) => self.stats.sent.add(self.wire_len(datagram.len())),
            Err(error) => {
                self.stats.unsent += 1;
                tracing::debug!(to = %remote, %error, "datagram not sent");
            }
        }
    }

    fn update_mtu(&mut self, update: MtuUpdate) {
        let MtuUpdate {
            state,
            found,
            limit,
        } = update;
        self.dont_fragment.longest = limit.map(|limit| usize::from(limit) + self.overhead());
        self.dont_fragment.probing = match state {
            MtuState::Error => PeerProbing::Unanswered,
            _ if self.dont_fragment.probing == PeerProbing::Unanswered => PeerProbing::Active,
            _ => self.dont_fragment.probing,
        };
        self.apply_dont_fragment();
        let wire_mtu = found.map(|packet| self.wire_mtu(packet));
        let (path, logged) = (&self.stats.name, self.dont_fragment.logged);
        match state {
            MtuState::Error => path_log::log_mtu_unknown(path),
            MtuState::Complete if wire_mtu != logged => path_log::log_mtu_found(path, wire_mtu),
            MtuState::Base | MtuState::Search if self.dont_fragment.is_lost(found) => {
                path_log::log_mtu_lost(path, logged);
            }
            _ => {}
        }
        if state == MtuState::Complete || found.is_none() {
            self.dont_fragment.logged = wire_mtu;
        }
    }
}

#[cfg(test)]
mod tests;
