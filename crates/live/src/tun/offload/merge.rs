//! Merges consecutive packets of a flow, for the kernel to receive as one.
//!
//! Two packets are merged if splitting the result returns both bit for bit, except for the
//! identification of IPv4 packets with don't-fragment, which has no meaning (RFC 6864, section
//! 4.1).

use std::io::IoSlice;

use bytes::Bytes;

use super::VirtioHeader;
use super::headers::{ACK, FLAGS, Headers, PSH, SEQUENCE, number};

/// The most packets in a batch; the kernel splits as many.
const MAX_PACKETS: usize = 64;
/// The most bytes in a batch: those of an IP packet.
const MAX_BYTES: usize = 65_535;
/// The number of recent batches that are searched for one that a packet continues.
const SEARCH_DEPTH: usize = 8;

/// The queue of packets to the kernel.
#[derive(Debug)]
pub struct Merger {
    runs: Vec<PacketRun>,
    merges_udp: bool,
}

/// The size of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of packets.
    pub packets: usize,
    /// The bytes of all packets, headers included.
    pub bytes: usize,
}

/// Packets that the kernel receives as one.
#[derive(Debug)]
struct PacketRun {
    first: Bytes,
    /// None if the packet can be merged with none.
    merged: Option<Merged>,
}

/// The packets that are merged with a first one.
#[derive(Debug)]
struct Merged {
    headers: Headers,
    parts: Vec<Bytes>,
    /// The bytes of the merged packet.
    len: usize,
    /// Whether no packet can follow: the last one was shorter, or has PSH set.
    is_closed: bool,
    flags: u8,
}

