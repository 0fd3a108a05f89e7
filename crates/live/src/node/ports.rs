//! The descriptors of a node: where its machines' outputs go, and what was counted there.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_session::event::SessionEvent;
use polypath_session::tunnel::{Input, Output};

use super::events::EventFile;
use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::stats::{PathStats, TunStats};
use crate::tun::Tun;
use crate::udp::PathSocket;

/// A path's socket and the address of the peer there.
pub(super) struct Path {
    socket: PathSocket,
    remote: Option<SocketAddr>,
    /// Whether the peer's address is taken from its datagrams.
    learns: bool,
    pub(super) stats: PathStats,
}

/// The TUN device and the sockets.
pub(super) struct Ports {
    pub(super) tun: Tun,
    pub(super) tun_stats: TunStats,
    pub(super) paths: Vec<Path>,
    packets: PacketBuffer,
    datagrams: PacketBuffer,
    clock: Clock,
    /// Where the datagram that is being handled came from.
    source: Option<SocketAddr>,
}

impl Path {
    pub(super) fn new(config: &PathConfig, socket: PathSocket) -> Self {
        Self {
            socket,
            remote: config.remote,
            learns: config.remote.is_none(),
            stats: PathStats {
                name: config.name.clone(),
                remote: config.remote,
                ..PathStats::default()
            },
        }
    }

    fn size(&self, datagram: usize) -> usize {
        datagram + self.socket.headers() as usize
    }

    fn send(&mut self, datagram: &[u8]) {
        let Some(remote) = self.remote else {
            self.stats.unaddressed += 1;
            return;
        };
        match self.socket.send(datagram, remote) {
            Ok(()) => self.stats.sent.add(self.size(datagram.len())),
            Err(error) => {
                self.stats.unsent += 1;
                tracing::debug!(path = self.stats.name, %remote, %error, "datagram not sent");
            }
        }
    }

    fn learn(&mut self, source: SocketAddr) {
        if self.learns && self.remote != Some(source) {
            tracing::info!(path = self.stats.name, remote = %source, "the peer is found");
            self.remote = Some(source);
            self.stats.remote = Some(source);
        }
    }
}

impl Ports {
    pub(super) fn new(tun: Tun, paths: Vec<Path>, max_datagram: usize, clock: Clock) -> Self {
        Self {
            packets: PacketBuffer::new(usize::from(tun.mtu())),
            // One byte more, so that a datagram that is too long is seen to be.
            datagrams: PacketBuffer::new(max_datagram + 1),
            tun,
            tun_stats: TunStats::default(),
            paths,
            clock,
            source: None,
        }
    }

    /// The next packet of an application, if one waits.
    pub(super) fn read_packet(&mut self) -> io::Result<Option<Bytes>> {
        let Some(len) = self.tun.read(self.packets.space())? else {
            return Ok(None);
        };
        self.tun_stats.from_applications.add(len);
        Ok(Some(self.packets.take(len)))
    }

    /// The next datagram of a path with the time at which it came, if one waits.
    pub(super) fn read_datagram(&mut self, path: PathId) -> io::Result<Option<(Time, Input)>> {
        let Some(entry) = self.paths.get_mut(path.index()) else {
            return Ok(None);
        };
        let Some(received) = entry.socket.receive(self.datagrams.space(), self.clock)? else {
            return Ok(None);
        };
        entry.stats.received.add(entry.size(received.len));
        self.source = Some(received.from);
        let datagram = self.datagrams.take(received.len);
        Ok(Some((received.at, Input::Datagram { path, datagram })))
    }

    /// Does what a tunnel says at `at`.
    pub(super) fn take(
        &mut self,
        at: Time,
        said: Output,
        events: Option<&mut EventFile>,
    ) -> io::Result<()> {
        match said {
            Output::Packet(packet) => self.write_packet(&packet)?,
            Output::Datagram { path, datagram } => {
                if let Some(path) = self.paths.get_mut(path.index()) {
                    path.send(&datagram);
                }
            }
            Output::Authenticated { path } => {
                if let (Some(path), Some(source)) = (self.paths.get_mut(path.index()), self.source)
                {
                    path.learn(source);
                }
            }
            Output::Event(event) => {
                if let Some(file) = events {
                    file.write(at, event)?;
                }
            }
            Output::Session(event) => log(event),
        }
        Ok(())
    }

    fn write_packet(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.tun.write(packet)? {
            self.tun_stats.to_applications.add(packet.len());
        } else {
            self.tun_stats.refused += 1;
        }
        Ok(())
    }
}

fn log(event: SessionEvent) {
    match event {
        SessionEvent::Established { initiator } => tracing::info!(initiator, "session established"),
        SessionEvent::Expired => tracing::warn!("keys ran out; packets wait for the peer"),
        SessionEvent::Silent => tracing::warn!("the peer does not answer; a handshake follows"),
        SessionEvent::NoEntropy => tracing::error!("the random source failed"),
        // These come as often as somebody sends; the statistics have their numbers.
        SessionEvent::Initiated { attempt } => tracing::debug!(attempt, "handshake begun"),
        SessionEvent::Discarded => tracing::debug!("frame dropped while no session stands"),
        SessionEvent::Rejected { path, reason } => {
            tracing::debug!(path = path.0, reason = reason.name(), "datagram rejected");
        }
    }
}
