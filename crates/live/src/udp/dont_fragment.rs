//! The don't-fragment option of a path's socket.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use nix::libc::{self, c_int};
use polypath_core::packet::TrafficClass;

use super::PathSocket;

/// The maximum length of IPv6 fragments in bytes, the minimum MTU of a link (RFC 8200, section 5).
const MIN_MTU_V6: c_int = 1280;

impl PathSocket {
    /// Sends datagrams with don't-fragment, ignoring MTUs that routers report: datagrams above the
    /// interface's MTU are refused. Cleared, the system fragments datagrams at this end by the
    /// reported MTU.
    pub fn set_dont_fragment(&self, is_set: bool) -> io::Result<()> {
        let (v4, v6) = if is_set {
            (libc::IP_PMTUDISC_PROBE, libc::IPV6_PMTUDISC_PROBE)
        } else {
            (libc::IP_PMTUDISC_WANT, libc::IPV6_PMTUDISC_WANT)
        };
        if self.is_v4() {
            return self.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, v4);
        }
        self.set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, v6)?;
        self.set(libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, is_set.into())
    }

    /// Sends `datagram` to `to` with this traffic class, fragmented if necessary, from a socket with
    /// don't-fragment.
    ///
    /// # Errors
    /// As with [`PathSocket::send`].
    pub fn send_in_fragments(
        &self,
        datagram: &[u8],
        traffic_class: TrafficClass,
        to: SocketAddr,
    ) -> io::Result<()> {
        self.allow_fragments()?;
        let sent = self.send(datagram, traffic_class, to);
        if !self.is_v4() {
            self.set(libc::IPPROTO_IPV6, libc::IPV6_MTU, 0)?;
        }
        self.set_dont_fragment(true)?;
        sent
    }

    fn allow_fragments(&self) -> io::Result<()> {
        if self.is_v4() {
            let dont = libc::IP_PMTUDISC_DONT;
            return self.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, dont);
        }
        self.set_dont_fragment(false)?;
        self.set(libc::IPPROTO_IPV6, libc::IPV6_MTU, MIN_MTU_V6)
    }

    #[expect(unsafe_code, reason = "no library here has these socket options")]
    fn set(&self, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
        let len = libc::socklen_t::try_from(mem::size_of_val(&value)).map_err(io::Error::other)?;
        let fd = self.socket.as_raw_fd();
        // SAFETY: the call reads one `c_int`, which outlives it, and keeps no pointer; the
        // descriptor is open.
        let done = unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), len) };
        if done == 0 {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::config::PathConfig;
    use polypath_core::tariff::Tariff;
    use std::io::Write;
    use std::net::UdpSocket;
    use std::thread::sleep;
    use std::time::Duration;

    #[expect(unsafe_code, reason = "no library here has these socket options")]
    fn option(socket: &PathSocket, level: c_int, option: c_int) -> c_int {
        let mut value = -1;
        let mut len = libc::socklen_t::try_from(mem::size_of_val(&value)).unwrap();
        let fd = socket.socket.as_raw_fd();
        // SAFETY: the call writes one `c_int` and its length, which outlive it, and keeps no
        // pointer; the descriptor is open.
        let done =
            unsafe { libc::getsockopt(fd, level, option, (&raw mut value).cast(), &raw mut len) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
        value
    }

    /// The mode of path MTU discovery, and whether datagrams that need fragments are refused.
    fn mode(socket: &PathSocket) -> (c_int, bool) {
        if socket.is_v4() {
            let mode = option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
            return (mode, mode == libc::IP_PMTUDISC_PROBE);
        }
        (
            option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
            option(socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG) == 1,
        )
    }

    #[test]
    fn the_option_is_cleared_only_for_a_fragmented_datagram() {
        // The numbers are the same for IPv6.
        let dont_fragment = (libc::IP_PMTUDISC_PROBE, true);
        let default = (libc::IP_PMTUDISC_WANT, false);
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let path = PathConfig {
                tariff: Tariff::default(),
                name: "test".to_owned(),
                local: Some(local.parse().unwrap()),
                remote: None,
                relay: None,
                interface: None,
                copy_dscp: true,
                copy_ecn: true,
            };
            let mut socket = match PathSocket::open(&path) {
                Ok(socket) => socket,
                Err(error) if local.starts_with('[') => {
                    // The runner captures what the print macros write.
                    let _ = writeln!(io::stderr(), "skipped without IPv6: {error}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let peer = UdpSocket::bind(local).unwrap();
            let to = peer.local_addr().unwrap();
            assert_eq!(mode(&socket), default);
            socket.set_dont_fragment(true).unwrap();
            assert_eq!(mode(&socket), dont_fragment);
            socket.send(&[1; 2000], TrafficClass::DEFAULT, to).unwrap();
            socket
                .send_in_fragments(&[2; 3000], TrafficClass::of_byte(0xb8), to)
                .unwrap();
            assert_eq!(mode(&socket), dont_fragment);
            socket.send(&[3; 4000], TrafficClass::DEFAULT, to).unwrap();
            socket.allow_fragments().unwrap();
            let (mode_alone, refuses) = mode(&socket);
            assert!(mode_alone != libc::IP_PMTUDISC_PROBE && !refuses);
            socket.set_dont_fragment(false).unwrap();
            assert_eq!(mode(&socket), default);
            sleep(Duration::from_millis(20));
            let mut space = [0; 5000];
            let lens = [0; 3].map(|_| peer.recv(&mut space).unwrap());
            assert_eq!(lens, [2000, 3000, 4000]);
            let none = socket.receive(&mut space, Clock::starting_now()).unwrap();
            assert_eq!(none, None);
        }
    }
}
