//! The traffic class of a path's datagrams: one for each call that sends, by ancillary data
//! (`IP_TOS`, `IPV6_TCLASS`).

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, sendmsg, setsockopt,
};
use polypath_core::packet::{Dscp, Ecn, TrafficClass};

use super::PathSocket;

/// The fields of the traffic class that a datagram has of the packet in it, or of the datagram that
/// a relay forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopiedFields {
    /// Whether it has the DSCP.
    pub(crate) dscp: bool,
    /// Whether it has the ECN field; otherwise it is not ECN-capable (the compatibility mode of RFC
    /// 6040, section 4.3).
    pub(crate) ecn: bool,
}

impl CopiedFields {
    /// The traffic class of a datagram with these fields of `of`.
    #[must_use]
    pub(crate) const fn of(self, of: TrafficClass) -> TrafficClass {
        TrafficClass {
            dscp: if self.dscp { of.dscp } else { Dscp::DEFAULT },
            ecn: if self.ecn { of.ecn } else { Ecn::NotEct },
        }
    }
}

/// Has `socket` receive the traffic class of each datagram.
pub(super) fn receive(socket: &impl AsFd, is_v4: bool) -> nix::Result<()> {
    if is_v4 {
        setsockopt(socket, IpRecvTos, &true)
    } else {
        setsockopt(socket, Ipv6RecvTClass, &true)
    }
}

impl PathSocket {
    /// Sends `datagrams` to `to` in one call with this traffic class, and with `segments` by GSO.
    ///
    /// Without the DSCP if the system refuses it, and then without the ECN field: a firewall may
    /// forbid a class, and a kernel may not know the ancillary data.
    pub(super) fn send_with(
        &self,
        datagrams: &[IoSlice<'_>],
        segments: Option<ControlMessage<'_>>,
        traffic_class: TrafficClass,
        to: SocketAddr,
    ) -> io::Result<()> {
        let address = SockaddrStorage::from(to);
        let send = |control: &[ControlMessage<'_>]| {
            let fd = self.socket.as_raw_fd();
            sendmsg(fd, datagrams, control, MsgFlags::empty(), Some(&address)).map(|_| ())
        };
        let unmarked = || send(segments.as_slice());
        if traffic_class.is_default() {
            return Ok(unmarked()?);
        }
        let tos = traffic_class.byte();
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
                tracing::debug!(
                    tos,
                    "the system refuses the DSCP or the ECN field of a datagram"
                );
                if traffic_class.dscp.is_default() {
                    return Ok(unmarked()?);
                }
                let without = TrafficClass {
                    dscp: Dscp::DEFAULT,
                    ..traffic_class
                };
                self.send_with(datagrams, segments, without, to)
            }
            outcome => Ok(outcome?),
        }
    }
}

/// The traffic class in ancillary data of a received datagram.
pub(super) fn received(control: &ControlMessageOwned) -> Option<TrafficClass> {
    let byte = match control {
        ControlMessageOwned::Ipv4Tos(tos) => *tos,
        ControlMessageOwned::Ipv6TClass(class) => u8::try_from(*class).ok()?,
        _ => return None,
    };
    Some(TrafficClass::of_byte(byte))
}

#[cfg(test)]
pub(crate) mod tests;
