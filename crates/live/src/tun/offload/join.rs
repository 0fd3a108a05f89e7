//! Packets of one flow that follow each other, as one.
//!
//! Two are joined where splitting what they make gives both back, bit for bit, but for the identification of IPv4 packets
//! that may not be fragmented, which means nothing (RFC 6864, section 4.1).

use std::io::IoSlice;

use bytes::Bytes;

use super::Header;
use super::headers::{ACK, FLAGS, Headers, PSH, SEQUENCE, number};

/// Packets in one go at most; the kernel splits as many.
const MOST_PACKETS: usize = 64;
/// Bytes in one go at most: an IP packet has no more.
const MOST_BYTES: usize = 65_535;
/// Flows that are looked through for one that goes on, the newest first.
const LOOK_BACK: usize = 8;

/// Packets on their way to the kernel.
#[derive(Debug)]
pub struct Joiner {
    runs: Vec<Run>,
    joins_udp: bool,
}

/// What goes to the kernel in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Go {
    /// Packets.
    pub packets: usize,
    /// Their bytes, the headers of each included.
    pub bytes: usize,
}

/// Packets that are one to the kernel.
#[derive(Debug)]
struct Run {
    first: Bytes,
    /// Nothing where it is no packet that can be joined with any.
    joined: Option<Joined>,
}

/// What was joined with a first packet, and what can still be.
#[derive(Debug)]
struct Joined {
    headers: Headers,
    parts: Vec<Bytes>,
    /// Bytes of all packets, the headers once.
    len: usize,
    /// Whether nothing can follow: the last was shorter, or wants to be delivered.
    is_closed: bool,
    flags: u8,
}

