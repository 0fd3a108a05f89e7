//! How long a datagram each path carries whole ([`polypath_core::pmtu`]), and what becomes of longer ones.
//!
//! From the first padded heartbeat on datagrams cross whole or not at all. Where it cannot be found out, the system
//! fragments as it does by itself: then the peer knows no padded heartbeats, or none at all, and all is as it was without
//! them. A datagram that is longer than what holds for now goes in fragments: that is an IPv6 packet that every link must carry.

use std::mem;

use polypath_core::frame::PathId;
use polypath_core::pmtu::{MIN_PACKET, MtuState, PathMtu};
use polypath_session::tunnel::{Input, packet_overhead};

use super::{Path, Paths};
use crate::stats::PathStats;

/// What of a path's datagrams crosses whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DontFragment {
    asked: Asked,
    /// Whether the socket keeps datagrams whole.
    is_kept: bool,
    /// The longest datagram that is relied on to cross, from the first that failed on, in bytes.
    longest: Option<usize>,
    /// Whether the next datagram is to find out what crosses whole.
    is_probe_next: bool,
    /// What was told last, in bytes of the IP packet.
    told: Option<usize>,
    /// The longest packet that the machine tries, as it was told last, in bytes; 0 where it is to try none.
    room: u16,
    /// Whether the path goes by another way than when the machine was told.
    is_elsewhere: bool,
    /// Its room, and whether longer packets are kept from it, where it is narrower than the TUN device.
    narrow: Option<(u16, bool)>,
}

/// How long packets come from the TUN device.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::node) struct TunMtu {
    /// Its MTU in bytes.
    pub(in crate::node) mtu: u16,
    /// Whether the configuration says so; otherwise it follows from the paths that there were at the start.
    pub(in crate::node) is_given: bool,
}

/// Whether the peer has been asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asked {
    /// No padded heartbeat has left.
    #[default]
    NotYet,
    /// It answers, or will.
    Yes,
    /// It answers none.
    InVain,
}

impl Paths {
    /// Carries what comes from a TUN device of this MTU.
    pub(in crate::node) fn carry_for(&mut self, tun: TunMtu) {
        self.tun = tun;
    }

    /// Has it found out from now on how long a datagram each path carries whole, or no longer: what the machine is to
    /// be told about that. A path that cannot carry whole what the TUN device sends because the configuration gives
    /// its MTU is left to the system: the configuration has it fragmented there.
    pub(in crate::node) fn find_sizes(&mut self, is_wanted: bool) -> Vec<Input> {
        let tun = self.tun;
        let paths = (0..).map(PathId).zip(&mut self.all);
        paths
            .map(|(id, path)| {
                path.find_size(is_wanted, tun);
                path.whole.tell_room(id)
            })
            .collect()
    }

    /// What the machine is to be told of paths whose peer has moved since.
    pub(in crate::node) fn moved(&mut self) -> Vec<Input> {
        let paths = (0..).map(PathId).zip(&mut self.all);
        paths
            .filter(|(_, path)| path.whole.is_elsewhere)
            .map(|(id, path)| path.whole.tell_room(id))
            .collect()
    }

    /// Notes and logs what was found, and what holds for now, in bytes of the packet.
    pub(super) fn note_size(
        &mut self,
        path: PathId,
        state: MtuState,
        (found, limit): (Option<u16>, Option<u16>),
    ) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.whole.longest = limit.map(|limit| usize::from(limit) + path.overhead());
            path.note_size(state, found);
        }
    }

    /// The statistics of `path` with what is known of its size.
    pub(in crate::node) fn with_size(
        &self,
        path: PathId,
        size: Option<PathMtu>,
        stats: PathStats,
    ) -> PathStats {
        let packet = size.and_then(|size| size.confirmed);
        let on_wire = |path: &Path| packet.and_then(|p| u32::try_from(path.on_wire(p)).ok());
        PathStats {
            mtu_bytes: self.all.get(path.index()).and_then(on_wire),
            mtu_state: size.map(|size| size.state),
            ..stats
        }
    }
}

impl DontFragment {
    fn tell_room(&mut self, path: PathId) -> Input {
        Input::InterfaceMtu {
            path,
            mtu: self.room,
            rerouted: mem::take(&mut self.is_elsewhere),
        }
    }

    /// Whether what was found has been disproved, where a search begins and `packet` holds meanwhile.
    fn is_lost(&self, packet: Option<u16>) -> bool {
        packet.is_none() && self.told.is_some()
    }
}

impl Path {
    /// What a datagram adds to the packet in it, in bytes.
    fn overhead(&self) -> usize {
        packet_overhead(self.log.is_by_relay())
    }

    /// The length of the IP packet in which `packet` bytes of an application's leave.
    fn on_wire(&self, packet: u16) -> usize {
        self.size(usize::from(packet) + self.overhead())
    }

    /// The longest packet that the interface lets through whole.
    fn room(&self) -> u16 {
        let room = (self.socket.mtu() as usize).saturating_sub(self.size(self.overhead()));
        u16::try_from(room).unwrap_or(u16::MAX)
    }

