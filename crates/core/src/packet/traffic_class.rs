//! The traffic class of an IPv6 packet (RFC 8200, section 3), or the byte in its place in an IPv4
//! header (RFC 2474, section 3).

use super::{Dscp, Ecn};

/// The DSCP and the ECN field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct TrafficClass {
    /// The DSCP (RFC 2474).
    pub dscp: Dscp,
    /// The ECN field (RFC 3168).
    pub ecn: Ecn,
}

impl TrafficClass {
    /// A DSCP of 0, and not ECN-capable.
    pub const DEFAULT: Self = Self {
        dscp: Dscp::DEFAULT,
        ecn: Ecn::NotEct,
    };

    /// The fields of this byte.
    #[must_use]
    pub const fn of_byte(byte: u8) -> Self {
        Self {
            dscp: Dscp::of_traffic_class(byte),
            ecn: Ecn::of_traffic_class(byte),
        }
    }

    /// The byte with both fields.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.dscp.traffic_class() | self.ecn.codepoint()
    }

    /// Whether both fields are 0.
    #[must_use]
    pub const fn is_default(self) -> bool {
        self.byte() == 0
    }
}

/// The traffic class of an IPv4 or IPv6 packet; the default for anything else.
#[inline]
#[must_use]
pub fn traffic_class(packet: &[u8]) -> TrafficClass {
    byte_of(packet).map_or(TrafficClass::DEFAULT, TrafficClass::of_byte)
}

/// The byte of the traffic class of an IPv4 or IPv6 packet; `None` for anything else.
#[inline]
pub(super) fn byte_of(packet: &[u8]) -> Option<u8> {
    match *packet {
        [first, class, ..] if first >> 4 == 4 => Some(class),
        [first, second, ..] if first >> 4 == 6 => Some(first << 4 | second >> 4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Payload;
    use crate::packet::parse;
    use alloc::vec::Vec;
    use etherparse::PacketBuilder;

    /// A UDP packet over IPv4 or IPv6 with this traffic class.
    fn packet(class: u8, v6: bool) -> Vec<u8> {
        let builder = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        let mut bytes = Vec::new();
        builder.udp(1, 2).write(&mut bytes, &[7; 10]).unwrap();
        if v6 {
            bytes[0] |= class >> 4;
            bytes[1] |= class << 4;
        } else {
            bytes[1] = class;
        }
        bytes
    }

    #[test]
    fn every_traffic_class_is_read_and_written() {
        for (byte, v6) in (0..=255).flat_map(|byte| [(byte, false), (byte, true)]) {
            let bytes = packet(byte, v6);
            let class = TrafficClass::of_byte(byte);
            assert_eq!(class.byte(), byte);
            assert_eq!(class.is_default(), class == TrafficClass::DEFAULT);
            assert_eq!(
                (class.dscp.number(), class.ecn.codepoint()),
                (byte / 4, byte % 4)
            );
            assert_eq!(Payload::traffic_class(&bytes), class);
            let meta = parse(&bytes).unwrap();
            assert_eq!((meta.dscp, meta.ecn), (class.dscp, class.ecn));
        }
    }

    #[test]
    fn bytes_of_no_packet_have_the_default() {
        for bytes in [&[][..], &[0x45], &[0x60], &[0x50, 0xff], &[0xff; 20]] {
            assert_eq!(traffic_class(bytes), TrafficClass::DEFAULT, "{bytes:?}");
        }
    }
}
