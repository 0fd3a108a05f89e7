//! The socket of a path: datagrams, each with the time at which the kernel received it.
//!
//! With GSO and GRO, datagrams of one length are sent and received in one call ([`batch`]): they
//! leave as a burst and share one receive time, which the comparison of paths does not permit; spaced
//! packets leave one by one all the same. All datagrams of a call have one traffic class: GSO gives them the same, and the
//! kernel merges none with different ones. ECN-capable datagrams are sent one by one, since a queue
//! of this host marks a call as a whole. So a mark does not spread to other datagrams.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimestampns, UdpGroSegment};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt,
};
use nix::sys::time::TimeSpec;
use polypath_core::frame::{OVER_IPV4, OVER_IPV6};
use polypath_core::packet::TrafficClass;
use polypath_core::time::Time;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::clock::Clock;
use crate::config::PathConfig;
use crate::interfaces::netlink::Connection;

pub mod batch;
pub mod filter;

mod dont_fragment;
pub(crate) mod flood;
mod interface;
mod send_buffer;
pub(crate) mod traffic_class;

/// The receive buffer in bytes: 30 ms at 1 Gbit/s.
const RECEIVE_BUFFER: usize = 4 << 20;
/// The send buffer in bytes.
const SEND_BUFFER: usize = 1 << 20;

/// The index of an interface that never exists: the kernel counts from 1.
pub(crate) const NO_INTERFACE: u32 = i32::MAX.cast_unsigned();

/// An error in opening the socket of a path.
#[derive(Debug, thiserror::Error)]
pub enum UdpError {
    /// Another program uses the address.
    #[error(
        "path `{path}`: another program uses {local}; choose another port or stop it (`ss -ulpn`)"
    )]
    InUse {
        /// The path's name.
        path: String,
        /// The address.
        local: SocketAddr,
    },
    /// No interface has the address.
    #[error("path `{path}`: no interface has the address of {local}; see `ip address`")]
    NoAddress {
        /// The path's name.
        path: String,
        /// The address.
        local: SocketAddr,
    },
    /// The interface does not exist.
    #[error("path `{path}`: there is no interface `{interface}`; the interfaces are {known}")]
    NoInterface {
        /// The path's name.
        path: String,
        /// The interface's name.
        interface: String,
        /// The names of the existing interfaces.
        known: String,
    },
    /// Binding to an interface is not permitted.
    #[error(
        "path `{path}`: may not bind to interface `{interface}`; run as root or with CAP_NET_RAW"
    )]
    NotPermitted {
        /// The path's name.
        path: String,
        /// The interface's name.
        interface: String,
    },
    /// Any other error.
    #[error("path `{path}`: cannot open a socket at {local}: {source}")]
    Other {
        /// The path's name.
        path: String,
        /// The address.
        local: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
}

/// A received datagram, or several of one length that GRO merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The length in bytes; that of the buffer if it was longer.
    pub len: usize,
    /// The length of each merged datagram but the last, in bytes; `len` if there is only one.
    pub segment: usize,
    /// The source address.
    pub from: SocketAddr,
    /// The kernel's receive time.
    pub at: Time,
    /// The traffic class of the IP header.
    pub traffic_class: TrafficClass,
}

/// The socket of a path.
#[derive(Debug)]
pub struct PathSocket {
    socket: UdpSocket,
    mtu: u32,
    headers: u32,
    control: Vec<u8>,
    /// Knows which hosts a datagram leaves to without delay; none if the system forbids it.
    kernel: Option<Connection>,
    /// Whether it carries the datagrams of an application, none of which is a cookie.
    is_of_application: bool,
}

impl PathSocket {
    /// Opens the socket of `path`, non-blocking.
    pub fn open(path: &PathConfig) -> Result<Self, UdpError> {
        Self::open_bound(path, bind)
    }

    /// Opens the socket of a `path` whose address no interface has yet: it carries nothing until
    /// one has it.
    pub fn open_early(path: &PathConfig) -> Result<Self, UdpError> {
        if may_use_other_uplink(path) {
            return Self::nowhere(path);
        }
        Self::open_bound(path, |socket, path| {
            let free = match path.local() {
                SocketAddr::V4(_) => socket.set_freebind_v4(true),
                SocketAddr::V6(_) => socket.set_freebind_v6(true),
            };
            free.map_err(|source| UdpError::Other {
                path: path.name.clone(),
                local: path.local(),
                source,
            })?;
            bind(socket, path)
        })
    }

    /// Opens a socket for a `path` whose interface or address does not exist: it is bound to an
    /// interface that never exists, and carries nothing.
    pub(crate) fn nowhere(path: &PathConfig) -> Result<Self, UdpError> {
        Self::open_bound(path, |socket, path| {
            interface::bind_to(socket, NO_INTERFACE).map_err(|source| UdpError::Other {
                path: path.name.clone(),
                local: path.local(),
                source,
            })
        })
    }

