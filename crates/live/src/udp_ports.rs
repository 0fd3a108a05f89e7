//! UDP ports of this host in place of a TUN device: a node carries the datagrams of applications
//! without privileges, and with the same peers.
//!
//! Each [port](crate::config::UdpPort) has a socket. A datagram of an application becomes a packet
//! of the overlay, and a packet of the peer a datagram, put together from its fragments where no path
//! carried it whole ([`PeerDatagrams`]).

mod packet;
mod peer;
mod reassembly;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Bytes;
use polypath_session::entropy::Entropy as _;
use polypath_session::tunnel::fragment;

use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::{UdpPort, unspecified};
use crate::keys::SystemEntropy;
use crate::stats::TunStats;
use crate::udp::batch::{Outgoing, SendCounts};
use crate::udp::{PathSocket, UdpError};
use packet::{HEADERS, PacketAddresses};
pub use peer::{NotUdp, PeerDatagram, PeerDatagrams};

/// The longest IPv4 packet in bytes.
const MAX_PACKET: usize = u16::MAX as usize;
/// The address of both ends in packets between two nodes with UDP ports, which no host has (RFC
/// 7600).
const DUMMY_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// An error in opening a UDP port; each names its key.
#[derive(Debug, thiserror::Error)]
pub enum UdpPortError {
    /// Another program uses the address.
    #[error("`{key}`: another program uses {address}; choose another port or stop it (`ss -ulpn`)")]
    InUse {
        /// The key.
        key: String,
        /// The address.
        address: SocketAddr,
    },
    /// No interface has the address.
    #[error("`{key}`: no interface has the address of {address}; see `ip address`")]
    NoAddress {
        /// The key.
        key: String,
        /// The address.
        address: SocketAddr,
    },
    /// The system does not permit it.
    #[error(
        "`{key}`: may not use {address}: ports below 1024 need CAP_NET_BIND_SERVICE; choose another"
    )]
    NotPermitted {
        /// The key.
        key: String,
        /// The address.
        address: SocketAddr,
    },
    /// The address of the application is none that a datagram can be sent to.
    #[error("`{key}`: cannot send to {address} ({source}): give the address of one host")]
    NoHost {
        /// The key.
        key: String,
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// Any other error.
    #[error("`{key}`: cannot open a socket: {source}")]
    Other {
        /// The key.
        key: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl UdpPortError {
    fn of(index: usize, port: &UdpPort, error: UdpError) -> Self {
        let field = if port.listen.is_some() {
            "listen"
        } else {
            "to"
        };
        let key = format!("node.udp.{index}.{field}");
        match error {
            UdpError::InUse { local, .. } => Self::InUse {
                key,
                address: local,
            },
            UdpError::NoAddress { local, .. } => Self::NoAddress {
                key,
                address: local,
            },
            UdpError::Other { local, source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Self::NotPermitted {
                    key,
                    address: local,
                }
            }
            UdpError::Other { source, .. } => Self::Other { key, source },
            error => Self::Other {
                key,
                source: io::Error::other(error),
            },
        }
    }
}

/// The UDP ports of a node.
#[derive(Debug)]
pub struct UdpPorts {
    ports: Vec<OpenPort>,
    /// The position of the port that was read last.
    next: usize,
    name: String,
    clock: Clock,
    /// A read from the kernel: one datagram, or several of one length.
    read: Box<[u8]>,
    buffer: PacketBuffer,
    /// The longest packet in bytes that is not fragmented.
    mtu: u16,
    /// That of the next packet; one that is random at first, since fragments of an earlier run may
    /// still be in flight.
    identification: u16,
    datagrams: PeerDatagrams,
    /// Whether it is logged that a datagram of the peer is for no port.
    is_mismatch_logged: bool,
    has_offload: bool,
    stats: TunStats,
}

/// A UDP port and its socket.
#[derive(Debug)]
struct OpenPort {
    socket: PathSocket,
    addresses: PacketAddresses,
    /// The application that datagrams of the peer go to; `None` before it has sent one.
    application: Option<SocketAddr>,
    /// Whether the file states it, and no other gets them.
    is_configured: bool,
    /// Whether datagrams of all applications are carried; otherwise only answers.
    listens: bool,
    outgoing: Outgoing,
}

impl UdpPorts {
    /// Opens the sockets of `ports`; with `has_offload` datagrams are received and sent in batches.
    /// Packets longer than `mtu` bytes are fragmented, as by a host.
    ///
    /// # Errors
    /// The first port that cannot be opened.
    pub fn open(
        ports: &[UdpPort],
        name: String,
        mtu: u16,
        has_offload: bool,
        clock: Clock,
    ) -> Result<Self, UdpPortError> {
        let open = |(index, port)| {
            let open = OpenPort::open(port, has_offload)
                .map_err(|error| UdpPortError::of(index, port, error))?;
            open.connect(port)
                .map_err(|(address, source)| UdpPortError::NoHost {
                    key: format!("node.udp.{index}.to"),
                    address,
                    source,
                })?;
            Ok(open)
        };
        let mut identification = [0; 2];
        // Without entropy it begins at 0.
        let _ = SystemEntropy.fill(&mut identification);
        Ok(Self {
            ports: ports
                .iter()
                .enumerate()
                .map(open)
                .collect::<Result<_, _>>()?,
            next: 0,
            name,
            clock,
            read: vec![0; MAX_PACKET].into(),
            buffer: PacketBuffer::new(MAX_PACKET),
            mtu,
            identification: u16::from_be_bytes(identification),
            datagrams: PeerDatagrams::default(),
            is_mismatch_logged: false,
            has_offload,
            stats: TunStats::default(),
        })
    }

    /// The name of the node on this machine.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether datagrams are batched.
    #[must_use]
    pub fn has_offload(&self) -> bool {
        self.has_offload
    }

    /// The counters so far.
    #[must_use]
    pub fn stats(&self) -> TunStats {
        self.stats
    }

    /// The descriptors of the sockets.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ports.iter().map(|port| port.socket.as_fd())
    }

    /// Appends to `packets` the next datagrams of an application as packets; returns false if none
    /// waits.
    ///
    /// # Errors
    /// The system refuses to read.
    pub fn read(&mut self, packets: &mut VecDeque<Bytes>) -> io::Result<bool> {
        for _ in 0..self.ports.len() {
            // In turn, so that a busy port does not keep the others waiting.
            self.next = (self.next + 1) % self.ports.len();
            let port = &mut self.ports[self.next];
            let Some(received) = port.socket.receive(&mut self.read, self.clock)? else {
                continue;
            };
            let datagrams = &self.read[..received.len.min(self.read.len())];
            // An empty datagram is one, too.
            let empty = datagrams.is_empty().then_some(datagrams);
            let is_admitted = port.admits(received.from);
            for datagram in datagrams.chunks(received.segment.max(1)).chain(empty) {
                if !is_admitted {
                    self.stats.refused += 1;
                    continue;
                }
                let (space, class) = (self.buffer.space(), received.traffic_class);
                let identification = self.identification;
                self.identification = identification.wrapping_add(1);
                match port.addresses.write(datagram, class, identification, space) {
                    Some(len) => {
                        self.stats.from_applications.add(len);
                        let packet = self.buffer.take(len);
                        push(packet, self.mtu, packets);
                    }
                    None => self.stats.refused += 1,
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Sends a packet of the peer to its application, at the latest with the next
    /// [`UdpPorts::flush`].
    pub fn write(&mut self, packet: &Bytes) {
        match self.datagrams.read(self.clock.now(), packet) {
            Ok(Some(datagram)) => self.deliver(datagram),
            Ok(None) => {}
            Err(NotUdp) => self.stats.refused += 1,
        }
    }

    /// Sends the datagrams that wait for others of their batch.
    pub fn flush(&mut self) {
        for port in &mut self.ports {
            self.stats.count_sent(port.flush());
        }
    }

    fn deliver(&mut self, datagram: PeerDatagram) {
        let mut ports = self.ports.iter_mut();
        let Some(port) = ports.find(|port| port.addresses.are_met_by(&datagram)) else {
            self.stats.refused += 1;
            if !std::mem::replace(&mut self.is_mismatch_logged, true) {
                log_mismatch(&datagram);
            }
            return;
        };
        if port.application.is_none() {
            self.stats.refused += 1;
            return;
        }
        let PeerDatagram {
            payload,
            traffic_class,
            ..
        } = datagram;
        if !self.has_offload || !port.outgoing.accepts(&payload, traffic_class) {
            self.stats.count_sent(port.flush());
        }
        port.outgoing.push(payload, traffic_class);
    }
}

impl OpenPort {
    fn open(port: &UdpPort, has_offload: bool) -> Result<Self, UdpError> {
        let local = port.listen.unwrap_or_else(|| unspecified_like(port.to));
        let name = format!("UDP port {}", port.port);
        let socket = PathSocket::of_application(&name, local)?;
        // Without GRO datagrams come one by one.
        let _ = has_offload && socket.set_gro(true);
        let overlay = port.overlay;
        Ok(Self {
            socket,
            addresses: PacketAddresses {
                source: overlay.map_or(DUMMY_ADDRESS, |overlay| overlay.local),
                destination: overlay.map_or(DUMMY_ADDRESS, |overlay| overlay.peer),
                port: port.port,
            },
            application: port.to,
            is_configured: port.to.is_some(),
            listens: port.listen.is_some(),
            outgoing: Outgoing::default(),
        })
    }

    /// Has the kernel drop datagrams of others than the application, where only its answers are carried.
    fn connect(&self, port: &UdpPort) -> Result<(), (SocketAddr, io::Error)> {
        let (None, Some(to)) = (port.listen, port.to) else {
            return Ok(());
        };
        // Members of a group answer from their own addresses.
        if to.ip().is_multicast() {
            return Ok(());
        }
        // Without a route yet, the node itself refuses the datagrams of others.
        self.socket.connect(to).or_else(|error| match error.kind() {
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => Ok(()),
            _ => Err((to, error)),
        })
    }

    /// Whether a datagram of `from` is carried; the peer's then go there, unless the file states
    /// otherwise.
    fn admits(&mut self, from: SocketAddr) -> bool {
        if !self.listens {
            let is_group = self.application.is_some_and(|to| to.ip().is_multicast());
            return is_group || self.application == Some(from);
        }
        if !self.is_configured {
            self.application = Some(from);
        }
        true
    }

    fn flush(&mut self) -> SendCounts {
        match self.application {
            Some(to) if !self.outgoing.is_empty() => self.outgoing.flush(&self.socket, to),
            _ => SendCounts::default(),
        }
    }
}

impl PacketAddresses {
    /// Whether a datagram of the peer is for the port with these addresses.
    fn are_met_by(&self, datagram: &PeerDatagram) -> bool {
        (datagram.source, datagram.destination, datagram.port)
            == (self.destination, self.source, self.port)
    }
}

impl TunStats {
    fn count_sent(&mut self, sent: SendCounts) {
        let bytes = sent.bytes + HEADERS * sent.datagrams;
        self.to_applications.packets += sent.datagrams as u64;
        self.to_applications.bytes += bytes as u64;
        self.refused += sent.unsent as u64;
    }
}

/// Logs the first datagram of the peer that no UDP port is for.
fn log_mismatch(datagram: &PeerDatagram) {
    let (port, address) = (datagram.port, datagram.destination);
    tracing::warn!(
        port,
        %address,
        "a datagram of the peer is for no UDP port of this node: both nodes need the same `port`, and `overlay` \
         if one of them has a TUN device (further ones are only counted)"
    );
}

/// Appends a packet to `packets`, in fragments if it is longer than `mtu` bytes.
fn push(packet: Bytes, mtu: u16, packets: &mut VecDeque<Bytes>) {
    if packet.len() > usize::from(mtu)
        && let Some(fragments) = fragment::split(&packet, mtu)
    {
        packets.extend(fragments);
    } else {
        packets.push_back(packet);
    }
}

/// The unspecified address and port of the family of `to`: of the loopback interface, if that is.
fn unspecified_like(to: Option<SocketAddr>) -> SocketAddr {
    let own = to.map(|to| to.ip()).filter(IpAddr::is_loopback);
    (own.unwrap_or_else(|| unspecified(to)), 0).into()
}

#[cfg(test)]
mod tests;
