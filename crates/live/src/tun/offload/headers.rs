//! The headers of packets that can be split and merged.

use super::{GsoType, checksum};

const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;
const TCP_LEN: usize = 20;
const UDP_LEN: usize = 8;

/// Offset of the sequence number in a TCP header.
pub(super) const SEQUENCE: usize = 4;
/// Offset of the flags in a TCP header.
pub(super) const FLAGS: usize = 13;
pub(super) const FIN: u8 = 0x01;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;
pub(super) const CWR: u8 = 0x80;

/// The headers of a packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) is_v4: bool,
    pub(super) is_tcp: bool,
    /// Length of the IP header in bytes.
    pub(super) ip: usize,
    /// Length of both headers in bytes.
    pub(super) all: usize,
}

impl Headers {
    /// The headers of `packet`, if it is a complete TCP or UDP packet, unfragmented and without
    /// IPv6 extensions.
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        let (is_v4, ip, protocol) = match packet.first()? >> 4 {
            4 => {
                let words = usize::from(packet[0] & 0xf);
                let is_fragment = *packet.get(6)? & 0x3f != 0 || *packet.get(7)? != 0;
                let (len, fits) = (words * 4, words * 4 >= IPV4_LEN);
                (!is_fragment && fits).then_some((true, len, *packet.get(9)?))?
            }
            6 => (false, IPV6_LEN, *packet.get(6)?),
            _ => return None,
        };
        let transport = packet.get(ip..)?;
        let (is_tcp, len) = match protocol {
            TCP => (true, usize::from(*transport.get(12)? >> 4) * 4),
            UDP => (false, UDP_LEN),
            _ => return None,
        };
        let least = if is_tcp { TCP_LEN } else { UDP_LEN };
        let headers = Self {
            is_v4,
            is_tcp,
            ip,
            all: ip + len,
        };
        (len >= least && headers.all <= packet.len()).then_some(headers)
    }

    /// The headers of a packet to be split, whose transport header starts at `ip` by the kernel's
    /// header, behind any IPv6 extensions.
    pub(super) fn at(packet: &[u8], kind: GsoType, ip: usize) -> Option<Self> {
        let is_v4 = packet.first()? >> 4 == 4;
        let is_tcp = kind != GsoType::Udp;
        let min_ip = if is_v4 { IPV4_LEN } else { IPV6_LEN };
        let transport = packet.get(ip..).filter(|_| ip >= min_ip)?;
        let (len, least) = if is_tcp {
            (usize::from(*transport.get(12)? >> 4) * 4, TCP_LEN)
        } else {
            (UDP_LEN, UDP_LEN)
        };
        let headers = Self {
            is_v4,
            is_tcp,
            ip,
            all: ip + len,
        };
        let fits = len >= least && headers.all <= packet.len();
        (fits && headers.kind() == kind).then_some(headers)
    }

    pub(super) const fn kind(self) -> GsoType {
        match (self.is_tcp, self.is_v4) {
            (true, true) => GsoType::Tcp4,
            (true, false) => GsoType::Tcp6,
            (false, _) => GsoType::Udp,
        }
    }

    /// The offset of the checksum in the transport header.
    pub(super) const fn checksum_offset(self) -> usize {
        if self.is_tcp { 16 } else { 6 }
    }

    /// The length that the packet's headers state, in bytes.
    pub(super) fn stated_len(self, packet: &[u8]) -> usize {
        let at = if self.is_v4 { 2 } else { 4 };
        let stated = usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
        if self.is_v4 {
            stated
        } else {
            stated + IPV6_LEN
        }
    }

    /// Writes the length of the packet into its headers, and the checksum of an IPv4 header.
    pub(super) fn set_len(self, packet: &mut [u8], len: usize) {
        let short = |len: usize| u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
        if self.is_v4 {
            packet[2..4].copy_from_slice(&short(len));
            packet[10..12].fill(0);
            let sum = checksum::complement(checksum::add(0, &packet[..self.ip]));
            packet[10..12].copy_from_slice(&sum);
        } else {
            packet[4..6].copy_from_slice(&short(len - IPV6_LEN));
        }
        if !self.is_tcp {
            packet[self.ip + 4..self.ip + 6].copy_from_slice(&short(len - self.ip));
        }
    }

    /// The sum of the pseudo-header of a packet of `len` bytes (RFC 9293, section 3.1; RFC 768).
    pub(super) fn pseudo_sum(self, packet: &[u8], len: usize) -> u64 {
        let addresses = if self.is_v4 { 12..20 } else { 8..40 };
        let [high, low] = u16::try_from(len - self.ip)
            .unwrap_or(u16::MAX)
            .to_be_bytes();
        let protocol = if self.is_tcp { TCP } else { UDP };
        let sum = checksum::add(0, &packet[addresses]);
        checksum::add(sum, &[0, protocol, high, low])
    }

    /// Writes the transport checksum of a whole packet.
    pub(super) fn set_checksum(self, packet: &mut [u8]) {
        let at = self.ip + self.checksum_offset();
        packet[at..at + 2].fill(0);
        let pseudo = self.pseudo_sum(packet, packet.len());
        let sum = match checksum::complement(checksum::add(pseudo, &packet[self.ip..])) {
            // Zero means no checksum.
            [0, 0] if !self.is_tcp => [0xff, 0xff],
            sum => sum,
        };
        packet[at..at + 2].copy_from_slice(&sum);
    }

    /// Whether the checksums of a whole packet are present and correct.
    pub(super) fn is_intact(self, packet: &[u8]) -> bool {
        let at = self.ip + self.checksum_offset();
        let none = !self.is_tcp && packet[at..at + 2] == [0, 0];
        let pseudo = self.pseudo_sum(packet, packet.len());
        !none
            && (!self.is_v4 || checksum::is_intact(checksum::add(0, &packet[..self.ip])))
            && checksum::is_intact(checksum::add(pseudo, &packet[self.ip..]))
    }
}

/// The 32-bit number at `at`.
pub(super) fn number(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}
