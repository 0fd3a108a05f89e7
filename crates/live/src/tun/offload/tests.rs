use super::merge::{Batch, Merger};
use super::split::split;
use super::*;
use bytes::Bytes;
use etherparse::PacketBuilder;
use proptest::prelude::*;

mod exhaustive;

/// One end of a flow that sends packets.
#[derive(Clone, Copy, Debug)]
struct Flow {
    is_v4: bool,
    is_tcp: bool,
    port: u16,
}

impl Flow {
    /// A packet of `payload` bytes, the first of which is number `at` of the flow.
    fn packet(self, at: u32, payload: u16, flags: u8) -> Bytes {
        self.numbered(0, at, payload, flags)
    }

    /// A packet with an IPv4 identification.
    fn numbered(self, id: u16, at: u32, payload: u16, flags: u8) -> Bytes {
        let payload: Vec<u8> = (0..payload)
            .map(|n| at.wrapping_add(n.into()).to_le_bytes()[0])
            .collect();
        let mut packet = Vec::new();
        let ip = if self.is_v4 {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        } else {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        };
        if self.is_tcp {
            let mut tcp = ip.tcp(self.port, 80, at, 1000).ack(77);
            if flags & 8 != 0 {
                tcp = tcp.psh();
            }
            if flags & 1 != 0 {
                tcp = tcp.fin();
            }
            tcp.write(&mut packet, &payload).unwrap();
        } else {
            ip.udp(self.port, 80).write(&mut packet, &payload).unwrap();
        }
        if self.is_v4 {
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            let headers = super::headers::Headers::of(&packet).unwrap();
            let len = packet.len();
            headers.set_len(&mut packet, len);
        }
        packet.into()
    }
}

/// The batches that the kernel receives of `packets`.
fn merge(packets: &[Bytes]) -> Vec<(Batch, Vec<u8>)> {
    let mut merger = Merger::new(true);
    for packet in packets {
        merger.push(packet.clone());
    }
    let mut batches = Vec::new();
    merger.drain(|slices, batch| {
        let bytes = slices.iter().flat_map(|slice| slice.iter().copied());
        batches.push((batch, bytes.collect()));
    });
    assert!(merger.is_empty());
    batches
}

fn split_batch(bytes: &[u8]) -> Vec<Bytes> {
    let mut bytes = bytes.to_vec();
    let (header, packet) = bytes.split_first_chunk_mut::<HEADER_LEN>().unwrap();
    let mut packets = Vec::new();
    split(
        VirtioHeader::decode(header).unwrap(),
        packet,
        |len, fill| {
            let mut packet = vec![0; len];
            fill(&mut packet);
            packets.push(packet.into());
        },
    )
    .unwrap();
    packets
}

fn flow(is_v4: bool, is_tcp: bool) -> Flow {
    Flow {
        is_v4,
        is_tcp,
        port: 5000,
    }
}

#[test]
fn a_merged_flow_is_split_into_the_same_packets() {
    for (is_v4, is_tcp) in [(true, true), (true, false), (false, true), (false, false)] {
        let flow = flow(is_v4, is_tcp);
        let lens = [1000_u16, 1000, 1000, 300];
        let at = |n: usize| lens[..n].iter().map(|len| u32::from(*len)).sum::<u32>();
        let packets: Vec<Bytes> = (9_u16..)
            .zip(0..4)
            .map(|(id, n)| flow.numbered(id, at(n), lens[n], if n == 3 { 8 } else { 0 }))
            .collect();
        let batches = merge(&packets);
        assert_eq!(batches.len(), 1, "{flow:?}");
        let bytes = packets.iter().map(Bytes::len).sum();
        assert_eq!(batches[0].0, Batch { packets: 4, bytes });
        assert_eq!(split_batch(&batches[0].1), packets, "{flow:?}");
    }
}

