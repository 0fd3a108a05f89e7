//! Segmentation offload: many packets of a flow pass the TUN device in one call.
//!
//! The kernel delivers what TCP, or UDP with `UDP_SEGMENT`, sends at once as one packet of up to 64
//! kB with a header that states how to split it ([`split`]); received packets are merged the same
//! way ([`merge`]) if no information is lost. Policies and the combiner see single packets, as
//! without offload.
//!
//! tun-rs 2.8 splits 3 % faster with AVX2 and merges 1.8 times slower (`benches/libraries.rs`), and
//! its merging loses information: it sorts segments, lets data overtake a pure ACK, and drops
//! window updates and IPv4 identifications, while duplicate ACKs and their order are what some
//! policies act on.
//!
//! Split packets leave as a burst: a node that spaces packets or compares paths does not use
//! offload.

pub(super) mod checksum;
pub mod merge;
pub mod split;

mod headers;

/// The length of the header before each packet (`struct virtio_net_hdr`), in bytes.
pub const HEADER_LEN: usize = 10;

/// The length of the longest packet with its header, in bytes.
pub const MAX_LEN: usize = HEADER_LEN + 65_535;

const NEEDS_CHECKSUM: u8 = 1;
/// CWR is set in the first segment only, as it always is here.
const ECN: u8 = 0x80;

/// The header before a packet (`struct virtio_net_hdr`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtioHeader {
    /// Whether the checksum at `checksum_start` + `checksum_offset` covers the pseudo-header only.
    pub needs_checksum: bool,
    /// The kind of segmentation.
    pub kind: GsoType,
    /// The length of all headers in bytes; a hint.
    pub headers_len: u16,
    /// The payload of each segment but the last, in bytes.
    pub segment: u16,
    /// The offset of the transport header.
    pub checksum_start: u16,
    /// The offset of the checksum in the transport header.
    pub checksum_offset: u16,
}

/// The kind of segmentation (`gso_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GsoType {
    /// No segmentation.
    #[default]
    None,
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over either version of IP.
    Udp,
}

/// The kernel's header, or the packet behind it, is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the packet cannot be split as its header states")]
pub struct InvalidHeader;

impl VirtioHeader {
    /// Reads the header in front of a packet.
    ///
    /// # Errors
    /// If it states a segmentation that was not offered.
    pub fn decode(bytes: &[u8; HEADER_LEN]) -> Result<Self, InvalidHeader> {
        let [flags, kind, rest @ ..] = *bytes;
        let number = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
        Ok(Self {
            needs_checksum: flags & NEEDS_CHECKSUM != 0,
            kind: match kind & !ECN {
                0 => GsoType::None,
                1 => GsoType::Tcp4,
                4 => GsoType::Tcp6,
                5 => GsoType::Udp,
                _ => return Err(InvalidHeader),
            },
            headers_len: number(0),
            segment: number(2),
            checksum_start: number(4),
            checksum_offset: number(6),
        })
    }

    /// The header in the kernel's format.
    #[must_use]
    pub fn encode(self) -> [u8; HEADER_LEN] {
        let flags = if self.needs_checksum {
            NEEDS_CHECKSUM
        } else {
            0
        };
        let kind = match self.kind {
            GsoType::None => 0,
            GsoType::Tcp4 => 1,
            GsoType::Tcp6 => 4,
            GsoType::Udp => 5,
        };
        let mut bytes = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let numbers = [
            self.headers_len,
            self.segment,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (at, number) in bytes[2..].chunks_exact_mut(2).zip(numbers) {
            at.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
