//! Restores the order of packets from several connections in bounded memory.

use alloc::collections::VecDeque;

/// Delivers packets 1, 2, 3 and so on, each once.
///
/// Early packets are buffered. A packet too far ahead for the buffer is refused and stays in the
/// receive buffer of its connection, whose advertised window shrinks accordingly, down to 0 (RFC
/// 9293, 3.8.6). The next packet always fits and each connection delivers in order, so there is no
/// deadlock.
#[derive(Clone, Debug)]
pub struct Resequencer<P> {
    /// The sequence number of the next packet to deliver.
    next: u64,
    /// The buffered packets from `next` on; `None` where one is missing.
    buffered: VecDeque<Option<P>>,
    capacity: usize,
    counts: ResequencerCounts,
}

/// Counts of packets by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResequencerCounts {
    /// Packets delivered in order.
    pub delivered: u64,
    /// Packets dropped as duplicates.
    pub duplicates: u64,
    /// Refusals of packets that were too far ahead.
    pub refused: u64,
    /// The maximum length of the buffer in packets, including gaps.
    pub max_buffered: u64,
}

/// The result of offering a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferResult<P> {
    /// Delivered, or buffered until the packets before it arrive.
    Accepted,
    /// Received before; dropped.
    Duplicate,
    /// Too far ahead: offer it again after further deliveries.
    Refused(P),
}

impl<P> Resequencer<P> {
    /// Creates a buffer for `capacity` packets, at least 1.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        Self {
            next: 1,
            buffered: VecDeque::new(),
            capacity: usize::try_from(capacity.max(1)).unwrap_or(usize::MAX),
            counts: ResequencerCounts::default(),
        }
    }

    /// The sequence number of the next packet to deliver.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The counts so far.
    #[must_use]
    pub const fn counts(&self) -> ResequencerCounts {
        self.counts
    }

    /// Accepts packet `sequence` if it fits, and delivers all packets that are now in order.
    pub fn offer(
        &mut self,
        sequence: u64,
        packet: P,
        deliver: &mut impl FnMut(P),
    ) -> OfferResult<P> {
        let Some(ahead) = sequence.checked_sub(self.next) else {
            self.counts.duplicates += 1;
            return OfferResult::Duplicate;
        };
        let Some(offset) = usize::try_from(ahead).ok().filter(|at| *at < self.capacity) else {
            self.counts.refused += 1;
            return OfferResult::Refused(packet);
        };
        if self.buffered.len() <= offset {
            self.buffered.resize_with(offset + 1, || None);
        }
        if self.buffered[offset].is_some() {
            self.counts.duplicates += 1;
            return OfferResult::Duplicate;
        }
        self.buffered[offset] = Some(packet);
        self.counts.max_buffered = self.counts.max_buffered.max(self.buffered.len() as u64);
        self.release(deliver);
        OfferResult::Accepted
    }

    fn release(&mut self, deliver: &mut impl FnMut(P)) {
        while let Some(packet) = self.buffered.front_mut().and_then(Option::take) {
            self.buffered.pop_front();
            self.next += 1;
            self.counts.delivered += 1;
            deliver(packet);
        }
    }
}