#[test]
fn packets_that_do_not_follow_are_not_merged() {
    let tcp = flow(true, true);
    let batches = |packets: &[Bytes]| {
        merge(packets)
            .iter()
            .map(|(batch, _)| batch.packets)
            .collect::<Vec<_>>()
    };
    let first = tcp.packet(0, 500, 0);
    assert_eq!(
        batches(&[first.clone(), tcp.packet(501, 500, 0)]),
        [1, 1],
        "a gap"
    );
    assert_eq!(
        batches(&[first.clone(), tcp.packet(500, 501, 0)]),
        [1, 1],
        "longer"
    );
    assert_eq!(
        batches(&[first.clone(), tcp.packet(500, 500, 1)]),
        [1, 1],
        "the end"
    );
    assert_eq!(
        batches(&[tcp.packet(0, 500, 8), tcp.packet(500, 500, 0)]),
        [1, 1],
        "pushed"
    );
    let short = [
        first.clone(),
        tcp.packet(500, 400, 0),
        tcp.packet(900, 400, 0),
    ];
    assert_eq!(batches(&short), [2, 1], "behind a shorter one");
    let mut broken = tcp.packet(500, 500, 0).to_vec();
    broken[60] ^= 1;
    assert_eq!(
        batches(&[first.clone(), broken.into()]),
        [1, 1],
        "a wrong checksum stays wrong"
    );
    let mut other = tcp.packet(500, 500, 0).to_vec();
    other[1] = 3;
    super::headers::Headers::of(&other)
        .unwrap()
        .set_len(&mut other, 540);
    assert_eq!(
        batches(&[first.clone(), other.into()]),
        [1, 1],
        "another ECN field"
    );
    let barrier = [first, tcp.packet(500, 0, 1), tcp.packet(500, 500, 0)];
    assert_eq!(
        batches(&barrier),
        [1, 1, 1],
        "nothing overtakes what was sent before"
    );
}

#[test]
fn packets_of_a_flow_keep_their_ecn_marks() {
    let marks = [0, 1, 2, 3, 3, 2, 2, 0, 0, 1, 3];
    for (is_v4, is_tcp) in [(true, true), (true, false), (false, true), (false, false)] {
        let flow = flow(is_v4, is_tcp);
        let packets: Vec<Bytes> = (0..)
            .zip(marks)
            .map(|(n, mark)| {
                let mut packet = flow.numbered(n, u32::from(n) * 500, 500, 0).to_vec();
                packet[1] |= if is_v4 { mark } else { mark << 4 };
                let len = packet.len();
                super::headers::Headers::of(&packet)
                    .unwrap()
                    .set_len(&mut packet, len);
                packet.into()
            })
            .collect();
        let batches = merge(&packets);
        let sizes: Vec<usize> = batches.iter().map(|(batch, _)| batch.packets).collect();
        assert_eq!(sizes, [1, 1, 1, 2, 2, 2, 1, 1], "{flow:?}");
        let split: Vec<Bytes> = batches
            .iter()
            .flat_map(|(_, bytes)| split_batch(bytes))
            .collect();
        assert_eq!(split, packets, "{flow:?}");
    }
}

#[test]
fn a_packet_with_other_options_is_not_overtaken() {
    let tcp = flow(true, true);
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let builder = builder.tcp(tcp.port, 80, 500, 1000).ack(77);
    let mut with_options = Vec::new();
    builder
        .options_raw(&[1, 1, 1, 1])
        .unwrap()
        .write(&mut with_options, &[7; 500])
        .unwrap();
    let packets = [
        tcp.packet(0, 500, 0),
        with_options.into(),
        tcp.packet(500, 500, 0),
    ];
    let batches = merge(&packets);
    assert_eq!(batches.len(), 3);
    let again: Vec<Bytes> = batches
        .iter()
        .flat_map(|(_, bytes)| split_batch(bytes))
        .collect();
    assert_eq!(again, packets);
}

#[test]
fn packets_with_ipv6_extensions_are_split_behind_them() {
    const OPTIONS: [u8; 8] = [6, 0, 1, 4, 0, 0, 0, 0];
    let packets = [0, 500, 1000].map(|at| flow(false, true).packet(at, 500, 0));
    let (_, merged) = merge(&packets).remove(0);
    let (header, packet) = merged.split_first_chunk::<HEADER_LEN>().unwrap();
    let mut header = VirtioHeader::decode(header).unwrap();
    header.checksum_start += 8;
    let mut long = [&packet[..40], &OPTIONS, &packet[40..]].concat();
    let len = u16::from_be_bytes([long[4], long[5]]) + 8;
    long[4..6].copy_from_slice(&len.to_be_bytes());
    long[6] = 60;
    let split = split_batch(&[&header.encode()[..], &long].concat());
    assert_eq!(split.len(), 3);
    for (split, packet) in split.iter().zip(&packets) {
        assert_eq!(split[40..48], OPTIONS);
        assert_eq!(
            usize::from(u16::from_be_bytes([split[4], split[5]])),
            packet.len() - 40 + 8
        );
        assert_eq!(split[48..], packet[40..], "checksum and all");
    }
}

