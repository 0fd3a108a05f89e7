//! Segmentation offload: many packets of one flow cross the TUN device in one call.
//!
//! The kernel hands over what TCP, or UDP with `UDP_SEGMENT`, sent in one go as one packet of up to 64 kB with a header
//! that says how to split it ([`split`]); what arrives is joined the same way ([`join`]) as far as nothing is lost by it.
//! Between the two every packet is one again, so that policies and the combiner see what they see without offload.
//!
//! What is split leaves at one time: no device that spacing or a comparison of paths depends on has offload.

pub(super) mod checksum;
pub mod join;
pub mod split;

mod headers;

/// Length of the header in front of each packet (`struct virtio_net_hdr`), in bytes.
pub const HEADER_LEN: usize = 10;

/// The longest packet with its header, in bytes.
pub const LONGEST: usize = HEADER_LEN + 65_535;

const NEEDS_CHECKSUM: u8 = 1;
/// Only the first packet has CWR, which is so in any case.
const ECN: u8 = 0x80;

/// How a packet is split, or how far its checksum is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Whether the checksum at `checksum_start` + `checksum_offset` covers the pseudo-header only.
    pub needs_checksum: bool,
    /// What is to be split, if anything.
    pub kind: Kind,
    /// Length of all headers in bytes; a hint.
    pub headers_len: u16,
    /// Bytes of payload of each packet but the last.
    pub segment: u16,
    /// Where the transport header begins.
    pub checksum_start: u16,
    /// Where the checksum is in the transport header.
    pub checksum_offset: u16,
}

/// What is to be split (`gso_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    #[default]
    Whole,
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over either.
    Udp,
}

/// The kernel's header means nothing known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet that cannot be split as its header says")]
pub struct Unknown;

impl Header {
    /// Reads the header in front of a packet.
    ///
    /// # Errors
    /// Where it asks for what was never offered.
    pub fn decode(bytes: &[u8; HEADER_LEN]) -> Result<Self, Unknown> {
        let [flags, kind, rest @ ..] = *bytes;
        let number = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
        Ok(Self {
            needs_checksum: flags & NEEDS_CHECKSUM != 0,
            kind: match kind & !ECN {
                0 => Kind::Whole,
                1 => Kind::Tcp4,
                4 => Kind::Tcp6,
                5 => Kind::Udp,
                _ => return Err(Unknown),
            },
            headers_len: number(0),
            segment: number(2),
            checksum_start: number(4),
            checksum_offset: number(6),
        })
    }

    /// The header as the kernel reads it.
    #[must_use]
    pub fn encode(self) -> [u8; HEADER_LEN] {
        let flags = if self.needs_checksum {
            NEEDS_CHECKSUM
        } else {
            0
        };
        let kind = match self.kind {
            Kind::Whole => 0,
            Kind::Tcp4 => 1,
            Kind::Tcp6 => 4,
            Kind::Udp => 5,
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