    fn open_bound(
        path: &PathConfig,
        bind: impl FnOnce(&Socket, &PathConfig) -> Result<(), UdpError>,
    ) -> Result<Self, UdpError> {
        let other = |source| UdpError::Other {
            path: path.name.clone(),
            local: path.local(),
            source,
        };
        let domain = Domain::for_address(path.local());
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).map_err(other)?;
        if domain == Domain::IPV6 {
            socket.set_only_v6(true).map_err(other)?;
        }
        bind(&socket, path)?;
        enlarge_buffers(&socket).map_err(other)?;
        setsockopt(&socket, ReceiveTimestampns, &true).map_err(|errno| other(errno.into()))?;
        traffic_class::receive(&socket, domain == Domain::IPV4)
            .map_err(|errno| other(errno.into()))?;
        socket.set_nonblocking(true).map_err(other)?;
        Ok(Self {
            mtu: interface::mtu(path.interface.as_deref(), path.local().ip()),
            headers: if path.local().is_ipv4() {
                OVER_IPV4
            } else {
                OVER_IPV6
            },
            socket: socket.into(),
            control: nix::cmsg_space!(TimeSpec, i32, i32),
            kernel: Connection::open().ok(),
            is_of_application: false,
        })
    }

    /// Opens a socket at `local` for the datagrams of an application, non-blocking; `name` is for
    /// messages.
    pub(crate) fn of_application(name: &str, local: SocketAddr) -> Result<Self, UdpError> {
        Ok(Self {
            kernel: None,
            is_of_application: true,
            ..Self::open(&PathConfig::bound_to(name, local))?
        })
    }

    /// Has the kernel drop datagrams of others than `peer`.
    pub(crate) fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        self.socket.connect(peer)
    }

    /// Enables or disables GRO; returns false if the kernel lacks it.
    #[must_use]
    pub fn set_gro(&self, enabled: bool) -> bool {
        setsockopt(&self.socket, UdpGroSegment, &enabled).is_ok()
    }

    /// Binds the socket to the interface of `path`, or to none; keeps its address.
    ///
    /// Without `CAP_NET_RAW` only an unbound socket can be bound (Linux 5.7).
    pub fn rebind(&mut self, path: &PathConfig) -> Result<(), UdpError> {
        let interface = path.interface.as_deref();
        SockRef::from(&self.socket)
            .bind_device(interface.map(str::as_bytes))
            .map_err(|source| interface_error(path, interface.unwrap_or("none"), source))?;
        self.mtu = interface::mtu(interface, path.local().ip());
        Ok(())
    }

    /// The MTU of the path's interface in bytes; that of Ethernet if unknown.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Sets the MTU of the interface in bytes.
    pub(crate) fn set_mtu(&mut self, mtu: u32) {
        self.mtu = mtu;
    }

    pub(crate) fn is_v4(&self) -> bool {
        self.headers == OVER_IPV4
    }

    /// The index of the interface that the socket is bound to, which may no longer exist; none if
    /// unbound.
    pub(crate) fn device(&self) -> Option<u32> {
        interface::bound_to(&self.socket)
    }

    /// The length of the IP and UDP headers of a datagram in bytes.
    #[must_use]
    pub fn headers(&self) -> u32 {
        self.headers
    }

    /// Receives the next datagram into `buffer`; none if none waits.
    pub fn receive(&mut self, buffer: &mut [u8], clock: Clock) -> io::Result<Option<Received>> {
        let mut slices = [io::IoSliceMut::new(buffer)];
        let message = match recvmsg::<SockaddrStorage>(
            self.socket.as_raw_fd(),
            &mut slices,
            Some(&mut self.control),
            MsgFlags::empty(),
        ) {
            Ok(message) => message,
            // An ICMP error about an earlier datagram, or a temporary shortage.
            Err(
                Errno::EAGAIN
                | Errno::EINTR
                | Errno::ECONNREFUSED
                | Errno::EHOSTUNREACH
                | Errno::ENETUNREACH
                | Errno::ENETDOWN
                | Errno::ENOBUFS
                | Errno::ENOMEM,
            ) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let (mut stamp, mut segment) = (None, message.bytes);
        let mut traffic_class = TrafficClass::DEFAULT;
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::ScmTimestampns(at) => stamp = Some(nanoseconds(at)),
                ControlMessageOwned::UdpGroSegments(len) => {
                    segment = usize::try_from(len).unwrap_or(0).clamp(1, segment.max(1));
                }
                control => {
                    traffic_class = traffic_class::received(&control).unwrap_or(traffic_class);
                }
            }
        }
        let from = message.address.as_ref().and_then(address);
        Ok(Some(Received {
            len: message.bytes,
            segment,
            from: from.ok_or(io::ErrorKind::InvalidData)?,
            at: stamp.map_or_else(|| clock.now(), |stamp| clock.at_wall(stamp)),
            traffic_class,
        }))
    }

    /// Sends `datagram` to `to` with this traffic class.
    ///
    /// An error concerns this datagram alone: no route, a full queue, or a cookie withheld.
    pub fn send(
        &self,
        datagram: &[u8],
        traffic_class: TrafficClass,
        to: SocketAddr,
    ) -> io::Result<()> {
        if !self.admits(datagram, to) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if traffic_class.is_default() {
            return self.socket.send_to(datagram, to).map(|_| ());
        }
        self.send_with(&[IoSlice::new(datagram)], None, traffic_class, to)
    }

    /// Sends `datagrams` to `to` in one call by GSO, all with this traffic class: each has `segment` bytes,
    /// the last may be shorter.
    ///
    /// # Errors
    /// As with [`PathSocket::send`], for all of them; or GSO is not possible.
    pub fn send_gso(
        &self,
        datagrams: &[IoSlice<'_>],
        segment: usize,
        traffic_class: TrafficClass,
        to: SocketAddr,
    ) -> io::Result<()> {
        let segment = u16::try_from(segment).map_err(|_| io::ErrorKind::InvalidInput)?;
        let segments = ControlMessage::UdpGsoSegments(&segment);
        self.send_with(datagrams, Some(segments), traffic_class, to)
    }

    /// The address that the socket is bound to.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The address that the socket is bound to, if it is bound.
    pub(crate) fn bound(&self) -> Option<SocketAddr> {
        self.local().ok().filter(|local| local.port() != 0)
    }
}

