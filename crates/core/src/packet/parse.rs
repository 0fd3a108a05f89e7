//! Parses the metadata of IP packets.

use etherparse::{IpNumber, IpSlice, TcpSlice, UdpSlice};

use super::{FlowId, IpVersion, Kind, PacketMeta, TrafficClass, traffic_class};

/// The bytes are not an IPv4 or IPv6 packet, or are truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a complete IPv4 or IPv6 packet")]
pub struct NotIp;

/// Parses the metadata of an IPv4 or IPv6 packet, including extension headers.
///
/// Fragments, protocols other than TCP, and malformed TCP headers are [`Kind::Opaque`]. All
/// fragments of a datagram belong to one flow, because the flow of a fragment does not include
/// ports.
///
/// # Errors
/// If the bytes are not a complete IP packet.
pub fn parse(bytes: &[u8]) -> Result<PacketMeta, NotIp> {
    let ip = IpSlice::from_slice(bytes).map_err(|_| NotIp)?;
    let version = match &ip {
        IpSlice::Ipv4(_) => IpVersion::V4,
        IpSlice::Ipv6(_) => IpVersion::V6,
    };
    let protocol = ip.payload_ip_number();
    let payload = (!ip.is_fragmenting_payload()).then(|| ip.payload().payload);
    let (kind, ports) = match (payload, protocol) {
        (Some(segment), IpNumber::TCP) => read_tcp(segment),
        (Some(datagram), IpNumber::UDP) => (Kind::Opaque, udp_ports(datagram)),
        _ => (Kind::Opaque, None),
    };
    let TrafficClass { dscp, ecn } = traffic_class(bytes);
    Ok(PacketMeta {
        version,
        protocol: protocol.0,
        flow: flow_of(&ip, protocol, ports),
        kind,
        size: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        ecn,
        dscp,
        ports,
        class: None,
    })
}

/// Whether these bytes are an IP packet that carries TCP, or a fragment of one.
#[must_use]
pub fn is_tcp(bytes: &[u8]) -> bool {
    parse(bytes).is_ok_and(|meta| meta.protocol == IpNumber::TCP.0)
}

fn read_tcp(segment: &[u8]) -> (Kind, Option<[u16; 2]>) {
    let Ok(tcp) = TcpSlice::from_slice(segment) else {
        return (Kind::Opaque, None);
    };
    let kind = if tcp.syn() || tcp.fin() || tcp.rst() {
        Kind::Control
    } else if tcp.payload().is_empty() {
        Kind::PureAck
    } else {
        Kind::Data
    };
    (kind, Some([tcp.source_port(), tcp.destination_port()]))
}

fn udp_ports(datagram: &[u8]) -> Option<[u16; 2]> {
    let udp = UdpSlice::from_slice(datagram).ok()?;
    Some([udp.source_port(), udp.destination_port()])
}

/// FNV-1a over addresses, protocol and ports; stable across runs, unlike a seeded hash.
fn flow_of(ip: &IpSlice<'_>, protocol: IpNumber, ports: Option<[u16; 2]>) -> FlowId {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    match ip {
        IpSlice::Ipv4(v4) => {
            mix(&v4.header().source());
            mix(&v4.header().destination());
        }
        IpSlice::Ipv6(v6) => {
            mix(&v6.header().source());
            mix(&v6.header().destination());
        }
    }
    mix(&[protocol.0]);
    for port in ports.into_iter().flatten() {
        mix(&port.to_be_bytes());
    }
    FlowId(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use alloc::vec::Vec;
    use etherparse::{IpFragOffset, Ipv4Header, PacketBuilder, TcpHeader};
    use proptest::prelude::*;

    fn tcp(configure: impl Fn(&mut TcpHeader), payload: usize, v6: bool) -> Vec<u8> {
        let mut header = TcpHeader::new(80, 4000, 1, 1000);
        configure(&mut header);
        let ip = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        let mut bytes = Vec::new();
        ip.tcp_header(header)
            .write(&mut bytes, &alloc::vec![7; payload])
            .unwrap();
        bytes
    }

    #[test]
    fn tcp_segments_are_classified_over_both_ip_versions() {
        for v6 in [false, true] {
            let kind =
                |set: fn(&mut TcpHeader), payload| parse(&tcp(set, payload, v6)).unwrap().kind;
            assert_eq!(kind(|h| h.ack = true, 0), Kind::PureAck);
            assert_eq!(kind(|h| h.ack = true, 1), Kind::Data);
            assert_eq!(kind(|h| h.syn = true, 0), Kind::Control);
            assert_eq!(kind(|h| (h.fin, h.ack) = (true, true), 9), Kind::Control);
            assert_eq!(kind(|h| h.rst = true, 0), Kind::Control);
            let meta = parse(&tcp(|h| h.ack = true, 100, v6)).unwrap();
            let (version, header) = if v6 {
                (IpVersion::V6, 60)
            } else {
                (IpVersion::V4, 40)
            };
            assert_eq!(
                (meta.version, meta.size, meta.protocol),
                (version, header + 100, 6)
            );
        }
    }

    #[test]
    fn ecn_is_read_from_both_headers() {
        let mut v4 = tcp(|h| h.ack = true, 0, false);
        v4[1] = 0b11;
        let checksum = Ipv4Header::from_slice(&v4)
            .unwrap()
            .0
            .calc_header_checksum();
        v4[10..12].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(parse(&v4).unwrap().ecn, Ecn::Ce);
        let mut v6 = tcp(|h| h.ack = true, 0, true);
        v6[1] |= 0b10 << 4;
        assert_eq!(parse(&v6).unwrap().ecn, Ecn::Ect0);
    }

    #[test]
    fn fragments_of_one_datagram_are_one_opaque_flow() {
        let fragment = |offset: u16, more: bool| {
            let payload = [0_u8; 64];
            let mut header = Ipv4Header::new(64, 64, IpNumber::TCP, [1; 4], [2; 4]).unwrap();
            header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
            header.more_fragments = more;
            header.header_checksum = header.calc_header_checksum();
            let mut bytes = header.to_bytes().to_vec();
            bytes.extend_from_slice(&payload);
            parse(&bytes).unwrap()
        };
        let (first, last) = (fragment(0, true), fragment(8, false));
        assert_eq!((first.kind, last.kind), (Kind::Opaque, Kind::Opaque));
        assert_eq!(first.flow, last.flow);
    }

    #[test]
    fn ports_identify_a_flow_and_a_malformed_tcp_header_is_opaque() {
        let one = parse(&tcp(|h| h.ack = true, 0, false)).unwrap();
        let other = parse(&tcp(|h| (h.ack, h.source_port) = (true, 81), 0, false)).unwrap();
        assert_ne!(one.flow, other.flow);
        let longer = tcp(|h| h.ack = true, 100, false);
        assert_eq!(crate::frame::Payload::flow(&longer), one.flow);
        let mut broken = tcp(|h| h.ack = true, 0, false);
        broken[32] = 0;
        assert_eq!(parse(&broken).unwrap().kind, Kind::Opaque);
    }

    #[test]
    fn incomplete_packets_are_refused() {
        let whole = tcp(|h| h.ack = true, 10, false);
        for bytes in [&[][..], &[0x45], &[0x05; 40], &whole[..whole.len() - 1]] {
            assert_eq!(parse(bytes), Err(NotIp), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..128), v6: bool) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = if v6 { 0x60 } else { 0x45 };
            }
            let _ = parse(&bytes);
        }
    }
}
