//! Merging and splitting of all small packets.

use super::*;
use crate::buffer::PacketBuffer;
use crate::tun::batch::split_read;
use std::collections::VecDeque;

const FLOWS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];
const FIN: u8 = 1;
const PSH: u8 = 8;

/// The choices for one packet of a flow: its payload in bytes, its flags, and the bytes of the flow
/// that are missing before it.
fn choices() -> Vec<(u16, u8, u32)> {
    let mut choices = Vec::new();
    for len in 0..3 {
        for flags in [0, PSH, FIN | PSH] {
            for gap in [0, 1] {
                choices.push((len, flags, gap));
            }
        }
    }
    choices
}

/// All sequences of `count` choices, each as packets of the flow.
fn check_sequences(flow: Flow, count: u32, choices: &[(u16, u8, u32)]) {
    for number in 0..choices.len().pow(count) {
        let mut at = u32::MAX - 3;
        let mut packets = Vec::new();
        for place in 0..count {
            let (len, flags, gap) = choices[number / choices.len().pow(place) % choices.len()];
            at = at.wrapping_add(gap);
            // Identifications follow each other and pass zero: where they do not, and fragmentation is
            // forbidden, merging may change them.
            let id = u16::try_from(place).unwrap().wrapping_sub(2);
            packets.push(flow.numbered(id, at, len, flags));
            at = at.wrapping_add(len.into());
        }
        let batches = merge(&packets);
        let again: Vec<Bytes> = batches
            .iter()
            .flat_map(|(_, bytes)| split_batch(bytes))
            .collect();
        assert_eq!(again, packets, "{flow:?}");
        for (batch, bytes) in &batches {
            let split = split_batch(bytes);
            let sum = split.iter().map(Bytes::len).sum();
            assert_eq!((batch.packets, batch.bytes), (split.len(), sum));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn every_sequence_of_small_packets_is_split_into_itself() {
    let choices = choices();
    for (is_v4, is_tcp) in FLOWS {
        check_sequences(flow(is_v4, is_tcp), 3, &choices);
        check_sequences(flow(is_v4, is_tcp), 5, &[(1, 0, 0), (2, 0, 0), (3, PSH, 0)]);
    }
}

/// A packet of the kernel: any flow, payload and segment size; splitting gives the payload in
/// segments, each a complete packet.
#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn every_payload_is_split_into_segments_of_every_size() {
    for (is_v4, is_tcp) in FLOWS {
        let flow = flow(is_v4, is_tcp);
        for len in 1..=20 {
            let whole = flow.numbered(u16::MAX, u32::MAX - 9, len, FIN | PSH);
            let headers = headers::Headers::of(&whole).unwrap();
            for segment in 1..=21 {
                let header = VirtioHeader {
                    needs_checksum: true,
                    kind: headers.kind(),
                    segment,
                    checksum_start: u16::try_from(headers.ip).unwrap(),
                    ..VirtioHeader::default()
                };
                let parts = split_batch(&[&header.encode()[..], &whole].concat());
                assert_eq!(parts.len(), usize::from(len.div_ceil(segment)));
                let payload: Vec<u8> = parts
                    .iter()
                    .flat_map(|part| part[headers.all..].iter().copied())
                    .collect();
                assert_eq!(payload, whole[headers.all..]);
                for (n, part) in (0..).zip(&parts) {
                    let is_last = usize::from(n) + 1 == parts.len();
                    let expected = flow.numbered(
                        u16::MAX.wrapping_add(n),
                        (u32::MAX - 9).wrapping_add(u32::from(n * segment)),
                        u16::try_from(part.len() - headers.all).unwrap(),
                        if is_last { FIN | PSH } else { 0 },
                    );
                    assert_eq!(*part, expected, "{flow:?}, {len} B in {segment} B");
                }
            }
        }
    }
}

/// One read of the kernel, at a device with any MTU: each packet arrives whole, or is counted as lost
/// if it exceeds the MTU.
#[test]
fn every_read_is_split_into_packets_or_counted() {
    for (is_v4, is_tcp) in FLOWS {
        let flow = flow(is_v4, is_tcp);
        let packets: Vec<Bytes> = (0..)
            .zip([6, 6, 6, 2])
            .map(|(n, len)| flow.numbered(n, u32::from(n) * 6, len, if len == 2 { PSH } else { 0 }))
            .collect();
        let [(_, read)] = &merge(&packets)[..] else {
            panic!("one batch");
        };
        let longest = packets[0].len();
        for mtu in longest - 6..=longest + 1 {
            let (mut arrived, mut buffer) = (VecDeque::new(), PacketBuffer::new(mtu));
            let lost = split_read(&mut read.clone(), &mut buffer, &mut arrived);
            let fitting: Vec<&Bytes> = packets
                .iter()
                .filter(|packet| packet.len() <= mtu)
                .collect();
            assert_eq!(
                arrived.iter().collect::<Vec<_>>(),
                fitting,
                "{flow:?}, {mtu} B"
            );
            assert_eq!(lost, (packets.len() - fitting.len()) as u64);
        }
        for len in 0..HEADER_LEN {
            let (mut arrived, mut buffer) = (VecDeque::new(), PacketBuffer::new(longest));
            let lost = split_read(&mut read.clone()[..len], &mut buffer, &mut arrived);
            assert_eq!((lost, arrived.len()), (1, 0));
        }
    }
}

/// Every pair of flags and kind is refused, or written as it was but for the bits that have no
/// meaning here.
#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn every_kind_in_a_header_is_exact() {
    for flags in 0..=u8::MAX {
        for kind in 0..=u8::MAX {
            let bytes = [flags, kind, 1, 2, 3, 4, 5, 6, 7, 8];
            let is_known = matches!(kind & !ECN, 0 | 1 | 4 | 5);
            match VirtioHeader::decode(&bytes) {
                Ok(header) => {
                    let canonical = [flags & NEEDS_CHECKSUM, kind & !ECN, 1, 2, 3, 4, 5, 6, 7, 8];
                    assert!(is_known);
                    assert_eq!(header.encode(), canonical);
                }
                Err(InvalidHeader) => assert!(!is_known, "{kind}"),
            }
        }
    }
}
