//! rtnetlink (`man 7 rtnetlink`): what there is, and the word that something has changed.
//!
//! What changed is not told from the notifications, but read anew: the kernel leaves out some (routes that go with
//! their interface), and drops any when nobody reads for a while. Neither needs a privilege.

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

use super::network::Network;
use decode::Decode;

mod decode;

/// As long as the kernel's longest part of an answer, and more.
const BUFFER: usize = 64 << 10;
/// How long an answer may take, in seconds; the kernel gives it while it is asked for.
const PATIENCE: i64 = 2;
/// How often it is read what there is, where that changes meanwhile or the kernel cannot say it all.
const ATTEMPTS: u32 = 3;
/// What is listened to; routes only where they matter, as there may be many.
const GROUPS: [u32; 3] = [
    libc::RTNLGRP_LINK,
    libc::RTNLGRP_IPV4_IFADDR,
    libc::RTNLGRP_IPV6_IFADDR,
];
const ROUTE_GROUPS: [u32; 2] = [libc::RTNLGRP_IPV4_ROUTE, libc::RTNLGRP_IPV6_ROUTE];

/// Hears that something has changed, in the network namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
}

impl Listener {
    /// Listens to changes of interfaces and addresses, and with `routes` of routes.
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

    /// Takes all that waits, and says whether anything did; what was lost for want of room counts.
    pub(crate) fn hear(&self) -> io::Result<bool> {
        let mut heard = false;
        // What does not fit is cut, and says as much.
        let mut space = [0; 256];
        loop {
            match self.socket.recv(&mut &mut space[..], 0) {
                Ok(_) => heard = true,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => heard = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(heard),
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

/// What there is in the network namespace of the calling thread; of the routes, those that lead to one of `towards`.
///
/// # Errors
/// Where the kernel does not say all of it, three times in a row: it refuses to, or things change while they are listed.
pub(crate) fn read(towards: &[IpAddr]) -> io::Result<Network> {
    persist(|| read_once(towards))
}

/// What `ask` finds once it succeeds; its last error, if it never does.
fn persist<T>(mut ask: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempts = 1..ATTEMPTS;
    loop {
        match ask() {
            Err(error) if attempts.next().is_some() => {
                tracing::debug!(%error, "the kernel is asked again what there is");
            }
            done => return done,
        }
    }
}

fn read_once(towards: &[IpAddr]) -> io::Result<Network> {
    let mut network = Network::default();
    let mut ask = |question| {
        exchange(question, NLM_F_DUMP, |kind, message| {
            network.decode(kind, message, towards);
        })
    };
    ask(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    ask(RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
    if !towards.is_empty() {
        ask(RouteNetlinkMessage::GetRoute(RouteMessage::default()))?;
    }
    Ok(network)
}

/// Notes `alias` beside the name of interface `name`; that takes `CAP_NET_ADMIN`.
pub(crate) fn note(name: &str, alias: &str) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = if_nametoindex(name)?;
    let alias = LinkAttribute::IfAlias(alias.to_owned());
    message.attributes.push(alias);
    let request = RouteNetlinkMessage::SetLink(message);
    exchange(request, NLM_F_ACK, |_, _| ())
}

/// Sends `request` to the kernel, and hands each message of the answer, with its type, to `take`.
fn exchange(
    request: RouteNetlinkMessage,
    flags: u16,
    mut take: impl FnMut(u16, &[u8]),
) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(request));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(PATIENCE))?;
    socket.bind_auto()?;
    // Then the kernel alone is heard.
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let mut space = vec![0; BUFFER];
    loop {
        let len = match socket.recv(&mut &mut space[..], 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            received => received?,
        };
        if take_all(&space[..len], &mut take)? {
            return Ok(());
        }
    }
}

/// Hands the messages of a part of an answer to `take`; whether it was the last part.
fn take_all(mut part: &[u8], take: &mut impl FnMut(u16, &[u8])) -> io::Result<bool> {
    /// Lengths are rounded up to this (`NLMSG_ALIGNTO`), in bytes.
    const ALIGNMENT: usize = 4;
    while !part.is_empty() {
        let message = NetlinkBuffer::new_checked(part)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        match i32::from(message.message_type()) {
            // Something came or went meanwhile: what is listed may lack others that were there all the time.
            _ if message.flags() & NLM_F_DUMP_INTR != 0 => {
                return Err(io::Error::new(
                    io::ErrorKind::Interrupted,
                    "it changes while it is listed",
                ));
            }
            libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                return outcome(message.payload()).map(|()| true);
            }
            _ => take(message.message_type(), message.payload()),
        }
        let len = (message.length() as usize).next_multiple_of(ALIGNMENT);
        part = part.get(len..).unwrap_or_default();
    }
    Ok(false)
}

/// The error with which the kernel ends an answer, if it is one.
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
