//! ICMP errors to senders of packets that are too long for every path: Fragmentation Needed (RFC
//! 792, RFC 1191) or Packet Too Big (RFC 4443, RFC 8201).

use std::ops::RangeInclusive;

use bytes::Bytes;
use etherparse::{Icmpv4Type, Icmpv6Type, IpNumber, IpSlice, PacketBuilder, icmpv4};
use polypath_core::time::{Duration, Time};
use polypath_session::gcra::Gcra;

use crate::config::MIN_MTU_V6;

/// The hop limit of the messages, whose receiver is this host or close to it.
const HOP_LIMIT: u8 = 64;
/// The bytes of an IPv4 packet that are quoted: a message has at most 576 bytes (RFC 1812,
/// 4.3.2.3).
const QUOTED_V4: usize = 576 - 20 - 8;
/// The bytes of an IPv6 packet that are quoted: a message has at most 1280 bytes (RFC 4443, 2.4).
const QUOTED_V6: usize = 1280 - 40 - 8;
/// The rate limit of messages: one per [`INTERVAL`], in bursts of at most [`BURST`] (RFC 1812,
/// 4.3.2.8; RFC 4443, 2.4).
const INTERVAL: Duration = Duration::from_millis(10);
const BURST: Duration = Duration::from_millis(500);

/// The types of ICMP errors, which are not answered by errors (RFC 1812, 4.3.2.7; RFC 4443, 2.1).
const ERRORS_V4: [RangeInclusive<u8>; 2] = [3..=5, 11..=12];
const ERRORS_V6: [RangeInclusive<u8>; 1] = [0..=127];

/// Sends these errors at a limited rate.
#[derive(Debug, Default)]
pub(super) struct PacketTooBigSender {
    rate_limit: Gcra,
}

impl PacketTooBigSender {
    /// The message to the sender of `packet`, which is longer than `mtu` bytes; none if it must not
    /// be sent, or not at `now`.
    pub(super) fn message(&mut self, now: Time, packet: &[u8], mtu: u16) -> Option<Bytes> {
        let message = too_big(packet, mtu)?;
        self.rate_limit
            .spend(now, INTERVAL, BURST)
            .then_some(message)
    }
}

/// The source of the message is the destination of the packet: a host drops received packets from
/// its own address.
fn too_big(packet: &[u8], mtu: u16) -> Option<Bytes> {
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
            let needed = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: mtu };
            let quoted = &packet[..packet.len().min(QUOTED_V4)];
            PacketBuilder::ipv4(header.destination(), header.source(), HOP_LIMIT)
                .icmpv4(Icmpv4Type::DestinationUnreachable(needed))
                .write(&mut message, quoted)
                .ok()?;
        }
        IpSlice::Ipv6(ip) => {
            let header = ip.header();
            // RFC 4443, 2.4 (e.3), permits an answer from an address of the router; here is only
            // the group's.
            if header.destination_addr().is_multicast() {
                return None;
            }
            let payload = ip.payload();
            if payload.ip_number == IpNumber::IPV6_ICMP && is_error(payload.payload, &ERRORS_V6) {
                return None;
            }
            let mtu = u32::from(mtu.max(MIN_MTU_V6));
            let quoted = &packet[..packet.len().min(QUOTED_V6)];
            PacketBuilder::ipv6(header.destination(), header.source(), HOP_LIMIT)
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
    fn an_ipv4_sender_receives_the_mtu() {
        let packet = v4([10, 77, 0, 2]);
        let message = too_big(&packet, 1217).unwrap();
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
    fn an_ipv6_sender_receives_at_least_the_minimum_mtu() {
        let packet = v6(FAR_V6);
        for (limit, mtu) in [(1300, 1300), (1217, 1280)] {
            let message = too_big(&packet, limit).unwrap();
            assert_eq!(message.len(), 1280);
            let sliced = SlicedPacket::from_ip(&message).unwrap();
            let Some(TransportSlice::Icmpv6(icmp)) = sliced.transport else {
                panic!("{sliced:?}");
            };
            assert_eq!(icmp.icmp_type(), Icmpv6Type::PacketTooBig { mtu });
            assert!(icmp.is_checksum_valid(FAR_V6, NEAR_V6));
            assert_eq!(Icmpv6Slice::from_slice(icmp.slice()), Ok(icmp));
        }
    }

    #[test]
    fn errors_multicast_and_broadcast_are_not_answered() {
        assert_eq!(too_big(&v4([224, 0, 0, 1]), 1217), None);
        assert_eq!(too_big(&v4([255, 255, 255, 255]), 1217), None);
        let group = [0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(too_big(&v6(group), 1217), None);
        for message in [too_big(&v4([10, 77, 0, 2]), 9), too_big(&v6(FAR_V6), 9)] {
            assert_eq!(too_big(&message.unwrap(), 9), None);
        }
        assert_eq!(too_big(b"nothing", 9), None);
        let mut fragment = v4([10, 77, 0, 2]);
        fragment[7] = 9;
        assert_eq!(too_big(&fragment, 9), None);
    }

    #[test]
    fn messages_are_rate_limited() {
        let mut sender = PacketTooBigSender::default();
        let packet = v4([10, 77, 0, 2]);
        let mut messages = |ms| {
            let now = Time::ZERO + Duration::from_millis(ms);
            (0..1000)
                .filter(|_| sender.message(now, &packet, 1217).is_some())
                .count()
        };
        assert_eq!(
            [messages(1_000), messages(1_000), messages(1_100)],
            [50, 0, 10]
        );
    }
}