impl Merger {
    /// An empty queue; `merges_udp` if the device can split UDP.
    #[must_use]
    pub fn new(merges_udp: bool) -> Self {
        Self {
            runs: Vec::new(),
            merges_udp,
        }
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds a packet; the packets of a flow keep their order.
    pub fn push(&mut self, packet: Bytes) {
        let headers = Headers::of(&packet).filter(|headers| self.can_be_merged(*headers, &packet));
        let Some(headers) = headers else {
            return self.runs.push(PacketRun {
                first: packet,
                merged: None,
            });
        };
        let of_flow = |run: &&mut PacketRun| is_same_flow(headers, &run.first, &packet);
        // Only the newest batch of the flow: a packet must not overtake it.
        let newest = self.runs.iter_mut().rev().take(SEARCH_DEPTH).find(of_flow);
        if newest.is_some_and(|run| run.append(headers, &packet)) {
            return;
        }
        self.runs.push(PacketRun::new(headers, packet));
    }

    /// Empties the queue: `write` receives each batch as slices, the kernel's header first, and its
    /// size.
    pub fn drain(&mut self, mut write: impl FnMut(&[IoSlice<'_>], Batch)) {
        for run in self.runs.drain(..) {
            run.write(&mut write);
        }
    }

    fn can_be_merged(&self, headers: Headers, packet: &[u8]) -> bool {
        let flags_fit = !headers.is_tcp || packet[headers.ip + FLAGS] & !PSH == ACK;
        (headers.is_tcp || self.merges_udp)
            && flags_fit
            && packet.len() > headers.all
            && headers.stated_len(packet) == packet.len()
            && (!headers.is_v4 || headers.ip == 20)
            && headers.is_intact(packet)
    }
}

impl PacketRun {
    fn new(headers: Headers, first: Bytes) -> Self {
        let flags = if headers.is_tcp {
            first[headers.ip + FLAGS]
        } else {
            0
        };
        let merged = Merged {
            headers,
            parts: Vec::new(),
            len: first.len(),
            is_closed: flags & PSH != 0,
            flags,
        };
        Self {
            first,
            merged: Some(merged),
        }
    }

    /// Appends a packet of the same flow if it continues this batch, and closes the batch
    /// otherwise.
    fn append(&mut self, headers: Headers, packet: &Bytes) -> bool {
        let Some(merged) = &mut self.merged else {
            return false;
        };
        if merged.headers != headers {
            merged.is_closed = true;
            return false;
        }
        let segment = self.first.len() - headers.all;
        let part = packet.slice(headers.all..);
        let fits = !merged.is_closed
            && part.len() <= segment
            && merged.len + part.len() <= MAX_BYTES
            && merged.parts.len() + 1 < MAX_PACKETS
            && is_next(headers, &self.first, packet, merged.len - headers.all)
            && has_next_id(headers, &self.first, packet, merged.parts.len() + 1);
        merged.is_closed = !fits || part.len() < segment;
        if fits {
            if headers.is_tcp {
                merged.flags |= packet[headers.ip + FLAGS];
                merged.is_closed |= merged.flags & PSH != 0;
            }
            merged.len += part.len();
            merged.parts.push(part);
        }
        fits
    }

    fn write(self, write: &mut impl FnMut(&[IoSlice<'_>], Batch)) {
        let merged = self.merged.filter(|merged| !merged.parts.is_empty());
        let Some(merged) = merged else {
            let header = VirtioHeader::default().encode();
            let (packets, bytes) = (1, self.first.len());
            let slices = [IoSlice::new(&header), IoSlice::new(&self.first)];
            return write(&slices, Batch { packets, bytes });
        };
        let headers = merged.headers;
        let mut head = [0; 128];
        let head = &mut head[..headers.all];
        head.copy_from_slice(&self.first[..headers.all]);
        headers.set_len(head, merged.len);
        if headers.is_tcp {
            head[headers.ip + FLAGS] = merged.flags;
        }
        let at = headers.ip + headers.checksum_offset();
        let sum = super::checksum::fold(headers.pseudo_sum(head, merged.len));
        head[at..at + 2].copy_from_slice(&sum);
        let header = merged.header(self.first.len()).encode();
        let mut slices = Vec::with_capacity(merged.parts.len() + 3);
        slices.extend([
            IoSlice::new(&header),
            IoSlice::new(head),
            IoSlice::new(&self.first[headers.all..]),
        ]);
        slices.extend(merged.parts.iter().map(|part| IoSlice::new(part)));
        let (packets, bytes) = (
            merged.parts.len() + 1,
            merged.len + merged.parts.len() * headers.all,
        );
        write(&slices, Batch { packets, bytes });
    }
}

impl Merged {
    fn header(&self, first_len: usize) -> VirtioHeader {
        let short = |len: usize| u16::try_from(len).unwrap_or(u16::MAX);
        VirtioHeader {
            needs_checksum: true,
            kind: self.headers.kind(),
            headers_len: short(self.headers.all),
            segment: short(first_len - self.headers.all),
            checksum_start: short(self.headers.ip),
            checksum_offset: short(self.headers.checksum_offset()),
        }
    }
}

/// Whether both packets have the same addresses and ports.
fn is_same_flow(headers: Headers, first: &[u8], packet: &[u8]) -> bool {
    let addresses = if headers.is_v4 { 12..20 } else { 8..40 };
    let ports = headers.ip..headers.ip + 4;
    first.len() >= ports.end
        && first[0] >> 4 == packet[0] >> 4
        && first[addresses.clone()] == packet[addresses]
        && first[ports.clone()] == packet[ports]
}

/// Whether `packet` has the headers that splitting generates `offset` bytes of payload after
/// `first`.
fn is_next(headers: Headers, first: &[u8], packet: &[u8], offset: usize) -> bool {
    // Traffic class, TTL, protocol and fragment flags: all but lengths, identification and
    // checksums.
    let same_ip = if headers.is_v4 {
        first[..2] == packet[..2] && first[6..10] == packet[6..10]
    } else {
        first[..4] == packet[..4] && first[6..8] == packet[6..8]
    };
    if !headers.is_tcp {
        return same_ip;
    }
    let (first, packet) = (
        &first[headers.ip..headers.all],
        &packet[headers.ip..headers.all],
    );
    let next = number(first, SEQUENCE).wrapping_add(u32::try_from(offset).unwrap_or(0));
    // The acknowledgement number, window, urgent pointer and options.
    same_ip
        && number(packet, SEQUENCE) == next
        && first[8..FLAGS] == packet[8..FLAGS]
        && first[14..16] == packet[14..16]
        && first[18..] == packet[18..]
}

/// Whether `packet` has the identification of the `n`-th packet after `first`, or needs none.
fn has_next_id(headers: Headers, first: &[u8], packet: &[u8], n: usize) -> bool {
    const DONT_FRAGMENT: u8 = 0x40;
    if !headers.is_v4 || packet[6] & DONT_FRAGMENT != 0 {
        return true;
    }
    let id = |packet: &[u8]| u16::from_be_bytes([packet[4], packet[5]]);
    id(packet) == id(first).wrapping_add(u16::try_from(n).unwrap_or(0))
}
