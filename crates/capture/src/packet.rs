//! The bytes of a packet.

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use polypath_core::packet::Ecn;

use crate::address::End;

/// As many hops as most hosts allow; links do not count them.
const TIME_TO_LIVE: u8 = 64;

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
        (from, to): (End, End),
        ecn: Ecn,
        (payload, size): (u32, u32),
    ) -> &[u8] {
        let headers = header.header_len() + Ipv4Header::MIN_LEN;
        let total = headers + as_len(payload);
        let ip = ip_header((from, to), IpNumber::TCP, ecn, total);
        self.bytes.clear();
        self.bytes.extend_from_slice(&ip.to_bytes());
        let zeros = self.append_zeros(as_len(payload));
        let checksum = header.calc_checksum_ipv4_raw(ip.source, ip.destination, zeros);
        header.checksum = checksum.expect("a payload below 64 KiB");
        self.insert_header(&header.to_bytes(), as_len(size))
    }

    /// A datagram; its length is `size`, or that of its headers.
    pub(crate) fn udp(&mut self, (from, to): (End, End), size: u32) -> &[u8] {
        let total = as_len(size).max(Ipv4Header::MIN_LEN + UdpHeader::LEN);
        let payload = total - Ipv4Header::MIN_LEN - UdpHeader::LEN;
        let ip = ip_header((from, to), IpNumber::UDP, Ecn::NotEct, total);
        self.bytes.clear();
        self.bytes.extend_from_slice(&ip.to_bytes());
        let zeros = self.append_zeros(payload);
        let header = UdpHeader::with_ipv4_checksum(from.port, to.port, &ip, zeros);
        let header = header.expect("a payload below 64 KiB");
        self.insert_header(&header.to_bytes(), total)
    }

    fn append_zeros(&mut self, count: usize) -> &[u8] {
        self.bytes.resize(Ipv4Header::MIN_LEN + count, 0);
        &self.bytes[Ipv4Header::MIN_LEN..]
    }

    /// Puts a header between that of IP and the payload of zeros, and fills up to `size` with zeros.
    fn insert_header(&mut self, header: &[u8], size: usize) -> &[u8] {
        let total = self.bytes.len() + header.len();
        self.bytes.resize(total.max(size), 0);
        self.bytes[Ipv4Header::MIN_LEN..][..header.len()].copy_from_slice(header);
        &self.bytes
    }
}

fn ip_header((from, to): (End, End), protocol: IpNumber, ecn: Ecn, total_len: usize) -> Ipv4Header {
    let mut ip = Ipv4Header {
        ecn: ecn_field(ecn),
        total_len: u16::try_from(total_len).expect("a packet below 64 KiB"),
        dont_fragment: true,
        time_to_live: TIME_TO_LIVE,
        protocol,
        source: from.address,
        destination: to.address,
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
