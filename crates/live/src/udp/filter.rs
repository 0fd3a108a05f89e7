//! The kernel's filter of a path's socket during a flood (classic BPF, `SO_ATTACH_FILTER` in
//! `socket(7)`).
//!
//! Datagrams from the address of a peer pass. So do handshake initiations and cookie replies from any
//! address, or a share of them during a flood of handshakes, and datagrams that name a key index of
//! this end, since the peer may have moved. A host with several addresses may answer from another one
//! than that to which an initiation was sent: its response names the index of that. GRO merges
//! datagrams of one source only, so that none of the peer's is dropped with the junk.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use nix::libc::{self, sock_filter};
use polypath_session::datagram::{
    COOKIE_REPLY, COOKIE_REPLY_LEN, INITIATION, INITIATION_LEN, RECEIVER_OFFSET, RESPONSE,
    RESPONSE_LEN, TRANSPORT, TYPE_BITS,
};
use socket2::{SockFilter, SockRef};

use super::PathSocket;

/// The length of the UDP header in bytes, with which the filter's view starts.
const UDP: u32 = 8;
/// The most key indices in a filter; a session has at most five, and a relay two sessions.
const MAX_KEYS: usize = 32;

/// The handshake initiations and cookie replies that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshakes {
    /// All: the session bounds their cost.
    All,
    /// One in this number, chosen at random; a power of two.
    OneIn(u32),
}

/// The datagrams that pass to a socket, in addition to initiations and cookie replies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admitted {
    /// The address of the peer or of the relay; at a relay, those of the nodes.
    pub peers: Vec<SocketAddr>,
    /// The key indices of this end.
    pub keys: Vec<u32>,
    /// The index of its pending initiation.
    pub pending: Option<u32>,
}

impl PathSocket {
    /// Drops all datagrams but those of `admitted` and `handshakes` in the kernel from now on.
    pub fn attach_filter(&self, admitted: &Admitted, handshakes: Handshakes) -> io::Result<()> {
        let program = admitted.program(handshakes);
        let instructions: Vec<SockFilter> = program
            .iter()
            .map(|step| SockFilter::new(step.code, step.jt, step.jf, step.k))
            .collect();
        SockRef::from(&self.socket).attach_filter(&instructions)
    }

    /// Passes all datagrams again.
    pub fn detach_filter(&self) -> io::Result<()> {
        SockRef::from(&self.socket).detach_filter()
    }

    /// The number of datagrams that the kernel has dropped at this socket, by a filter or because
    /// its buffer was full; modulo 2^32.
    #[expect(
        unsafe_code,
        reason = "no library here reads what a socket has dropped"
    )]
    pub fn kernel_drops(&self) -> io::Result<u32> {
        let mut info = [0_u32; libc::SK_MEMINFO_DROPS as usize + 1];
        let mut len = libc::socklen_t::try_from(size_of_val(&info)).unwrap_or(0);
        // SAFETY: the kernel writes at most `len` bytes, which `info` has, and keeps no pointer.
        let status = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                info.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(info[libc::SK_MEMINFO_DROPS as usize])
    }
}

impl Admitted {
    fn program(&self, handshakes: Handshakes) -> Vec<sock_filter> {
        let mut program = Vec::new();
        for peer in &self.peers {
            pass_from(*peer, &mut program);
        }
        program.push(load(libc::BPF_B, UDP));
        for (kind, len) in [
            (INITIATION, INITIATION_LEN),
            (COOKIE_REPLY, COOKIE_REPLY_LEN),
        ] {
            pass_handshake(kind, len, handshakes, &mut program);
        }
        pass_response(self.pending, &mut program);
        // The other bits of the byte of a transport datagram are those of the path.
        program.push(and((1 << TYPE_BITS) - 1));
        program.extend([jump_unless(TRANSPORT.into(), 1), jump(1), refuse()]);
        program.push(load_receiver());
        for key in self.keys.iter().take(MAX_KEYS) {
            program.extend(pass_if(*key));
        }
        program.push(refuse());
        program
    }
}

