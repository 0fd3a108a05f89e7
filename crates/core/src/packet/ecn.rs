//! Reads and sets the ECN field of IP packets (RFC 3168).

use super::Ecn;
use super::traffic_class::byte_of;

/// The position of the checksum in an IPv4 header.
const CHECKSUM: core::ops::Range<usize> = 10..12;

impl Ecn {
    /// Whether the packet may be marked instead of dropped (RFC 3168, 5), including packets already
    /// marked CE.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// The codepoint in the two low bits of a traffic class (RFC 3168, Figure 1).
    #[must_use]
    pub const fn of_traffic_class(class: u8) -> Self {
        match class & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two low bits of a traffic class with this codepoint.
    #[must_use]
    pub const fn codepoint(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }

    /// The ECN field of a packet that leaves a tunnel, whose own field is `self` and whose tunnel
    /// header has `outer`; `None` if the packet must be dropped: a mark reports that it met
    /// congestion, and its transport would not see the mark (RFC 6040, Figure 4).
    #[must_use]
    pub const fn decapsulated(self, outer: Self) -> Option<Self> {
        match (self, outer) {
            (Self::NotEct, Self::Ce) => None,
            (Self::Ect0 | Self::Ect1, Self::Ce) => Some(Self::Ce),
            // A mark of less severe congestion (section 4.2).
            (Self::Ect0, Self::Ect1) => Some(Self::Ect1),
            (inner, _) => Some(inner),
        }
    }
}

/// The ECN field of an IPv4 or IPv6 packet; `NotEct` for anything else.
#[must_use]
pub fn ecn(packet: &[u8]) -> Ecn {
    byte_of(packet).map_or(Ecn::NotEct, Ecn::of_traffic_class)
}

/// Sets the ECN field of an ECN-capable IPv4 or IPv6 packet to CE; returns whether it is CE now.
///
/// Packets that are not ECN-capable are unchanged.
pub fn mark_ce(packet: &mut [u8]) -> bool {
    ecn(packet).is_capable() && set_ecn(packet, Ecn::Ce)
}

/// Sets the ECN field of an IPv4 or IPv6 packet; returns false for anything else, which is
/// unchanged.
///
/// The checksum of an IPv4 header is updated incrementally (RFC 1624), so a wrong checksum stays
/// wrong.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) -> bool {
    let codepoint = ecn.codepoint();
    match packet {
        [first, second, ..] if *first >> 4 == 6 => {
            *second = *second & !0x30 | codepoint << 4;
            true
        }
        [first, class, ..] if *first >> 4 == 4 => {
            let before = u16::from_be_bytes([*first, *class]);
            let after = before & !3 | u16::from(codepoint);
            let Some(checksum) = packet.get_mut(CHECKSUM) else {
                return false;
            };
            let sum = u16::from_be_bytes([checksum[0], checksum[1]]);
            checksum.copy_from_slice(&updated(sum, before, after).to_be_bytes());
            packet[..2].copy_from_slice(&after.to_be_bytes());
            true
        }
        _ => false,
    }
}

