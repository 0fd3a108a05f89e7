//! The DSCP of a path's datagrams: one for each call that sends, by ancillary data (`IP_TOS`,
//! `IPV6_TCLASS`).

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, sendmsg, setsockopt,
};
use polypath_core::packet::Dscp;

use super::PathSocket;

impl PathSocket {
    /// Receives the DSCP of each datagram from now on; without this it is the default.
    pub fn receive_dscp(&self) -> io::Result<()> {
        let set = if self.is_v4() {
            setsockopt(&self.socket, IpRecvTos, &true)
        } else {
            setsockopt(&self.socket, Ipv6RecvTClass, &true)
        };
        Ok(set?)
    }

    /// Sends `datagrams` to `to` in one call with this DSCP, and with `segments` by GSO.
    ///
    /// Without the DSCP if the system refuses it: a firewall may forbid a class, and a kernel may
    /// not know the ancillary data.
    pub(super) fn send_with(
        &self,
        datagrams: &[IoSlice<'_>],
        segments: Option<ControlMessage<'_>>,
        dscp: Dscp,
        to: SocketAddr,
    ) -> io::Result<()> {
        let to = SockaddrStorage::from(to);
        let send = |control: &[ControlMessage<'_>]| {
            let fd = self.socket.as_raw_fd();
            sendmsg(fd, datagrams, control, MsgFlags::empty(), Some(&to)).map(|_| ())
        };
        let unmarked = || send(segments.as_slice());
        if dscp.is_default() {
            return Ok(unmarked()?);
        }
        let tos = dscp.traffic_class();
        let class = i32::from(tos);
        let mark = if self.is_v4() {
            ControlMessage::Ipv4Tos(&tos)
        } else {
            ControlMessage::Ipv6TClass(&class)
        };
        let outcome = match segments {
            Some(segments) => send(&[segments, mark]),
            None => send(&[mark]),
        };
        match outcome {
            Err(Errno::EACCES | Errno::EINVAL | Errno::EOPNOTSUPP | Errno::EPERM) => {
                tracing::debug!(%dscp, "sent without the DSCP, which the system refuses");
                Ok(unmarked()?)
            }
            outcome => Ok(outcome?),
        }
    }
}

/// The DSCP in ancillary data of a received datagram.
pub(super) fn dscp_of(control: &ControlMessageOwned) -> Option<Dscp> {
    let class = match control {
        ControlMessageOwned::Ipv4Tos(tos) => *tos,
        ControlMessageOwned::Ipv6TClass(class) => u8::try_from(*class).ok()?,
        _ => return None,
    };
    Some(Dscp::of_traffic_class(class))
}

#[cfg(test)]
pub(crate) mod tests;