#[test]
fn a_batch_is_no_longer_than_an_ip_packet() {
    let udp = flow(false, false);
    let packets: Vec<Bytes> = (0..100).map(|n| udp.packet(n * 1400, 1400, 0)).collect();
    let batches = merge(&packets);
    assert!(batches.len() > 1 && batches.iter().all(|(_, bytes)| bytes.len() <= MAX_LEN));
    let again: Vec<Bytes> = batches
        .iter()
        .flat_map(|(_, bytes)| split_batch(bytes))
        .collect();
    assert_eq!(again, packets);
}

#[test]
fn a_partial_checksum_is_completed() {
    let whole = flow(true, true).packet(9, 31, 0);
    let mut packet = whole.to_vec();
    let headers = super::headers::Headers::of(&whole).unwrap();
    let pseudo = checksum::fold(headers.pseudo_sum(&packet, packet.len()));
    packet[36..38].copy_from_slice(&pseudo);
    let header = VirtioHeader {
        needs_checksum: true,
        checksum_start: 20,
        checksum_offset: 16,
        ..VirtioHeader::default()
    };
    let bytes = [&header.encode()[..], &packet].concat();
    assert_eq!(split_batch(&bytes), [whole]);
}

proptest! {
    /// For any packets in any order: all are delivered unchanged, and each flow in its order.
    #[test]
    fn merging_and_splitting_preserves_each_flow(
        sends in prop::collection::vec((0..4_u16, 1..3_u16, 0..10_u8, 0..20_u8), 1..80)
    ) {
        let (mut sent, mut ids) = ([0_u32; 4], [0_u16; 4]);
        let mut packets = Vec::new();
        for (which, hundreds, flags, gap) in sends {
            let flow = Flow { is_v4: which < 2, is_tcp: which % 2 == 0, port: which };
            let at = &mut sent[usize::from(which)];
            *at += u32::from(gap == 0);
            let id = &mut ids[usize::from(which)];
            *id += 1;
            packets.push(flow.numbered(*id, *at, hundreds * 100, if flags > 7 { flags } else { 0 }));
            *at += u32::from(hundreds) * 100;
        }
        let batches = merge(&packets);
        let again: Vec<Bytes> = batches.iter().flat_map(|(_, bytes)| split_batch(bytes)).collect();
        prop_assert_eq!(again.len(), packets.len());
        let port = |packet: &Bytes| {
            let ip = if packet[0] >> 4 == 4 { 20 } else { 40 };
            (ip, packet[ip + 1])
        };
        for packet in &packets {
            let of_flow = |all: &[Bytes]| -> Vec<Bytes> {
                all.iter().filter(|other| port(other) == port(packet)).cloned().collect()
            };
            prop_assert_eq!(of_flow(&again), of_flow(&packets));
        }
    }

    /// A malicious peer sends correct checksums.
    #[test]
    fn unusual_but_intact_packets_are_preserved(
        odd in prop::collection::vec((0..2_u16, any::<bool>(), 0..60_usize, any::<u8>()), 1..12)
    ) {
        let mut packets = Vec::new();
        for (n, (which, is_v4, at, to)) in (0..).zip(odd) {
            let flow = Flow { is_v4, is_tcp: which == 0, port: 1 };
            let mut packet = flow.numbered(n, u32::from(n) * 40, 40, 0).to_vec();
            let at = at % packet.len();
            packet[at] = to;
            if let Some(headers) = super::headers::Headers::of(&packet) {
                if headers.stated_len(&packet) == packet.len() {
                    let len = packet.len();
                    headers.set_len(&mut packet, len);
                }
                headers.set_checksum(&mut packet);
            }
            packets.push(Bytes::from(packet));
        }
        let mut again: Vec<Bytes> = merge(&packets).iter().flat_map(|(_, batch)| split_batch(batch)).collect();
        // Those of one flow keep their order, which the property above shows; the identification
        // may change.
        let mut sent = packets;
        for packet in again.iter_mut().chain(&mut sent) {
            let mut bytes = packet.to_vec();
            if bytes[0] >> 4 == 4 {
                bytes[4..6].fill(0);
                bytes[10..12].fill(0);
            }
            *packet = bytes.into();
        }
        again.sort();
        sent.sort();
        prop_assert_eq!(again, sent);
    }

    /// The peer's packets are arbitrary.
    #[test]
    fn any_bytes_are_merged_and_split_without_panic(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..6),
        header: [u8; HEADER_LEN],
    ) {
        let packets: Vec<Bytes> = packets.into_iter().map(Bytes::from).collect();
        for (_, bytes) in merge(&packets) {
            split_batch(&bytes);
        }
        for packet in &packets {
            if let Ok(header) = VirtioHeader::decode(&header) {
                let _ = split(header, &mut packet.to_vec(), |len, fill| fill(&mut vec![0; len]));
            }
        }
    }
}