/// The checksum after a change of one word (RFC 1624, equation 3: HC' = ~(~HC + ~m + m')).
fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let add = |a: u16, b: u16| {
        let (sum, carry) = a.overflowing_add(b);
        sum + u16::from(carry)
    };
    !add(add(!checksum, !before), after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::parse;
    use alloc::vec::Vec;
    use etherparse::{Ipv4Header, PacketBuilder};
    use proptest::prelude::*;

    fn v4(class: u8, identification: u16) -> Vec<u8> {
        let mut header = Ipv4Header::new(
            20,
            64,
            etherparse::IpNumber::UDP,
            [10, 0, 0, 1],
            [10, 1, 2, 3],
        )
        .unwrap();
        header.identification = identification;
        let mut bytes = header.to_bytes().to_vec();
        bytes[1] = class;
        bytes.extend_from_slice(&[9; 20]);
        write_checksum(&mut bytes);
        bytes
    }

    fn write_checksum(bytes: &mut [u8]) {
        let sum = Ipv4Header::from_slice(bytes)
            .unwrap()
            .0
            .calc_header_checksum();
        bytes[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
    }

    fn v6(codepoint: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
            .udp(1, 2)
            .write(&mut bytes, &[7; 10])
            .unwrap();
        bytes[1] |= codepoint << 4;
        bytes
    }

    /// RFC 1624: +0 and -0 are one number in one's complement.
    fn normalised(mut packet: Vec<u8>) -> Vec<u8> {
        if packet[0] >> 4 == 4 && packet[CHECKSUM] == [0xff; 2] {
            packet[CHECKSUM].fill(0);
        }
        packet
    }

    proptest! {
        #[test]
        fn a_marked_ipv4_header_has_a_correct_checksum(class: u8, identification: u16) {
            let mut bytes = v4(class, identification);
            let before = bytes.clone();
            let capable = class & 3 != 0;
            prop_assert_eq!(mark_ce(&mut bytes), capable);
            if !capable {
                prop_assert_eq!(bytes, before);
                return Ok(());
            }
            prop_assert_eq!(bytes[1], class | 3);
            let mut expected = bytes.clone();
            write_checksum(&mut expected);
            prop_assert_eq!(normalised(bytes.clone()), normalised(expected));
            prop_assert_eq!(&bytes[12..], &before[12..]);
            prop_assert_eq!(parse(&bytes).unwrap().ecn, Ecn::Ce);
        }

        #[test]
        fn an_ecn_field_that_is_set_and_set_back_leaves_the_packet_as_it_was(
            class: u8,
            codepoint in 0_u8..4,
            identification: u16,
        ) {
            let to = Ecn::of_traffic_class(codepoint);
            for mut bytes in [v4(class, identification), v6(class & 3)] {
                let before = bytes.clone();
                prop_assert!(set_ecn(&mut bytes, to));
                prop_assert_eq!(ecn(&bytes), to);
                prop_assert!(set_ecn(&mut bytes, ecn(&before)));
                prop_assert_eq!(normalised(bytes), normalised(before));
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            codepoint in 0_u8..4,
        ) {
            let mut marked = bytes.clone();
            prop_assert!(!mark_ce(&mut marked) || ecn(&marked) == Ecn::Ce);
            let (mut bytes, to) = (bytes, Ecn::of_traffic_class(codepoint));
            let before = bytes.clone();
            if set_ecn(&mut bytes, to) {
                prop_assert_eq!(ecn(&bytes), to);
            } else {
                prop_assert_eq!(bytes, before);
            }
        }
    }

    /// RFC 6040, Figure 4: rows are inner codepoints, columns are outer ones, both in the order of
    /// the figure.
    #[test]
    fn a_packet_leaves_a_tunnel_with_the_ecn_field_of_the_standard() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        let codepoints = [NotEct, Ect0, Ect1, Ce];
        let figure = [
            [Some(NotEct), Some(NotEct), Some(NotEct), None],
            [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)],
            [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)],
            [Some(Ce); 4],
        ];
        for (inner, row) in codepoints.into_iter().zip(figure) {
            let found = codepoints.map(|outer| inner.decapsulated(outer));
            assert_eq!(found, row, "{inner:?}");
        }
    }

    #[test]
    fn marking_an_ipv6_packet_changes_only_the_ecn_field() {
        for (codepoint, before) in [(1, Ecn::Ect1), (2, Ecn::Ect0), (3, Ecn::Ce)] {
            let mut bytes = v6(codepoint);
            assert_eq!(ecn(&bytes), before);
            assert!(mark_ce(&mut bytes));
            assert_eq!(bytes, v6(3));
            assert_eq!(parse(&bytes).unwrap().ecn, Ecn::Ce);
        }
        let mut bytes = v6(0);
        assert!(!mark_ce(&mut bytes));
        assert_eq!(bytes, v6(0));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut bytes = v4(2, 7);
        bytes[11] ^= 1;
        assert!(mark_ce(&mut bytes));
        let mut right = bytes.clone();
        write_checksum(&mut right);
        assert_ne!(bytes, right);
    }
}