    fn find_size(&mut self, is_wanted: bool, tun: TunMtu) {
        let is_wanted = is_wanted && (!tun.is_given || self.room() >= tun.mtu);
        // No packet is longer than the TUN device's MTU.
        let room = if is_wanted {
            self.room().min(tun.mtu)
        } else {
            0
        };
        self.tell_narrow(is_wanted, tun);
        if is_wanted != (self.whole.room > 0) {
            self.whole = DontFragment {
                is_kept: self.whole.is_kept,
                narrow: self.whole.narrow,
                ..DontFragment::default()
            };
        }
        if room != self.whole.room {
            self.begin_anew();
        }
        self.whole.room = room;
        self.set_dont_fragment();
    }

    /// Logs once of a path that lets through less than the TUN device what becomes of longer packets.
    fn tell_narrow(&mut self, is_wanted: bool, TunMtu { mtu, .. }: TunMtu) {
        let room = self.room();
        let narrow = (room < mtu).then_some((room, is_wanted));
        if narrow == mem::replace(&mut self.whole.narrow, narrow) || narrow.is_none() {
            return;
        }
        let path = &self.stats.name;
        if is_wanted {
            tracing::info!(
                path,
                mtu,
                room,
                "packets longer than this path's interface lets through take other paths, or their senders hear of it"
            );
        } else {
            tracing::warn!(
                path,
                mtu,
                room,
                "datagrams will be fragmented: the MTU is beyond that of a path"
            );
        }
    }

    /// Notes that the path goes by another way from now on.
    pub(super) fn note_move(&mut self) {
        self.whole.is_elsewhere = true;
        self.begin_anew();
        self.outgoing.retry_gso();
    }

    /// Forgets what was found, none of which has been disproved.
    fn begin_anew(&mut self) {
        (self.whole.longest, self.whole.told) = (None, None);
    }

    /// Tells a new socket what the one before it was told.
    pub(super) fn apply_dont_fragment_to_new_socket(&mut self) {
        self.whole.is_kept = false;
        self.set_dont_fragment();
    }

    fn set_dont_fragment(&mut self) {
        let whole = self.whole.room > 0 && self.whole.asked == Asked::Yes;
        if whole == self.whole.is_kept {
            return;
        }
        // What waits is to leave as it was meant.
        self.flush();
        if let Err(error) = self.socket.set_dont_fragment(whole) {
            let path = &self.stats.name;
            tracing::warn!(path, %error, "whether datagrams are fragmented cannot be said");
        }
        self.whole.is_kept = whole;
        // What it refused may have been to cut them to what routers said.
        self.outgoing.retry_gso();
    }

    /// Notes that a heartbeat leaves in an IP packet of `len` bytes.
    pub(super) fn note_heartbeat(&mut self, len: u32) {
        self.stats.heartbeats.add(len as usize);
        if len < u32::from(MIN_PACKET) {
            return;
        }
        self.whole.is_probe_next = true;
        if self.whole.asked == Asked::NotYet {
            self.whole.asked = Asked::Yes;
            self.set_dont_fragment();
        }
    }

    /// Whether `datagram`, which leaves now, is longer than what crosses whole, and yet to be sent.
    pub(super) fn needs_fragments(&mut self, datagram: &[u8]) -> bool {
        if mem::take(&mut self.whole.is_probe_next) || !self.whole.is_kept {
            return false;
        }
        // The interface lets through no more, whatever is found out.
        let most = (self.socket.mtu() as usize).saturating_sub(self.size(0));
        datagram.len() > self.whole.longest.unwrap_or(most).min(most)
    }

    pub(super) fn send_in_fragments(&mut self, datagram: &[u8]) {
        self.flush();
        let Some(remote) = self.remote.get() else {
            self.stats.unaddressed += 1;
            return;
        };
        match self.socket.send_in_fragments(datagram, remote) {
            Ok(()) => self.stats.sent.add(self.size(datagram.len())),
            Err(error) => {
                self.stats.unsent += 1;
                tracing::debug!(to = %remote, %error, "datagram not sent");
            }
        }
    }

    fn note_size(&mut self, state: MtuState, packet: Option<u16>) {
        let is_complete = state == MtuState::Complete;
        self.whole.asked = match state {
            MtuState::Error => Asked::InVain,
            _ if self.whole.asked == Asked::InVain => Asked::Yes,
            _ => self.whole.asked,
        };
        self.set_dont_fragment();
        let found = packet.map(|packet| self.on_wire(packet));
        let path = &self.stats.name;
        match state {
            MtuState::Error => tracing::warn!(
                path,
                "how long a packet crosses whole cannot be found out: does the peer have an older version? Long \
                 datagrams are fragmented where the network asks for it"
            ),
            MtuState::Complete if found != self.whole.told => {
                tracing::info!(path, mtu_bytes = found, "the path's MTU is found");
            }
            MtuState::Base | MtuState::Search if self.whole.is_lost(packet) => {
                tracing::warn!(
                    path,
                    mtu_bytes = self.whole.told,
                    "packets of the MTU that was found do not cross any more; it is looked for anew"
                );
            }
            _ => {}
        }
        if is_complete || packet.is_none() {
            self.whole.told = found;
        }
    }
}

#[cfg(test)]
mod tests;
