//! A path: its socket and the address of the peer there.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use polypath_session::address::PeerAddress;

use super::dont_fragment::DontFragment;
use super::retired_sockets::RetiredSockets;
use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::node::path_log::PathLog;
use crate::stats::PathStats;
use crate::udp::batch::{Incoming, Outgoing};
use crate::udp::flood::FloodGuard;
use crate::udp::traffic_class::CopiedFields;
use crate::udp::{PathSocket, Received};

/// A path's socket and the address of the peer there.
pub(super) struct Path {
    pub(super) socket: PathSocket,
    /// Its earlier sockets, for datagrams in flight to them.
    pub(super) retired: RetiredSockets,
    pub(super) remote: PeerAddress<SocketAddr>,
    pub(super) log: PathLog,
    pub(super) stats: PathStats,
    /// Whether it carries no more than the state file has, which cannot be written.
    pub(super) is_unsaved: bool,
    pub(super) flood: FloodGuard,
    /// Whether a handshake was initiated or answered since the flood guard was updated.
    pub(super) has_new_index: bool,
    pub(super) incoming: Incoming,
    pub(super) outgoing: Outgoing,
    /// The fields of the traffic class that datagrams have of the packet in them.
    pub(super) copied: CopiedFields,
    pub(super) dont_fragment: DontFragment,
}

impl Path {
    pub(super) fn new(config: &PathConfig, socket: PathSocket) -> Self {
        Self {
            remote: PeerAddress::configured(config.target()),
            log: PathLog::new(config.relay.is_some()),
            stats: PathStats {
                name: config.name.clone(),
                local: socket.bound(),
                remote: config.target(),
                ..PathStats::default()
            },
            is_unsaved: false,
            socket,
            retired: RetiredSockets::default(),
            flood: FloodGuard::default(),
            has_new_index: false,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            copied: config.copied(),
            dont_fragment: DontFragment::default(),
        }
    }

    /// The next datagram, if one waits.
    pub(super) fn receive(
        &mut self,
        buffer: &mut PacketBuffer,
        clock: Clock,
    ) -> io::Result<Option<(Received, Bytes)>> {
        if self.incoming.is_empty()
            && let Some(received) = self.receive_waiting(buffer.space(), clock)?
        {
            let bytes = buffer.take(received.len);
            if received.segment >= received.len {
                return Ok(Some((received, bytes)));
            }
            self.incoming.fill(received, bytes);
        }
        Ok(self.incoming.take())
    }

    /// Receives from the sockets of the path: from retired ones first, but not without bound.
    pub(super) fn receive_waiting(
        &mut self,
        buffer: &mut [u8],
        clock: Clock,
    ) -> io::Result<Option<Received>> {
        if self.retired.yields() {
            let received = self.socket.receive(buffer, clock)?;
            if received.is_some() {
                return Ok(received);
            }
        }
        let retired = self.retired.receive(buffer, clock)?;
        if retired.is_some() {
            return Ok(retired);
        }
        self.socket.receive(buffer, clock)
    }

    /// The length of the IP packet of a datagram of this length, in bytes.
    pub(super) fn wire_len(&self, datagram: usize) -> usize {
        datagram + self.socket.headers() as usize
    }

    /// Sends the queued datagrams to the peer; drops them while its address is unknown.
    pub(super) fn flush(&mut self) {
        if self.outgoing.is_empty() {
            return;
        }
        let Some(remote) = self.remote.get() else {
            self.stats.unaddressed += self.outgoing.discard();
            return;
        };
        self.flush_to(remote);
    }

    /// Sends the queued datagrams to `remote`.
    pub(super) fn flush_to(&mut self, remote: SocketAddr) {
        let sent = self.outgoing.flush(&self.socket, remote);
        self.stats.sent.packets += sent.datagrams as u64;
        self.stats.sent.bytes += (sent.bytes + sent.datagrams * self.wire_len(0)) as u64;
        self.stats.unsent += sent.unsent as u64;
        self.stats.too_long += sent.too_long as u64;
    }

    /// Sends to the peer at its `address` in an earlier run until it sends from another; returns
    /// whether the address is used: not if one is known, or if it is of another family.
    pub(super) fn set_former_address(&mut self, address: SocketAddr) -> bool {
        if self.remote.get().is_some() || self.socket.is_v4() != address.is_ipv4() {
            return false;
        }
        self.remote = PeerAddress::learned(Some(address));
        self.stats.remote = Some(address);
        true
    }

    /// Handles an authentic datagram of the peer from `source`, which is its address unless the
    /// file states one.
    pub(super) fn authenticated(&mut self, source: SocketAddr) {
        let before = self.remote.get();
        let has_moved = self.remote.update(source);
        if has_moved {
            self.stats.remote = Some(source);
        }
        // Another port alone is a NAT on the same route.
        if has_moved && before.is_some_and(|before| before.ip() != source.ip()) {
            self.rerouted();
        }
        self.log.authenticated(&self.stats, source, has_moved);
        self.stats.authentic += 1;
    }
}
