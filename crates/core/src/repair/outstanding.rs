//! The packets that a sender keeps until their deadline, or until a report must have covered them.

use alloc::collections::VecDeque;

use super::sender::OutgoingPacket;
use crate::frame::{Epoch, PathId};
use crate::packet::PacketMeta;
use crate::policy::PathSet;
use crate::time::Time;

/// The most transmissions of a packet: the first with a copy, and two repairs on two paths each.
pub(super) const MAX_TRANSMISSIONS: usize = 6;

// There is a bit for each.
const _: () = assert!(MAX_TRANSMISSIONS <= u8::BITS as usize);

/// The newest packets, in the order of their sequence numbers.
#[derive(Clone, Debug)]
pub(super) struct Outstanding<P> {
    entries: VecDeque<Entry<P>>,
    /// The sequence number of the oldest.
    first: u64,
}

/// A packet.
#[derive(Clone, Debug)]
pub(super) struct Entry<P> {
    /// The packet, until it has arrived or is given up.
    pub(super) packet: Option<KeptPacket<P>>,
    /// The time at which it is no longer useful at the receiver.
    pub(super) deadline: Time,
    /// The time at which a report must have covered its transmissions.
    pub(super) covered: Time,
    pub(super) state: State,
    /// The times of its transmissions, and their paths.
    sent: [Time; MAX_TRANSMISSIONS],
    paths: [PathId; MAX_TRANSMISSIONS],
    /// The number of transmissions, and a bit for each that is missing, and that a report lacked.
    /// There is an entry for every packet, so it is small.
    count: u8,
    missing: u8,
    lacked: u8,
    /// The times that it was sent again.
    pub(super) repairs: u8,
    /// Whether the budget did not suffice for a repair.
    pub(super) lacks_budget: bool,
}

/// The content of a packet.
#[derive(Clone, Debug)]
pub(super) struct KeptPacket<P> {
    pub(super) meta: PacketMeta,
    pub(super) epoch: Epoch,
    pub(super) payload: P,
}

impl<P> From<OutgoingPacket<P>> for KeptPacket<P> {
    #[inline]
    fn from(packet: OutgoingPacket<P>) -> Self {
        Self {
            meta: packet.meta,
            epoch: packet.epoch,
            payload: packet.payload,
        }
    }
}

impl<P: Clone> KeptPacket<P> {
    /// A copy with its sequence number.
    pub(super) fn numbered(&self, sequence: u64) -> OutgoingPacket<P> {
        OutgoingPacket {
            sequence,
            epoch: self.epoch,
            meta: self.meta,
            payload: self.payload.clone(),
        }
    }
}

/// The state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It waits for its first transmission.
    Queued,
    /// At least one transmission may still arrive.
    InFlight,
    /// All transmissions are missing, and a repair waits for the budget.
    Missing,
    /// It has arrived, or is given up.
    Done,
}

/// A transmission of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transmission {
    pub(super) path: PathId,
    pub(super) sent: Time,
    pub(super) is_missing: bool,
    /// Whether it is missing since a report lacked it, and not for want of reports.
    pub(super) is_lacked: bool,
}

impl<P> Entry<P> {
    /// A packet that waits for its first transmission.
    #[inline]
    pub(super) fn queued(packet: KeptPacket<P>) -> Self {
        Self {
            packet: Some(packet),
            deadline: Time::MAX,
            covered: Time::ZERO,
            state: State::Queued,
            sent: [Time::ZERO; MAX_TRANSMISSIONS],
            paths: [PathId(0); MAX_TRANSMISSIONS],
            count: 0,
            missing: 0,
            lacked: 0,
            repairs: 0,
            lacks_budget: false,
        }
    }

    /// Records a transmission on each of `paths`; those that do not fit are not tracked.
    pub(super) fn transmit(&mut self, sent: Time, paths: PathSet) {
        for path in paths {
            let index = usize::from(self.count);
            let (Some(free), Some(on_path)) = (self.sent.get_mut(index), self.paths.get_mut(index))
            else {
                return;
            };
            (*free, *on_path) = (sent, path);
            self.count += 1;
        }
    }

    /// Its transmissions, in their order.
    #[inline]
    pub(super) fn transmissions(&self) -> impl Iterator<Item = Transmission> {
        (0..self.count).map(|index| self.transmission(index))
    }

    /// The number of its transmissions.
    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// Transmission `index`, which is below the [count](Self::count).
    #[inline]
    pub(super) fn transmission(&self, index: u8) -> Transmission {
        Transmission {
            path: self.paths[usize::from(index)],
            sent: self.sent[usize::from(index)],
            is_missing: self.missing & 1 << index != 0,
            is_lacked: self.lacked & 1 << index != 0,
        }
    }

    /// Notes that transmission `index` is missing, and whether a report lacked it.
    pub(super) fn set_missing(&mut self, index: u8, is_lacked: bool) {
        self.missing |= 1 << index;
        self.lacked |= u8::from(is_lacked) << index;
    }

    pub(super) fn is_full(&self) -> bool {
        usize::from(self.count) == MAX_TRANSMISSIONS
    }

    /// Whether it is sent again if it is missing.
    pub(super) fn is_repaired(&self) -> bool {
        let packet = self.packet.as_ref();
        packet.is_some_and(|packet| packet.meta.is_repaired())
    }

    /// The paths on which it is missing.
    pub(super) fn missing_on(&self) -> PathSet {
        let missing = self.transmissions().filter(|sent| sent.is_missing);
        missing.fold(PathSet::EMPTY, |paths, sent| paths.with(sent.path))
    }

    /// Ends it, and returns its content.
    pub(super) fn end(&mut self) -> Option<KeptPacket<P>> {
        self.state = State::Done;
        self.packet.take()
    }
}

impl<P> Default for Outstanding<P> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
        }
    }
}

impl<P> Outstanding<P> {
    /// Adds packet `sequence`, which follows the newest unless none is kept.
    #[inline]
    pub(super) fn push(&mut self, sequence: u64, entry: Entry<P>) {
        if self.entries.is_empty() {
            self.first = sequence;
        }
        debug_assert_eq!(sequence, self.end());
        self.entries.push_back(entry);
    }

    /// Packet `sequence`, if it is kept.
    pub(super) fn get(&self, sequence: u64) -> Option<&Entry<P>> {
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        self.entries.get(index)
    }

    /// Packet `sequence`, if it is kept.
    pub(super) fn get_mut(&mut self, sequence: u64) -> Option<&mut Entry<P>> {
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(index)
    }

    /// Forgets the oldest packet; returns its state.
    pub(super) fn forget_oldest(&mut self) -> Option<State> {
        let oldest = self.entries.pop_front()?;
        self.first += 1;
        Some(oldest.state)
    }

    /// One past the newest sequence number.
    pub(super) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The packets with their sequence numbers, oldest first.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Entry<P>)> {
        (self.first..).zip(&mut self.entries)
    }

    /// Forgets the oldest packets that have ended, or that can neither be repaired in time nor be
    /// covered by a report any more.
    pub(super) fn expire(&mut self, now: Time) {
        while let Some(oldest) = self.entries.front()
            && (oldest.state == State::Done || oldest.deadline.max(oldest.covered) <= now)
        {
            self.forget_oldest();
        }
    }
}
