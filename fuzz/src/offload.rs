//! Segmentation offload: packets that are merged for the kernel, and split when received from it.
//! UDP ports: datagrams that are read from the packets.

use bytes::Bytes;
use polypath_core::time::Time;
use polypath_live::tun::offload::merge::Merger;
use polypath_live::tun::offload::split::split;
use polypath_live::tun::offload::{HEADER_LEN, VirtioHeader};
use polypath_live::udp_ports::PeerDatagrams;

/// The offsets of identification, flags and checksum in an IPv4 header (RFC 791, section 3.1).
const IDENTIFICATION: std::ops::Range<usize> = 4..6;
const FLAGS: usize = 6;
const CHECKSUM: std::ops::Range<usize> = 10..12;
const DONT_FRAGMENT: u8 = 0x40;

/// Splits superpackets of the fuzzer into packets of one flow; loses, duplicates, corrupts and
/// swaps some; and merges the rest. Splitting the result returns all of them, bit for bit except
/// for the identification of IPv4 packets with the don't-fragment bit. A node with UDP ports reads
/// the same packets.
pub fn check(bytes: &[u8]) {
    let mut packets = Vec::new();
    let mut rest = bytes;
    while let Some((action, after)) = rest.split_first() {
        rest = perform(*action, after, &mut packets);
    }
    check_datagrams(&packets);
    let mut merger = Merger::new(bytes.len() % 2 == 0);
    for packet in &packets {
        merger.push(packet.clone());
    }
    let mut split_again = Vec::new();
    merger.drain(|slices, counts| {
        let superpacket: Vec<u8> = slices
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        let before = split_again.len();
        split_again
            .extend(split_superpacket(&superpacket).expect("a merged superpacket can be split"));
        let all: usize = split_again[before..].iter().map(Bytes::len).sum();
        assert_eq!(
            (counts.packets, counts.bytes),
            (split_again.len() - before, all)
        );
    });
    assert!(merger.is_empty());
    assert_eq!(sorted(&split_again), sorted(&packets));
}

/// Datagrams are no longer than the packets that they came in, and few are incomplete.
fn check_datagrams(packets: &[Bytes]) {
    let mut datagrams = PeerDatagrams::default();
    let mut read = 0;
    for packet in packets {
        read += packet.len();
        if let Ok(Some(datagram)) = datagrams.read(Time::ZERO, packet) {
            assert!(datagram.payload.len() <= read);
        }
        assert!(datagrams.incomplete() <= 16);
    }
}

/// Performs one action with its arguments from `bytes`, and returns the rest.
fn perform<'a>(action: u8, bytes: &'a [u8], packets: &mut Vec<Bytes>) -> &'a [u8] {
    let argument = bytes.first().copied().map_or(0, usize::from);
    let which = argument.checked_rem(packets.len());
    match (action % 8, which) {
        (0, Some(which)) => drop(packets.remove(which)),
        (1, Some(which)) => packets.push(packets[which].clone()),
        (2, Some(which)) => packets.swap(0, which),
        (3, Some(which)) => {
            let mut changed = packets[which].to_vec();
            if let Some(byte) = bytes.get(1)
                && let Some(at) = usize::from(*byte).checked_rem(changed.len())
            {
                changed[at] ^= action | 1;
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
            let (superpacket, rest) = bytes.split_at(len.min(bytes.len()));
            packets.extend(
                split_superpacket(superpacket.get(1..).unwrap_or_default()).unwrap_or_default(),
            );
            return rest;
        }
    }
    bytes.get(2..).unwrap_or_default()
}

/// The packets of a superpacket with its header.
fn split_superpacket(superpacket: &[u8]) -> Option<Vec<Bytes>> {
    let (header, packet) = superpacket.split_first_chunk::<HEADER_LEN>()?;
    let header = VirtioHeader::decode(header).ok()?;
    let (mut packet, mut packets) = (packet.to_vec(), Vec::new());
    let outcome = split(header, &mut packet, |len, fill| {
        let mut packet = vec![0; len];
        fill(&mut packet);
        packets.push(packet.into());
    });
    if outcome.is_err() {
        assert!(packets.is_empty(), "a failed split writes no packets");
        return None;
    }
    Some(packets)
}

/// The packets in a canonical order, with meaningless fields zeroed.
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
