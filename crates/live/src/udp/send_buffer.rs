//! The part of a socket's send buffer that is in use.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use nix::libc::{self, c_int};
use polypath_session::datagram::COOKIE_REPLY;
use socket2::SockRef;

use super::PathSocket;

impl PathSocket {
    /// Whether `datagram` may be sent to `to` now: a cookie only while at most half of the send
    /// buffer is in use, or if it leaves without delay.
    ///
    /// A cookie goes to an address that nobody has proved. The kernel holds a datagram to a host of
    /// the local network until that host has answered ARP or neighbour discovery, or for 3 s.
    /// Cookies for addresses that a stranger made up would fill the buffer, and nothing else could
    /// be sent; with half of it left, they would still keep all cookies from hosts that exist.
    pub(super) fn admits(&self, datagram: &[u8], to: SocketAddr) -> bool {
        datagram.first() != Some(&COOKIE_REPLY)
            || self.is_of_application
            || self.has_spare_send_buffer()
            || self.leaves_without_delay(to)
    }

    fn leaves_without_delay(&self, to: SocketAddr) -> bool {
        let scope = match to {
            SocketAddr::V6(to) => Some(to.scope_id()).filter(|scope| *scope != 0),
            SocketAddr::V4(_) => None,
        };
        let kernel = self.kernel.as_ref();
        kernel.is_some_and(|kernel| kernel.is_next_hop_known(to.ip(), self.device().or(scope)))
    }

    fn has_spare_send_buffer(&self) -> bool {
        let Ok(size) = SockRef::from(&self.socket).send_buffer_size() else {
            return true;
        };
        let in_use = self.queued_bytes().unwrap_or(0);
        in_use <= size / 2
    }

    /// The memory of datagrams that have not left yet, in bytes (`SIOCOUTQ`).
    #[expect(unsafe_code, reason = "no library here asks for the queue of a socket")]
    fn queued_bytes(&self) -> io::Result<usize> {
        let mut queued: c_int = 0;
        let fd = self.socket.as_raw_fd();
        // SAFETY: the call writes one `c_int`, which outlives it, and keeps no pointer; the
        // descriptor is open. The kernel gives SIOCOUTQ the number of TIOCOUTQ.
        if unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut queued) } != 0 {
            return Err(io::Error::last_os_error());
        }
        usize::try_from(queued).map_err(io::Error::other)
    }
}
