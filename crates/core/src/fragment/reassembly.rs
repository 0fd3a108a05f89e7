//! The receiver of fragments: keeps those of each packet until enough have arrived.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::{Code, Coder, Fragment, FragmentHeader};
use crate::frame::Payload;
use crate::packet::Ecn;

/// The maximum number of packets of which fragments are kept. Fragments of a packet that is older
/// than the newest by this many sequence numbers are discarded.
pub const MAX_INCOMPLETE: usize = 4096;

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
    packets: VecDeque<Incomplete<P>>,
    /// One past the newest sequence number.
    end: u64,
    coder: Coder,
    statistics: FragmentStatistics,
}

#[derive(Clone, Debug)]
struct Incomplete<P> {
    sequence: u64,
    code: Code,
    packet_len: u16,
    /// Whether a router has marked a fragment: then the packet is marked (RFC 3168, section 5.3).
    is_marked: bool,
    fragments: Vec<Fragment<P>>,
}

/// The outcome of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Offered<P> {
    /// More fragments of its packet are needed.
    Kept,
    /// Its packet is complete.
    Restored {
        /// The packet.
        packet: P,
        /// Whether a fragment of it was marked CE (RFC 3168).
        is_marked: bool,
    },
    /// Its packet is too old.
    Behind,
    /// It does not belong to the fragments of its packet that arrived before.
    Inconsistent,
}

impl<P> Default for Reassembly<P> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            end: 0,
            coder: Coder::default(),
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
    ) -> Offered<P> {
        self.discard_before(sequence);
        if is_behind(sequence, self.end) {
            return Offered::Behind;
        }
        let position = self.position(sequence);
        let index = match position {
            Ok(index) => index,
            Err(index) => {
                self.packets
                    .insert(index, Incomplete::new(sequence, header));
                index
            }
        };
        let packet = &mut self.packets[index];
        if !packet.add(header, payload) {
            return Offered::Inconsistent;
        }
        if packet.fragments.len() < usize::from(packet.code.needed()) {
            return Offered::Kept;
        }
        let is_marked = packet.is_marked;
        match self
            .packets
            .remove(index)
            .and_then(|packet| packet.restore(&mut self.coder))
        {
            Some(packet) => {
                self.statistics.restored += 1;
                Offered::Restored { packet, is_marked }
            }
            None => Offered::Inconsistent,
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
        let is_complete = packet.add(header, payload)
            && packet.fragments.len() >= usize::from(packet.code.needed());
        is_complete.then(|| packet.restore(&mut Coder::default()))?
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
        self.end = 0;
    }

    fn position(&self, sequence: u64) -> Result<usize, usize> {
        self.packets
            .binary_search_by_key(&sequence, |packet| packet.sequence)
    }

    /// Discards the fragments that are too old once `sequence` has arrived.
    fn discard_before(&mut self, sequence: u64) {
        self.end = self.end.max(sequence.saturating_add(1));
        while let Some(first) = self.packets.front()
            && is_behind(first.sequence, self.end)
        {
            self.packets.pop_front();
            self.statistics.incomplete += 1;
        }
    }
}

/// Whether `sequence` is too old after all numbers below `end`.
const fn is_behind(sequence: u64, end: u64) -> bool {
    end.saturating_sub(sequence) > MAX_INCOMPLETE as u64
}

impl<P: Payload> Incomplete<P> {
    fn new(sequence: u64, header: FragmentHeader) -> Self {
        Self {
            sequence,
            code: header.code,
            packet_len: header.packet_len,
            is_marked: false,
            fragments: Vec::with_capacity(header.code.needed().into()),
        }
    }

    /// Adds a fragment; returns whether it belongs to the others.
    fn add(&mut self, header: FragmentHeader, payload: P) -> bool {
        let FragmentHeader {
            code,
            index,
            packet_len,
            traffic_class,
        } = header;
        let is_new = self
            .fragments
            .iter()
            .all(|fragment| fragment.index != index);
        let belongs = is_new && (code, packet_len) == (self.code, self.packet_len);
        if belongs {
            self.is_marked |= traffic_class.ecn == Ecn::Ce;
            self.fragments.push(Fragment { index, payload });
        }
        belongs
    }

    fn restore(self, coder: &mut Coder) -> Option<P> {
        P::restore(self.fragments, self.code, self.packet_len, coder)
    }
}
