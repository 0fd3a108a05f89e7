//! Puts the packets of several connections in order again, in bounded memory.

use alloc::collections::VecDeque;

/// Delivers packets 1, 2, 3 and so on, each once.
///
/// What comes too early waits; what is so far ahead that it has no place is refused and stays where it is, in the buffer of
/// its connection, whose receiver is to advertise a window that much smaller, down to none (RFC 9293, 3.8.6). The packet that
/// is next always has its place, and each connection delivers in order, so that nothing waits for ever.
#[derive(Clone, Debug)]
pub struct Resequencer<P> {
    /// The packet that is to be delivered next.
    next: u64,
    /// What has come of those behind it, from `next` on.
    buffered: VecDeque<Option<P>>,
    capacity: usize,
    counts: ResequencerCounts,
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResequencerCounts {
    /// Those delivered, in order.
    pub delivered: u64,
    /// Those dropped because they had come before.
    pub duplicates: u64,
    /// How often one was refused because it was too far ahead.
    pub refused: u64,
    /// The most places that were in use at once, up to the last packet that waited.
    pub max_buffered: u64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferResult<P> {
    /// It was delivered, or waits for those before it.
    Accepted,
    /// It came before, and is dropped.
    Duplicate,
    /// There is no place: offer it again once packets have been delivered.
    Refused(P),
}

impl<P> Resequencer<P> {
    /// With places for `capacity` packets, at least one.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        Self {
            next: 1,
            buffered: VecDeque::new(),
            capacity: usize::try_from(capacity.max(1)).unwrap_or(usize::MAX),
            counts: ResequencerCounts::default(),
        }
    }

    /// The number of the packet that is to be delivered next.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// What became of all packets so far.
    #[must_use]
    pub const fn counts(&self) -> ResequencerCounts {
        self.counts
    }

    /// Takes packet number `sequence`, and delivers what is in order.
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