impl AsFd for PathSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether datagrams of a `path` would leave on another uplink while no interface has its address:
/// over IPv6 the kernel chooses a route without regard to the source address.
pub(crate) fn may_use_other_uplink(path: &PathConfig) -> bool {
    path.local().is_ipv6() && path.interface.is_none()
}

/// The names of the existing interfaces, for a message.
pub(crate) fn interfaces() -> String {
    interface::names()
}

fn bind(socket: &Socket, path: &PathConfig) -> Result<(), UdpError> {
    let (name, local) = (path.name.clone(), path.local());
    if let Some(interface) = &path.interface {
        socket
            .bind_device(Some(interface.as_bytes()))
            .map_err(|source| interface_error(path, interface, source))?;
    }
    socket
        .bind(&local.into())
        .map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => UdpError::InUse { path: name, local },
            io::ErrorKind::AddrNotAvailable => UdpError::NoAddress { path: name, local },
            _ => UdpError::Other {
                path: name,
                local,
                source,
            },
        })
}

fn interface_error(path: &PathConfig, interface: &str, source: io::Error) -> UdpError {
    let (path, local, interface) = (path.name.clone(), path.local(), interface.to_owned());
    match source.raw_os_error() {
        Some(nix::libc::ENODEV) => UdpError::NoInterface {
            path,
            interface,
            known: interface::names(),
        },
        Some(nix::libc::EPERM) => UdpError::NotPermitted { path, interface },
        _ => UdpError::Other {
            path,
            local,
            source,
        },
    }
}

/// Enlarges the buffers, up to the limit of the system without `CAP_NET_ADMIN`.
fn enlarge_buffers(socket: &Socket) -> io::Result<()> {
    enlarge_receive_buffer(socket)?;
    socket.set_send_buffer_size(SEND_BUFFER)
}

/// Enlarges the receive buffer of a UDP socket to 4 MB, or to the limit of the system without
/// `CAP_NET_ADMIN`. Fails if the system refuses both.
pub fn enlarge_receive_buffer(socket: &impl AsFd) -> io::Result<()> {
    if setsockopt(socket, RcvBufForce, &RECEIVE_BUFFER).is_err() {
        SockRef::from(socket).set_recv_buffer_size(RECEIVE_BUFFER)?;
    }
    Ok(())
}

fn nanoseconds(stamp: TimeSpec) -> u64 {
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(stamp.tv_sec()) * 1_000_000_000 + part(stamp.tv_nsec())
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = || {
        storage
            .as_sockaddr_in()
            .map(|v4| SocketAddr::V4((*v4).into()))
    };
    let v6 = || {
        storage
            .as_sockaddr_in6()
            .map(|v6| SocketAddr::V6((*v6).into()))
    };
    v4().or_else(v6)
}

#[cfg(test)]
mod tests;