impl Joiner {
    /// Nothing yet; UDP is joined where the device can split it.
    #[must_use]
    pub fn new(joins_udp: bool) -> Self {
        Self {
            runs: Vec::new(),
            joins_udp,
        }
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds a packet; packets of one flow keep their order.
    pub fn push(&mut self, packet: Bytes) {
        let headers = Headers::of(&packet).filter(|headers| self.can_be_joined(*headers, &packet));
        let Some(headers) = headers else {
            return self.runs.push(Run {
                first: packet,
                joined: None,
            });
        };
        let of_flow = |run: &&mut Run| is_same_flow(headers, &run.first, &packet);
        // The newest run of the flow alone: what comes behind it must not overtake it.
        let newest = self.runs.iter_mut().rev().take(LOOK_BACK).find(of_flow);
        if newest.is_some_and(|run| run.append(headers, &packet)) {
            return;
        }
        self.runs.push(Run::new(headers, packet));
    }

    /// Takes all that waits: `write` gets each go as slices, the kernel's header first, and what it stands for.
    pub fn drain(&mut self, mut write: impl FnMut(&[IoSlice<'_>], Go)) {
        for run in self.runs.drain(..) {
            run.write(&mut write);
        }
    }

    fn can_be_joined(&self, headers: Headers, packet: &[u8]) -> bool {
        let flags_fit = !headers.is_tcp || packet[headers.ip + FLAGS] & !PSH == ACK;
        (headers.is_tcp || self.joins_udp)
            && flags_fit
            && packet.len() > headers.all
            && headers.said_len(packet) == packet.len()
            && (!headers.is_v4 || headers.ip == 20)
            && headers.is_intact(packet)
    }
}

impl Run {
    fn new(headers: Headers, first: Bytes) -> Self {
        let flags = if headers.is_tcp {
            first[headers.ip + FLAGS]
        } else {
            0
        };
        let joined = Joined {
            headers,
            parts: Vec::new(),
            len: first.len(),
            is_closed: flags & PSH != 0,
            flags,
        };
        Self {
            first,
            joined: Some(joined),
        }
    }

    /// Appends a packet of the same flow, if it continues this one; nothing can follow otherwise.
    fn append(&mut self, headers: Headers, packet: &Bytes) -> bool {
        let Some(joined) = &mut self.joined else {
            return false;
        };
        if joined.headers != headers {
            joined.is_closed = true;
            return false;
        }
        let segment = self.first.len() - headers.all;
        let part = packet.slice(headers.all..);
        let fits = !joined.is_closed
            && part.len() <= segment
            && joined.len + part.len() <= MOST_BYTES
            && joined.parts.len() + 1 < MOST_PACKETS
            && is_next(headers, &self.first, packet, joined.len - headers.all)
            && has_next_id(headers, &self.first, packet, joined.parts.len() + 1);
        joined.is_closed = !fits || part.len() < segment;
        if fits {
            if headers.is_tcp {
                joined.flags |= packet[headers.ip + FLAGS];
                joined.is_closed |= joined.flags & PSH != 0;
            }
            joined.len += part.len();
            joined.parts.push(part);
        }
        fits
    }

    fn write(self, write: &mut impl FnMut(&[IoSlice<'_>], Go)) {
        let joined = self.joined.filter(|joined| !joined.parts.is_empty());
        let Some(joined) = joined else {
            let header = Header::default().encode();
            let (packets, bytes) = (1, self.first.len());
            let slices = [IoSlice::new(&header), IoSlice::new(&self.first)];
            return write(&slices, Go { packets, bytes });
        };
        let headers = joined.headers;
        let mut head = [0; 128];
        let head = &mut head[..headers.all];
        head.copy_from_slice(&self.first[..headers.all]);
        headers.set_len(head, joined.len);
        if headers.is_tcp {
            head[headers.ip + FLAGS] = joined.flags;
        }
        let at = headers.ip + headers.checksum_offset();
        let sum = super::checksum::fold(headers.pseudo_sum(head, joined.len));
        head[at..at + 2].copy_from_slice(&sum);
        let header = joined.header(self.first.len()).encode();
        let mut slices = Vec::with_capacity(joined.parts.len() + 3);
        slices.extend([
            IoSlice::new(&header),
            IoSlice::new(head),
            IoSlice::new(&self.first[headers.all..]),
        ]);
        slices.extend(joined.parts.iter().map(|part| IoSlice::new(part)));
        let (packets, bytes) = (
            joined.parts.len() + 1,
            joined.len + joined.parts.len() * headers.all,
        );
        write(&slices, Go { packets, bytes });
    }
}

impl Joined {
    fn header(&self, first_len: usize) -> Header {
        let short = |len: usize| u16::try_from(len).unwrap_or(u16::MAX);
        Header {
            needs_checksum: true,
            kind: self.headers.kind(),
            headers_len: short(self.headers.all),
            segment: short(first_len - self.headers.all),
            checksum_start: short(self.headers.ip),
            checksum_offset: short(self.headers.checksum_offset()),
        }
    }
}

/// Whether both have the same addresses and ports.
fn is_same_flow(headers: Headers, first: &[u8], packet: &[u8]) -> bool {
    let addresses = if headers.is_v4 { 12..20 } else { 8..40 };
    let ports = headers.ip..headers.ip + 4;
    first.len() >= ports.end
        && first[0] >> 4 == packet[0] >> 4
        && first[addresses.clone()] == packet[addresses]
        && first[ports.clone()] == packet[ports]
}

/// Whether the headers of `packet` are those that splitting gives it, `behind` bytes of payload after the first's.
fn is_next(headers: Headers, first: &[u8], packet: &[u8], behind: usize) -> bool {
    // Type of service, lifetime, protocol, flags of fragmentation: all but lengths, identification and checksums.
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
    let next = number(first, SEQUENCE).wrapping_add(u32::try_from(behind).unwrap_or(0));
    // The number acknowledged, the window, the urgent pointer, the options.
    same_ip
        && number(packet, SEQUENCE) == next
        && first[8..FLAGS] == packet[8..FLAGS]
        && first[14..16] == packet[14..16]
        && first[18..] == packet[18..]
}

/// Whether `packet` has the identification of the `n`-th after the first, or it means nothing.
fn has_next_id(headers: Headers, first: &[u8], packet: &[u8], n: usize) -> bool {
    const DONT_FRAGMENT: u8 = 0x40;
    if !headers.is_v4 || packet[6] & DONT_FRAGMENT != 0 {
        return true;
    }
    let id = |packet: &[u8]| u16::from_be_bytes([packet[4], packet[5]]);
    id(packet) == id(first).wrapping_add(u16::try_from(n).unwrap_or(0))
}
