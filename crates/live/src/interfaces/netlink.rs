//! rtnetlink (`man 7 rtnetlink`): reading the state of interfaces, and notifications that it
//! changes.
//!
//! A notification only causes a reading of the whole state: the kernel does not report every change
//! (as routes removed with their interface), and drops notifications when the socket buffer is
//! full. Neither reading nor listening needs privileges.

use std::cell::RefCell;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::route::RouteMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::{TimeVal, TimeValLike};

use super::log;
use super::network::Network;
use decode::Decode;

mod decode;
mod next_hop;

/// The receive buffer in bytes, larger than any datagram of a dump.
const BUFFER: usize = 64 << 10;
/// The receive timeout in seconds; the kernel normally answers immediately.
const RECEIVE_TIMEOUT: i64 = 2;
/// The number of attempts to read the state, which fail if it changes during the dump.
const ATTEMPTS: u32 = 3;
/// The multicast groups of notifications.
const GROUPS: [u32; 3] = [
    libc::RTNLGRP_LINK,
    libc::RTNLGRP_IPV4_IFADDR,
    libc::RTNLGRP_IPV6_IFADDR,
];
/// The groups of routes, joined only where routes matter, as there may be many.
const ROUTE_GROUPS: [u32; 2] = [libc::RTNLGRP_IPV4_ROUTE, libc::RTNLGRP_IPV6_ROUTE];

/// A socket for notifications of changes, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
}

impl Listener {
    /// Listens for changes of interfaces and addresses, and of routes if `routes`.
    pub(crate) fn new(routes: bool) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        for group in ROUTE_GROUPS.into_iter().filter(|_| routes) {
            socket.add_membership(group)?;
        }
        socket.set_non_blocking(true)?;
        Ok(Self { socket })
    }

    /// Receives all pending notifications and returns whether there were any, including lost ones.
    pub(crate) fn receive(&self) -> io::Result<bool> {
        let mut changed = false;
        // Truncation does not matter: the content is not used.
        let mut space = [0; 256];
        loop {
            match self.socket.recv(&mut &mut space[..], 0) {
                Ok(_) => changed = true,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => changed = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(changed),
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Reads the state of the network namespace of the calling thread, with the routes to any of
/// `targets`.
///
/// # Errors
/// The kernel refuses, or the state changes during the dump, three times in a row.
pub(crate) fn read(targets: &[IpAddr]) -> io::Result<Network> {
    retry(|| read_once(targets))
}

/// The first success of `ask`, or its last error.
fn retry<T>(mut ask: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempts = 1..ATTEMPTS;
    loop {
        match ask() {
            Err(error) if attempts.next().is_some() => {
                log::read_again(&error);
            }
            result => return result,
        }
    }
}

fn read_once(targets: &[IpAddr]) -> io::Result<Network> {
    let mut network = Network::default();
    let mut dump = |request| {
        exchange(request, NLM_F_DUMP, |kind, message| {
            network.decode(kind, message, targets);
        })
    };
    dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
    if !targets.is_empty() {
        dump(RouteNetlinkMessage::GetRoute(RouteMessage::default()))?;
    }
    Ok(network)
}

/// Sets the alias of interface `name`; this needs `CAP_NET_ADMIN`.
pub(crate) fn set_alias(name: &str, alias: &str) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = if_nametoindex(name)?;
    let alias = LinkAttribute::IfAlias(alias.to_owned());
    message.attributes.push(alias);
    let request = RouteNetlinkMessage::SetLink(message);
    exchange(request, NLM_F_ACK, |_, _| ())
}

/// Sends `request` to the kernel on a connection of its own; see [`Connection::exchange`].
fn exchange(
    request: RouteNetlinkMessage,
    flags: u16,
    visit: impl FnMut(u16, &[u8]),
) -> io::Result<()> {
    Connection::open()?.exchange(request, flags, visit)
}

/// A connection to the kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    /// One datagram of an answer. Its type also keeps two threads from mixing their answers.
    space: RefCell<Vec<u8>>,
}

impl Connection {
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(RECEIVE_TIMEOUT))?;
        socket.bind_auto()?;
        // A connected socket receives from the kernel only.
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            space: RefCell::new(vec![0; BUFFER]),
        })
    }

    /// Sends `request` and passes each message of the answer, with its type, to `visit`.
    ///
    /// # Errors
    /// The kernel refuses the request, or does not answer.
    fn exchange(
        &self,
        request: RouteNetlinkMessage,
        flags: u16,
        mut visit: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(request));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut space = self.space.borrow_mut();
        loop {
            let len = match self.socket.recv(&mut &mut space[..], 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                received => received?,
            };
            if visit_all(&space[..len], &mut visit)? {
                return Ok(());
            }
        }
    }
}

/// Passes the messages of a part of an answer to `visit` and returns whether it was the last part.
fn visit_all(mut part: &[u8], visit: &mut impl FnMut(u16, &[u8])) -> io::Result<bool> {
    /// The alignment of messages in bytes (`NLMSG_ALIGNTO`).
    const ALIGNMENT: usize = 4;
    while !part.is_empty() {
        let message = NetlinkBuffer::new_checked(part)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        match i32::from(message.message_type()) {
            // The state changed during the dump, which may then lack unchanged entries, too.
            _ if message.flags() & NLM_F_DUMP_INTR != 0 => {
                return Err(io::Error::new(
                    io::ErrorKind::Interrupted,
                    "the state changed during the dump",
                ));
            }
            libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                return outcome(message.payload()).map(|()| true);
            }
            _ => visit(message.message_type(), message.payload()),
        }
        let len = (message.length() as usize).next_multiple_of(ALIGNMENT);
        part = part.get(len..).unwrap_or_default();
    }
    Ok(false)
}

/// The result with which the kernel ends an answer.
fn outcome(payload: &[u8]) -> io::Result<()> {
    let code = payload
        .first_chunk()
        .map_or(-libc::EIO, |code| i32::from_ne_bytes(*code));
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

#[cfg(test)]
mod tests;