/// Passes datagrams from `peer`.
fn pass_from(peer: SocketAddr, program: &mut Vec<sock_filter>) {
    // RFC 791, section 3.1; RFC 8200, section 3.
    let (at, octets) = match peer.ip() {
        IpAddr::V4(ip) => (12, ip.octets().to_vec()),
        IpAddr::V6(ip) => (8, ip.octets().to_vec()),
    };
    let network = libc::SKF_NET_OFF.cast_unsigned();
    let words = octets.chunks_exact(4).zip((at..).step_by(4));
    let mut checks = vec![(load(libc::BPF_H, 0), u32::from(peer.port()))];
    checks.extend(words.map(|(word, at)| {
        let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        (load(libc::BPF_W, network.wrapping_add(at)), word)
    }));
    let mut left = checks.len();
    for (load, expected) in checks {
        left -= 1;
        // Skips the remaining checks and the pass behind them.
        let beyond = u8::try_from(2 * left + 1).unwrap_or(u8::MAX);
        program.extend([load, jump_unless(expected, beyond)]);
    }
    program.push(pass());
}

/// Passes datagrams of a type that have the right length; the type is loaded.
fn pass_handshake(kind: u8, len: usize, handshakes: Handshakes, program: &mut Vec<sock_filter>) {
    let mut checks = vec![load_len(), jump_unless(udp_len(len), 1), jump(1), refuse()];
    if let Handshakes::OneIn(share) = handshakes {
        let random = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM).cast_unsigned();
        let any_bit = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
        checks.push(load(libc::BPF_W, random));
        checks.extend([instruction(any_bit, 0, 1, share - 1), refuse()]);
    }
    checks.push(pass());
    let beyond = u8::try_from(checks.len()).unwrap_or(u8::MAX);
    program.push(jump_unless(kind.into(), beyond));
    program.extend(checks);
}

/// Passes the response to the initiation `pending`; the type is loaded.
fn pass_response(pending: Option<u32>, program: &mut Vec<sock_filter>) {
    let mut checks = Vec::new();
    if let Some(index) = pending {
        let len = udp_len(RESPONSE_LEN);
        checks.extend([load_len(), jump_unless(len, 3), load_receiver()]);
        checks.extend(pass_if(index));
    }
    checks.push(refuse());
    let beyond = u8::try_from(checks.len()).unwrap_or(u8::MAX);
    program.push(jump_unless(RESPONSE.into(), beyond));
    program.extend(checks);
}

/// Loads the index of the receiver.
fn load_receiver() -> sock_filter {
    let receiver = u32::try_from(RECEIVER_OFFSET).unwrap_or(0);
    load(libc::BPF_W, UDP + receiver)
}

/// The length of a datagram with its UDP header.
fn udp_len(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(0) + UDP
}

/// Loads the length of the datagram with its UDP header.
fn load_len() -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0, 0)
}

/// Loads `size` at `offset`; refuses a datagram that is too short.
fn load(size: u32, offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, offset)
}

/// Clears the bits of the loaded value that are not in `mask`.
fn and(mask: u32) -> sock_filter {
    instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask)
}

/// Passes if the loaded value is `value`.
fn pass_if(value: u32) -> [sock_filter; 2] {
    [jump_unless(value, 1), pass()]
}

/// Skips `count` instructions unless the loaded value is `value`.
fn jump_unless(value: u32, count: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, count, value)
}

fn jump(count: u32) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JA, 0, 0, count)
}

fn pass() -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX)
}

fn refuse() -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0)
}

fn instruction(code: u32, then: u8, otherwise: u8, k: u32) -> sock_filter {
    sock_filter {
        code: u16::try_from(code).unwrap_or(0),
        jt: then,
        jf: otherwise,
        k,
    }
}

#[cfg(test)]
mod tests;
