//! The bytes of a packet.

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use polypath_core::packet::Ecn;

use crate::address::Direction;

/// The usual initial value of hosts; links do not decrement it.
const TIME_TO_LIVE: u8 = 64;

/// The lengths of a segment in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Bytes of the stream.
    pub(crate) payload: u32,
    /// The minimum length of the packet, headers included.
    pub(crate) size: u32,
}

/// Writes packets one after another into the same buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packet {
    bytes: Vec<u8>,
}

impl Packet {
    /// A segment with `payload` bytes of zeros; its length is at least `size`.
    pub(crate) fn tcp(
        &mut self,
        mut header: TcpHeader,
        direction: Direction,
        ecn: Ecn,
        lengths: Lengths,
    ) -> &[u8] {
        let Lengths { payload, size } = lengths;
        let headers = header.header_len() + Ipv4Header::MIN_LEN;
        let total = headers + as_len(payload);
        let ip = ip_header(direction, IpNumber::TCP, ecn, total);
        self.bytes.clear();
        self.bytes.extend_from_slice(&ip.to_bytes());
        let zeros = self.append_zeros(as_len(payload));
        let checksum = header.calc_checksum_ipv4_raw(ip.source, ip.destination, zeros);
        header.checksum = checksum.expect("a payload below 64 KiB");
        self.insert_header(&header.to_bytes(), as_len(size))
    }

    /// A datagram; its length is `size`, or that of its headers.
    pub(crate) fn udp(&mut self, direction: Direction, size: u32) -> &[u8] {
        let total = as_len(size).max(Ipv4Header::MIN_LEN + UdpHeader::LEN);
        let payload = total - Ipv4Header::MIN_LEN - UdpHeader::LEN;
        let ip = ip_header(direction, IpNumber::UDP, Ecn::NotEct, total);
        self.bytes.clear();
        self.bytes.extend_from_slice(&ip.to_bytes());
        let zeros = self.append_zeros(payload);
        let header =
            UdpHeader::with_ipv4_checksum(direction.from.port, direction.to.port, &ip, zeros);
        let header = header.expect("a payload below 64 KiB");
        self.insert_header(&header.to_bytes(), total)
    }

    fn append_zeros(&mut self, count: usize) -> &[u8] {
        self.bytes.resize(Ipv4Header::MIN_LEN + count, 0);
        &self.bytes[Ipv4Header::MIN_LEN..]
    }

    /// Inserts a header between that of IP and the payload of zeros, and pads with zeros to `size`.
    fn insert_header(&mut self, header: &[u8], size: usize) -> &[u8] {
        let total = self.bytes.len() + header.len();
        self.bytes.resize(total.max(size), 0);
        self.bytes[Ipv4Header::MIN_LEN..][..header.len()].copy_from_slice(header);
        &self.bytes
    }
}

fn ip_header(direction: Direction, protocol: IpNumber, ecn: Ecn, total_len: usize) -> Ipv4Header {
    let mut ip = Ipv4Header {
        ecn: ecn_field(ecn),
        total_len: u16::try_from(total_len).expect("a packet below 64 KiB"),
        dont_fragment: true,
        time_to_live: TIME_TO_LIVE,
        protocol,
        source: direction.from.address,
        destination: direction.to.address,
        ..Ipv4Header::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    ip
}

const fn ecn_field(ecn: Ecn) -> IpEcn {
    match ecn {
        Ecn::NotEct => IpEcn::ZERO,
        Ecn::Ect1 => IpEcn::ONE,
        Ecn::Ect0 => IpEcn::TWO,
        Ecn::Ce => IpEcn::THREE,
    }
}

fn as_len(bytes: u32) -> usize {
    usize::try_from(bytes).expect("a size fits into memory")
}
