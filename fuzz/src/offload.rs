//! Packets that are joined for the kernel, and what it hands over in one go.

use bytes::Bytes;
use polypath_live::tun::offload::merge::Merger;
use polypath_live::tun::offload::split::split;
use polypath_live::tun::offload::{HEADER_LEN, VirtioHeader};

/// Where an IPv4 packet has its identification, its flags and its checksum (RFC 791, section 3.1).
const IDENTIFICATION: std::ops::Range<usize> = 4..6;
const FLAGS: usize = 6;
const CHECKSUM: std::ops::Range<usize> = 10..12;
const DONT_FRAGMENT: u8 = 0x40;

/// Splits goes that the fuzzer makes, which gives packets of flows that continue; loses, doubles, changes and swaps some;
/// and joins the rest. Splitting what was joined gives all of them back, bit for bit, but for the identification of IPv4
/// packets that may not be fragmented.
pub fn check(bytes: &[u8]) {
    let mut packets = Vec::new();
    let mut rest = bytes;
    while let Some((deed, after)) = rest.split_first() {
        rest = act(*deed, after, &mut packets);
    }
    let mut merger = Merger::new(bytes.len() % 2 == 0);
    for packet in &packets {
        merger.push(packet.clone());
    }
    let mut again = Vec::new();
    merger.drain(|slices, told| {
        let go: Vec<u8> = slices
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        let before = again.len();
        again.extend(split_go(&go).expect("what was joined is split"));
        let all: usize = again[before..].iter().map(Bytes::len).sum();
        assert_eq!((told.packets, told.bytes), (again.len() - before, all));
    });
    assert!(merger.is_empty());
    assert_eq!(sorted(&again), sorted(&packets));
}

/// Does as `deed` says with what follows, and gives the rest.
fn act<'a>(deed: u8, bytes: &'a [u8], packets: &mut Vec<Bytes>) -> &'a [u8] {
    let argument = bytes.first().copied().map_or(0, usize::from);
    let which = argument.checked_rem(packets.len());
    match (deed % 8, which) {
        (0, Some(which)) => drop(packets.remove(which)),
        (1, Some(which)) => packets.push(packets[which].clone()),
        (2, Some(which)) => packets.swap(0, which),
        (3, Some(which)) => {
            let mut changed = packets[which].to_vec();
            if let Some(byte) = bytes.get(1)
                && let Some(at) = usize::from(*byte).checked_rem(changed.len())
            {
                changed[at] ^= deed | 1;
                packets[which] = changed.into();
            }
        }
        (4, _) => {
            let (packet, rest) = bytes.split_at(argument.min(bytes.len()));
            packets.push(Bytes::copy_from_slice(packet));
            return rest;
        }
        _ => {
            let len = argument * 8;
            let (go, rest) = bytes.split_at(len.min(bytes.len()));
            packets.extend(split_go(go.get(1..).unwrap_or_default()).unwrap_or_default());
            return rest;
        }
    }
    bytes.get(2..).unwrap_or_default()
}

/// The packets that a header and what follows it stand for.
fn split_go(go: &[u8]) -> Option<Vec<Bytes>> {
    let (header, packet) = go.split_first_chunk::<HEADER_LEN>()?;
    let header = VirtioHeader::decode(header).ok()?;
    let (mut packet, mut packets) = (packet.to_vec(), Vec::new());
    let outcome = split(header, &mut packet, |len, fill| {
        let mut packet = vec![0; len];
        fill(&mut packet);
        packets.push(packet.into());
    });
    if outcome.is_err() {
        assert!(
            packets.is_empty(),
            "nothing is written of what cannot be split"
        );
        return None;
    }
    Some(packets)
}

/// Packets without their order, and without what means nothing in them.
fn sorted(packets: &[Bytes]) -> Vec<Vec<u8>> {
    let mut packets: Vec<Vec<u8>> = packets.iter().map(|packet| packet.to_vec()).collect();
    for packet in &mut packets {
        let is_v4 = packet.first().is_some_and(|first| first >> 4 == 4);
        if is_v4 && packet.len() >= CHECKSUM.end && packet[FLAGS] & DONT_FRAGMENT != 0 {
            packet[IDENTIFICATION].fill(0);
            packet[CHECKSUM].fill(0);
        }
    }
    packets.sort();
    packets
}
