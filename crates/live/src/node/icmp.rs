//! What the sender of a packet is told that no path carries: fragmentation needed (RFC 792, RFC 1191) or packet too
//! big (RFC 4443, RFC 8201).

use std::ops::RangeInclusive;

use bytes::Bytes;
use etherparse::{Icmpv4Type, Icmpv6Type, IpNumber, IpSlice, PacketBuilder, icmpv4};
use polypath_core::time::{Duration, Time};
use polypath_session::gcra::Gcra;

use crate::config::LEAST_MTU_V6;

/// The hop limit of what is told: its way is short.
const HOPS: u8 = 64;
/// As much as is told of a packet over IPv4: with headers 576 bytes (RFC 1812, 4.3.2.3).
const QUOTED_V4: usize = 576 - 20 - 8;
/// As much over IPv6: with headers 1280 bytes (RFC 4443, 2.4).
const QUOTED_V6: usize = 1280 - 40 - 8;
/// So much of a second each message costs, and so many may come at once (RFC 1812, 4.3.2.8; RFC 4443, 2.4).
const COST: Duration = Duration::from_millis(10);
const BURST: Duration = Duration::from_millis(500);

/// The types of the messages that tell of errors, about which none is told in turn (RFC 1812, 4.3.2.7; RFC 4443, 2.1).
const ERRORS_V4: [RangeInclusive<u8>; 2] = [3..=5, 11..=12];
const ERRORS_V6: [RangeInclusive<u8>; 1] = [0..=127];

/// Tells senders, and not too often.
#[derive(Debug, Default)]
pub(super) struct PacketTooBigSender {
    bound: Gcra,
}

impl PacketTooBigSender {
    /// What the sender of `packet` is to be told at `now`, if it is: no packet longer than `limit` bytes crosses.
    pub(super) fn tell(&mut self, now: Time, packet: &[u8], limit: u16) -> Option<Bytes> {
        let message = too_long(packet, limit)?;
        self.bound.spend(now, COST, BURST).then_some(message)
    }
}

/// The message comes from where the packet goes to: a host takes no packet of its own address from outside.
fn too_long(packet: &[u8], limit: u16) -> Option<Bytes> {
    let mut message = Vec::new();
    match IpSlice::from_slice(packet).ok()? {
        IpSlice::Ipv4(ip) => {
            let header = ip.header();
            let to = header.destination_addr();
            if header.fragments_offset().value() > 0 || to.is_multicast() || to.is_broadcast() {
                return None;
            }
            let payload = ip.payload();
            if payload.ip_number == IpNumber::ICMP && is_error(payload.payload, &ERRORS_V4) {
                return None;
            }
            let needed = icmpv4::DestUnreachableHeader::FragmentationNeeded {
                next_hop_mtu: limit,
            };
            let quoted = &packet[..packet.len().min(QUOTED_V4)];
            PacketBuilder::ipv4(header.destination(), header.source(), HOPS)
                .icmpv4(Icmpv4Type::DestinationUnreachable(needed))
                .write(&mut message, quoted)
                .ok()?;
        }
        IpSlice::Ipv6(ip) => {
            let header = ip.header();
            // RFC 4443, 2.4 (e.3), lets a router tell of these, from an address of its own; here is none but the group's.
            if header.destination_addr().is_multicast() {
                return None;
            }
            let payload = ip.payload();
            if payload.ip_number == IpNumber::IPV6_ICMP && is_error(payload.payload, &ERRORS_V6) {
                return None;
            }
            let mtu = u32::from(limit.max(LEAST_MTU_V6));
            let quoted = &packet[..packet.len().min(QUOTED_V6)];
            PacketBuilder::ipv6(header.destination(), header.source(), HOPS)
                .icmpv6(Icmpv6Type::PacketTooBig { mtu })
                .write(&mut message, quoted)
                .ok()?;
        }
    }
    Some(message.into())
}

fn is_error(message: &[u8], errors: &[RangeInclusive<u8>]) -> bool {
    let kind = message.first();
    kind.is_none_or(|kind| errors.iter().any(|errors| errors.contains(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Icmpv4Slice, Icmpv6Slice, SlicedPacket, TransportSlice};

    const FAR_V6: [u8; 16] = [0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
    const NEAR_V6: [u8; 16] = [0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

    fn v4(to: [u8; 4]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 77, 0, 1], to, 64).udp(1, 2);
        builder.write(&mut packet, &[7; 1372]).unwrap();
        packet
    }

    fn v6(to: [u8; 16]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv6(NEAR_V6, to, 64).udp(1, 2);
        builder.write(&mut packet, &[7; 1372]).unwrap();
        packet
    }

    #[test]
    fn a_sender_over_ipv4_is_told_what_crosses() {
        let packet = v4([10, 77, 0, 2]);
        let message = too_long(&packet, 1217).unwrap();
        assert_eq!(message.len(), 576);
        let IpSlice::Ipv4(ip) = IpSlice::from_slice(&message).unwrap() else {
            panic!("IPv4");
        };
        assert_eq!(ip.header().source(), [10, 77, 0, 2]);
        assert_eq!(ip.header().destination(), [10, 77, 0, 1]);
        let icmp = Icmpv4Slice::from_slice(ip.payload().payload).unwrap();
        let next_hop_mtu = 1217;
        let needed = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu };
        assert_eq!(icmp.icmp_type(), Icmpv4Type::DestinationUnreachable(needed));
        assert_eq!(icmp.payload(), &packet[..548]);
        let expected = icmp.icmp_type().calc_checksum(icmp.payload());
        assert_eq!(icmp.checksum(), expected);
    }

    #[test]
    fn a_sender_over_ipv6_is_told_at_least_what_every_link_carries() {
        let packet = v6(FAR_V6);
        for (limit, told) in [(1300, 1300), (1217, 1280)] {
            let message = too_long(&packet, limit).unwrap();
            assert_eq!(message.len(), 1280);
            let sliced = SlicedPacket::from_ip(&message).unwrap();
            let Some(TransportSlice::Icmpv6(icmp)) = sliced.transport else {
                panic!("{sliced:?}");
            };
            assert_eq!(icmp.icmp_type(), Icmpv6Type::PacketTooBig { mtu: told });
            assert!(icmp.is_checksum_valid(FAR_V6, NEAR_V6));
            assert_eq!(Icmpv6Slice::from_slice(icmp.slice()), Ok(icmp));
        }
    }

    #[test]
    fn nobody_is_told_of_errors_nor_of_what_went_to_many() {
        assert_eq!(too_long(&v4([224, 0, 0, 1]), 1217), None);
        assert_eq!(too_long(&v4([255, 255, 255, 255]), 1217), None);
        let group = [0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(too_long(&v6(group), 1217), None);
        for message in [too_long(&v4([10, 77, 0, 2]), 9), too_long(&v6(FAR_V6), 9)] {
            assert_eq!(too_long(&message.unwrap(), 9), None);
        }
        assert_eq!(too_long(b"nothing", 9), None);
        let mut fragment = v4([10, 77, 0, 2]);
        fragment[7] = 9;
        assert_eq!(too_long(&fragment, 9), None);
    }

    #[test]
    fn a_flood_is_told_seldom() {
        let mut teller = PacketTooBigSender::default();
        let packet = v4([10, 77, 0, 2]);
        let mut told = |ms| {
            let now = Time::ZERO + Duration::from_millis(ms);
            (0..1000)
                .filter(|_| teller.tell(now, &packet, 1217).is_some())
                .count()
        };
        assert_eq!([told(1_000), told(1_000), told(1_100)], [50, 0, 10]);
    }
}
