//! Reads and sets the ECN field of IP packets (RFC 3168).

use super::{Ecn, traffic_class};

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
}

/// The ECN field of an IPv4 or IPv6 packet; `NotEct` for anything else.
#[must_use]
pub fn ecn(packet: &[u8]) -> Ecn {
    traffic_class(packet).map_or(Ecn::NotEct, Ecn::of_traffic_class)
}

/// Sets the ECN field of an ECN-capable IPv4 or IPv6 packet to CE; returns whether it is CE now.
///
/// The checksum of an IPv4 header is updated incrementally (RFC 1624), so a wrong checksum stays
/// wrong. Packets that are not ECN-capable are unchanged.
pub fn mark_ce(packet: &mut [u8]) -> bool {
    if !ecn(packet).is_capable() {
        return false;
    }
    if packet[0] >> 4 == 6 {
        packet[1] |= 0x30;
        return true;
    }
    if packet.len() < CHECKSUM.end {
        return false;
    }
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= 3;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    packet[CHECKSUM].copy_from_slice(&updated(checksum, before, after).to_be_bytes());
    true
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
            // RFC 1624: +0 and -0 are one number in one's complement.
            let (ours, theirs) = (&bytes[CHECKSUM], &expected[CHECKSUM]);
            prop_assert!(ours == theirs || (ours, theirs) == (&[0xff; 2], &[0; 2]));
            prop_assert_eq!(&bytes[12..], &before[12..]);
            prop_assert_eq!(parse(&bytes).unwrap().ecn, Ecn::Ce);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut bytes = bytes;
            let marked = mark_ce(&mut bytes);
            prop_assert!(!marked || ecn(&bytes) == Ecn::Ce);
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
