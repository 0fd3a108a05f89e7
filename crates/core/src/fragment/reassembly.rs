//! The receiver of fragments: keeps those of each packet until enough have arrived.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::{Code, Fragment, FragmentHeader};
use crate::frame::Payload;
use crate::packet::Ecn;

/// The maximum number of packets of which fragments are kept. Fragments of a packet that is older
/// than the newest by this many sequence numbers are discarded.
pub const MAX_INCOMPLETE: usize = 4096;
/// The most bytes of fragments that are kept; beyond them the oldest are discarded. A payload may keep
/// the whole block of memory that it was received in. Blocks hold consecutive datagrams, so all that
/// are kept are at most those that arrived while [`MAX_INCOMPLETE`] packets did.
const MAX_BYTES: usize = 16 << 20;

/// The counters of packets that arrive in fragments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FragmentStatistics {
    /// The number of packets restored from fragments.
    pub restored: u64,
    /// The number of packets of which too few fragments arrived.
    pub incomplete: u64,
}

/// The fragments of packets of which too few have arrived yet.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly<P> {
    /// Ordered by their sequence numbers.
    packets: VecDeque<PartialPacket<P>>,
    /// One past the newest sequence number.
    end: u64,
    /// The bytes of all fragments.
    bytes: usize,
    statistics: FragmentStatistics,
}

#[derive(Clone, Debug)]
struct PartialPacket<P> {
    sequence: u64,
    code: Code,
    packet_len: u16,
    /// The ECN field of the outer headers: CE if a router has marked one (RFC 3168, section 5.3).
    outer: Ecn,
    fragments: Vec<Fragment<P>>,
}

/// The outcome of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReassemblyOutcome<P> {
    /// More fragments of its packet are needed.
    Kept,
    /// Its packet is complete.
    Restored {
        /// The packet.
        packet: P,
        /// The ECN field of the outer headers: CE if that of one was.
        outer: Ecn,
    },
    /// Its packet is too old.
    Behind,
    /// It is there already.
    Duplicate,
    /// It does not belong to the fragments of its packet that arrived before.
    Inconsistent,
}

/// The relation of a fragment to those of its packet that are there.
enum Added {
    New,
    Again,
    Inconsistent,
}

impl<P> Default for Reassembly<P> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            end: 0,
            bytes: 0,
            statistics: FragmentStatistics::default(),
        }
    }
}

impl<P: Payload> Reassembly<P> {
    /// Keeps a fragment of the packet `sequence`, which has not been delivered, or completes it.
    pub(crate) fn offer(
        &mut self,
        sequence: u64,
        header: FragmentHeader,
        payload: P,
    ) -> ReassemblyOutcome<P> {
        self.end = self.end.max(sequence.saturating_add(1));
        self.discard_old();
        if is_behind(sequence, self.end) {
            return ReassemblyOutcome::Behind;
        }
        let position = self.position(sequence);
        let index = position.unwrap_or_else(|index| {
            let packet = PartialPacket::new(sequence, header);
            self.packets.insert(index, packet);
            index
        });
        let packet = &mut self.packets[index];
        match packet.add(header, payload) {
            Added::New => self.bytes += usize::from(header.fragment_len()),
            Added::Again => return ReassemblyOutcome::Duplicate,
            Added::Inconsistent => return ReassemblyOutcome::Inconsistent,
        }
        if !packet.is_complete() {
            return ReassemblyOutcome::Kept;
        }
        let Some(packet) = self.packets.remove(index) else {
            return ReassemblyOutcome::Inconsistent;
        };
        self.bytes -= packet.bytes();
        let outer = packet.outer;
        match packet.restore() {
            Some(packet) => {
                self.statistics.restored += 1;
                ReassemblyOutcome::Restored { packet, outer }
            }
            None => ReassemblyOutcome::Inconsistent,
        }
    }

    /// The packet that a fragment would complete.
    pub(crate) fn completed_by(
        &self,
        sequence: u64,
        header: FragmentHeader,
        payload: P,
    ) -> Option<P> {
        let index = self.position(sequence).ok()?;
        let mut packet = self.packets[index].clone();
        let is_new = matches!(packet.add(header, payload), Added::New);
        (is_new && packet.is_complete()).then(|| packet.restore())?
    }

    /// The number of packets of which fragments are kept, at most [`MAX_INCOMPLETE`].
    pub(crate) fn buffered(&self) -> usize {
        self.packets.len()
    }

    /// The counters.
    pub(crate) const fn statistics(&self) -> FragmentStatistics {
        self.statistics
    }

    /// Discards all fragments: the numbers of a sender that restarts begin again.
    pub(crate) fn restart(&mut self) {
        self.packets.clear();
        (self.end, self.bytes) = (0, 0);
    }

    fn position(&self, sequence: u64) -> Result<usize, usize> {
        self.packets
            .binary_search_by_key(&sequence, |packet| packet.sequence)
    }

    /// Discards the fragments of packets that are too old, and of the oldest that take too much.
    fn discard_old(&mut self) {
        while let Some(first) = self.packets.front()
            && (is_behind(first.sequence, self.end) || self.bytes > MAX_BYTES)
        {
            self.bytes -= first.bytes();
            self.packets.pop_front();
            self.statistics.incomplete += 1;
        }
    }
}

/// Whether `sequence` is too old after all numbers below `end`.
const fn is_behind(sequence: u64, end: u64) -> bool {
    end.saturating_sub(sequence) > MAX_INCOMPLETE as u64
}

impl<P: Payload> PartialPacket<P> {
    fn new(sequence: u64, header: FragmentHeader) -> Self {
        Self {
            sequence,
            code: header.code,
            packet_len: header.packet_len,
            outer: header.traffic_class.ecn,
            fragments: Vec::with_capacity(header.code.needed().into()),
        }
    }

    fn add(&mut self, header: FragmentHeader, payload: P) -> Added {
        let FragmentHeader {
            code,
            index,
            packet_len,
            traffic_class,
        } = header;
        if (code, packet_len) != (self.code, self.packet_len) {
            return Added::Inconsistent;
        }
        if self.fragments.iter().any(|other| other.index == index) {
            return Added::Again;
        }
        if traffic_class.ecn == Ecn::Ce {
            self.outer = Ecn::Ce;
        }
        self.fragments.push(Fragment { index, payload });
        Added::New
    }

    fn is_complete(&self) -> bool {
        self.fragments.len() >= usize::from(self.code.needed())
    }

    /// The bytes of its fragments; in simulation the payload of each stands for the whole packet.
    fn bytes(&self) -> usize {
        self.fragments.len() * usize::from(self.code.fragment_len(self.packet_len))
    }

    fn restore(self) -> Option<P> {
        P::restore(self.fragments, self.code, self.packet_len)
    }
}
