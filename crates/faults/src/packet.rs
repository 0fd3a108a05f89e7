//! Packets of applications: numbered, with contents that follow from the number.

use bytes::{BufMut, Bytes, BytesMut};
use polypath_core::packet::Ecn;

use crate::datagram::End;

const IPV4: usize = 20;
const UDP: usize = 8;
const TCP: usize = 20;
const PROTOCOL: usize = 9;
/// Nothing reassembles fragments here.
const DO_NOT_FRAGMENT: u8 = 0x40;
const IS_UDP: u8 = 17;
const IS_TCP: u8 = 6;

/// The minimum length of a packet in bytes: a TCP segment without payload.
pub const MIN_LEN: u16 = 40;

/// The description of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSpec {
    /// Its number in the run.
    pub id: u64,
    /// The sending node.
    pub from: End,
    /// Its length in bytes; one of [`MIN_LEN`] bytes is a pure TCP ACK, and others are UDP
    /// datagrams.
    pub len: u16,
}

/// The ECN field with which packet `number` is sent: half of the packets are ECN-capable, with either
/// codepoint.
#[must_use]
pub const fn sent_ecn(number: u64) -> Ecn {
    match number % 4 {
        1 => Ecn::Ect0,
        3 => Ecn::Ect1,
        _ => Ecn::NotEct,
    }
}

impl PacketSpec {
    /// Its ECN field.
    #[must_use]
    pub const fn ecn(self) -> Ecn {
        sent_ecn(self.id)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> Bytes {
        let ack = self.len <= MIN_LEN;
        let len = self.len.max(MIN_LEN);
        let mut bytes = BytesMut::with_capacity(usize::from(len));
        bytes.put_slice(&[0x45, self.ecn().codepoint()]);
        bytes.put_u16(len);
        bytes.put_slice(&[
            0,
            0,
            DO_NOT_FRAGMENT,
            0,
            64,
            if ack { IS_TCP } else { IS_UDP },
            0,
            0,
        ]);
        let (own, peer) = (self.from.index(), self.from.other().index());
        for host in [own, peer] {
            bytes.put_slice(&[10, 77, 0, if host == 0 { 1 } else { 2 }]);
        }
        bytes.put_slice(&[0x10, 0, 0x20, 0]);
        if ack {
            bytes.put_u64(self.id);
            bytes.put_slice(&[0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        } else {
            let udp_len = len.saturating_sub(20);
            bytes.put_u16(udp_len);
            bytes.put_u16(0);
            bytes.put_u64(self.id);
            let mut filler = self.id;
            while bytes.len() < usize::from(len) {
                filler = filler.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                bytes.put_u8(filler.to_be_bytes()[0]);
            }
        }
        bytes.freeze()
    }
}

/// The number of a packet, if it has the format of [`PacketSpec::bytes`].
#[must_use]
pub fn number(packet: &[u8]) -> Option<u64> {
    let at = match *packet.get(PROTOCOL)? {
        IS_UDP => IPV4 + UDP,
        IS_TCP => IPV4 + TCP - 16,
        _ => return None,
    };
    let number = packet.get(at..at + 8)?;
    number.try_into().ok().map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::packet::{Kind, parse};

    #[test]
    fn packets_are_valid_ip_and_contain_their_number() {
        for (len, kind) in [
            (40, Kind::PureAck),
            (41, Kind::Opaque),
            (1200, Kind::Opaque),
        ] {
            let id = 0x0102_0304_0506_0708;
            let spec = PacketSpec {
                id,
                from: End::B,
                len,
            };
            let bytes = spec.bytes();
            assert_eq!(bytes.len(), usize::from(len));
            assert_eq!(number(&bytes), Some(id));
            let meta = parse(&bytes).unwrap();
            assert_eq!((meta.kind, meta.ecn), (kind, spec.ecn()));
        }
    }
}
