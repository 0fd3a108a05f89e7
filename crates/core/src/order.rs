//! The order of packets at the receiver.
//!
//! Packets that are sent on several paths, or sent again, overtake each other. A receiver of media
//! has a buffer that puts them in order; TCP takes reordering for loss (RFC 5681, section 3.2). A
//! packet behind a gap is held until the packets before it have arrived, at most for a time that is
//! configured, and never longer: a packet that stays lost delays those behind it once.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::class::Classes;
use crate::frame::Payload;
use crate::time::Time;
use crate::window::{SlidingWindow, Verdict};

mod config;

pub use config::{MAX_HOLD, Order, OrderError, TCP_HOLD};

/// The maximum number of packets that are held.
pub const MAX_HELD: usize = 4096;

/// The counters of a [`ReorderBuffer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OrderStatistics {
    /// Packets that were held.
    pub held: u64,
    /// Packets of these whose hold expired, or that exceeded [`MAX_HELD`], before those before them
    /// had arrived.
    pub expired: u64,
}

/// Puts packets in order, each held for a bounded time.
#[derive(Clone, Debug)]
pub struct ReorderBuffer<P> {
    order: Order,
    classes: Classes,
    /// All packets below this number have arrived or are no longer awaited; `None` before the
    /// first.
    next: Option<u64>,
    held: BTreeMap<u64, Held<P>>,
    /// The time of release and the number of each held packet.
    due: BTreeSet<(Time, u64)>,
    statistics: OrderStatistics,
}

#[derive(Clone, Debug)]
struct Held<P> {
    packet: P,
    due: Time,
}

impl<P: Payload> ReorderBuffer<P> {
    /// An empty buffer.
    #[must_use]
    pub fn new(order: Order, classes: Classes) -> Self {
        Self {
            order,
            classes,
            next: None,
            held: BTreeMap::new(),
            due: BTreeSet::new(),
            statistics: OrderStatistics::default(),
        }
    }

    /// The number of held packets, at most [`MAX_HELD`].
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.held.len()
    }

    /// The counters.
    #[must_use]
    pub const fn statistics(&self) -> OrderStatistics {
        self.statistics
    }

    /// Delivers packet `sequence`, which has arrived for the first time and is among those `seen`,
    /// and those that waited for it; or holds it. `is_repaired` states whether the peer repairs
    /// losses: it does not wait for what would not come.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        sequence: u64,
        packet: P,
        is_repaired: bool,
        seen: &SlidingWindow,
        deliver: &mut impl FnMut(P),
    ) {
        if self.order == Order::None {
            return deliver(packet);
        }
        // Most packets follow the one before, and none is held.
        if self.next == Some(sequence) && self.held.is_empty() && sequence + 1 == seen.end() {
            self.next = Some(sequence + 1);
            return deliver(packet);
        }
        // A packet that is not behind a gap is not parsed.
        let is_behind_gap = sequence > *self.next.get_or_insert(sequence);
        let hold = is_behind_gap.then(|| self.order.hold(&packet, &self.classes, is_repaired));
        match hold.flatten() {
            Some(hold) => self.hold(now + hold, sequence, packet, deliver),
            None => deliver(packet),
        }
        self.release(seen, deliver);
    }

    fn hold(&mut self, due: Time, sequence: u64, packet: P, deliver: &mut impl FnMut(P)) {
        self.statistics.held += 1;
        self.due.insert((due, sequence));
        self.held.insert(sequence, Held { packet, due });
        if self.held.len() > MAX_HELD
            && let Some((&first, _)) = self.held.first_key_value()
        {
            self.statistics.expired += self.give_up_before(first + 1, deliver);
        }
    }

    /// Delivers the held packets before which none is missing.
    fn release(&mut self, seen: &SlidingWindow, deliver: &mut impl FnMut(P)) {
        // Packets that are older than the window would not be delivered any more.
        self.give_up_before(seen.end().saturating_sub(seen.span()), deliver);
        while let Some(next) = self.next
            && next < seen.end()
            && seen.classify(next) != Verdict::Fresh
        {
            if let Some(held) = self.held.remove(&next) {
                self.due.remove(&(held.due, next));
                deliver(held.packet);
            }
            self.next = Some(next + 1);
        }
    }

    /// Awaits no packet below `end` any more, and delivers those that are held; returns their
    /// number.
    fn give_up_before(&mut self, end: u64, deliver: &mut impl FnMut(P)) -> u64 {
        let mut count = 0;
        while let Some(entry) = self.held.first_entry()
            && *entry.key() < end
        {
            let (sequence, held) = entry.remove_entry();
            self.due.remove(&(held.due, sequence));
            count += 1;
            deliver(held.packet);
        }
        self.next = self.next.map(|next| next.max(end));
        count
    }

    /// Delivers the packets that have been held for long enough, and those before them.
    pub fn handle_timeout(&mut self, now: Time, seen: &SlidingWindow, deliver: &mut impl FnMut(P)) {
        while let Some(&(due, sequence)) = self.due.first()
            && due <= now
        {
            self.statistics.expired += self.give_up_before(sequence + 1, deliver);
            self.release(seen, deliver);
        }
    }

    /// The time at which a held packet is released.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Delivers all held packets, and goes on with `order`; other `classes` hold for the packets
    /// that arrive from now on.
    pub fn adjust(&mut self, order: Order, classes: &Classes, deliver: &mut impl FnMut(P)) {
        self.classes.clone_from(classes);
        if order != self.order {
            self.give_up_before(u64::MAX, deliver);
            self.next = None;
            self.order = order;
        }
    }

    /// Delivers all held packets and begins again, since the sender has restarted.
    pub fn restart(&mut self, deliver: &mut impl FnMut(P)) {
        self.give_up_before(u64::MAX, deliver);
        self.next = None;
    }
}

#[cfg(test)]
mod tests;
