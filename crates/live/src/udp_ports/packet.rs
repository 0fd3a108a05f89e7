//! Datagrams of applications as IPv4 packets of the overlay, with the headers that their own host
//! would give them: the policies, classes and fragments of the overlay apply to them as to packets
//! of a TUN device, and the peer may have one.

use std::net::Ipv4Addr;
use std::ops::Range;

use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv4Slice, UdpHeader, UdpSlice,
};
use polypath_core::packet::TrafficClass;

/// The IPv4 and the UDP header in bytes.
pub(super) const HEADERS: usize = Ipv4Header::MIN_LEN + UdpHeader::LEN;

/// The hop limit of a host (RFC 1122, section 3.2.1.7, as of RFC 1700).
const HOP_LIMIT: u8 = 64;

/// The addresses and the port of the packets of a UDP port.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketAddresses {
    pub(super) source: Ipv4Addr,
    pub(super) destination: Ipv4Addr,
    /// Both the source and the destination port.
    pub(super) port: u16,
}

impl PacketAddresses {
    /// Writes the packet of `datagram` into `packet` and returns its length; `None` if it is longer
    /// than an IPv4 packet or `packet`. Fragments of the packet belong together by its
    /// `identification` (RFC 791).
    pub(super) fn write(
        &self,
        datagram: &[u8],
        traffic_class: TrafficClass,
        identification: u16,
        packet: &mut [u8],
    ) -> Option<usize> {
        let total_len = u16::try_from(HEADERS + datagram.len()).ok()?;
        let packet = packet.get_mut(..usize::from(total_len))?;
        let class = traffic_class.byte();
        let mut ip = Ipv4Header {
            dscp: IpDscp::try_new(class >> 2).ok()?,
            ecn: IpEcn::try_new(class & 3).ok()?,
            total_len,
            identification,
            // Paths may carry less: the tunnel then fragments the packet.
            dont_fragment: false,
            time_to_live: HOP_LIMIT,
            protocol: IpNumber::UDP,
            source: self.source.octets(),
            destination: self.destination.octets(),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        // The tunnel authenticates packets, but the checksum shows fragments of different ones.
        let udp = UdpHeader::with_ipv4_checksum(self.port, self.port, &ip, datagram).ok()?;
        let (ip_header, rest) = packet.split_at_mut(Ipv4Header::MIN_LEN);
        let (udp_header, payload) = rest.split_at_mut(UdpHeader::LEN);
        ip_header.copy_from_slice(&ip.to_bytes());
        udp_header.copy_from_slice(&udp.to_bytes());
        payload.copy_from_slice(datagram);
        Some(usize::from(total_len))
    }
}

/// A packet of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PeerPacket<'a> {
    /// A UDP datagram, and its place in the packet.
    Datagram(Ipv4HeaderSlice<'a>, Range<usize>),
    /// A part of one.
    Fragment(Ipv4HeaderSlice<'a>, &'a [u8]),
}

/// Reads a packet; `None` if it carries no UDP over IPv4, or something between both headers.
pub(super) fn read(packet: &[u8]) -> Option<PeerPacket<'_>> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let ip = Ipv4Slice::from_slice(packet).ok()?;
    if header.protocol() != IpNumber::UDP {
        return None;
    }
    let payload = ip.payload().payload;
    if ip.payload().fragmented {
        return Some(PeerPacket::Fragment(header, payload));
    }
    let start = header.slice().len();
    Some(PeerPacket::Datagram(header, start..start + payload.len()))
}

/// The destination port of a UDP datagram and the place of its payload; `None` if it is malformed.
pub(super) fn read_udp(datagram: &[u8]) -> Option<(u16, Range<usize>)> {
    let udp = UdpSlice::from_slice(datagram).ok()?;
    let end = UdpHeader::LEN + udp.payload().len();
    Some((udp.destination_port(), UdpHeader::LEN..end))
}

/// Whether the checksum of a UDP datagram between these addresses is right, or absent (RFC 768).
pub(super) fn is_intact(source: [u8; 4], destination: [u8; 4], datagram: &[u8]) -> bool {
    UdpHeader::from_slice(datagram).is_ok_and(|(header, payload)| {
        let computed = header.calc_checksum_ipv4_raw(source, destination, payload);
        header.checksum == 0 || computed.is_ok_and(|computed| computed == header.checksum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::SlicedPacket;
    use proptest::prelude::*;

    const ADDRESSES: PacketAddresses = PacketAddresses {
        source: Ipv4Addr::new(10, 77, 0, 1),
        destination: Ipv4Addr::new(10, 77, 0, 2),
        port: 5004,
    };

    proptest! {
        /// A host accepts the packet: its lengths and checksums are right.
        #[test]
        fn a_datagram_comes_out_as_it_went_in(
            datagram in prop::collection::vec(any::<u8>(), 0..2000),
            class in any::<u8>(),
        ) {
            let traffic_class = TrafficClass::of_byte(class);
            let mut packet = vec![0; 3000];
            let len = ADDRESSES.write(&datagram, traffic_class, 7, &mut packet).unwrap();
            prop_assert_eq!(len, datagram.len() + HEADERS);
            packet.truncate(len);
            let ip = Ipv4Header::from_slice(&packet).unwrap().0;
            prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            prop_assert_eq!((ip.identification, packet[1]), (7, class));
            prop_assert!(SlicedPacket::from_ip(&packet).unwrap().transport.is_some());
            let Some(PeerPacket::Datagram(_, place)) = read(&packet) else {
                panic!("a datagram");
            };
            let mut udp = packet[place].to_vec();
            prop_assert!(is_intact(ip.source, ip.destination, &udp));
            let (port, payload) = read_udp(&udp).unwrap();
            prop_assert_eq!((port, &udp[payload]), (5004, &datagram[..]));
            let last = udp.len() - 1;
            udp[last] ^= 1;
            prop_assert!(!is_intact(ip.source, ip.destination, &udp));
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(PeerPacket::Datagram(_, place)) = read(&bytes) {
                prop_assert!(bytes.get(place).is_some());
            }
        }
    }

    #[test]
    fn a_datagram_that_no_ip_packet_holds_is_refused() {
        let mut packet = vec![0; 70_000];
        let longest = usize::from(u16::MAX) - HEADERS;
        let mut write = |len| ADDRESSES.write(&vec![0; len], TrafficClass::DEFAULT, 0, &mut packet);
        assert_eq!(write(longest), Some(usize::from(u16::MAX)));
        assert_eq!(write(longest + 1), None);
        let short = ADDRESSES.write(&[0; 10], TrafficClass::DEFAULT, 0, &mut [0; 20]);
        assert_eq!(short, None);
    }
}
