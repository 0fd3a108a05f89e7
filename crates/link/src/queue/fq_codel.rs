//! Flow-queue controlled delay (RFC 8290).
//!
//! *Queues.* A packet joins the queue to which its flow hashes, together with a number that the
//! link draws. Flows that share a queue count as one. Each queue is under controlled delay
//! ([`Controller`]) of its own; in Linux nothing is dropped while all queues together have at most
//! `max_packet`, here and in RFC 8289 while the queue itself has.
//!
//! *Turns.* Deficit round robin (DRR++) in bytes: a queue that becomes active starts with a quantum
//! of credits in the list of new queues, is served while it has credits, and then goes behind the
//! old queues with one more quantum. New queues precede old ones. An empty new queue passes through
//! the old ones before it is inactive, so that it cannot starve them by becoming new again. A queue
//! without credits left counts as one with negative credits: it has "already dequeued at least a
//! quantum of bytes" (4.2; Linux, too).
//!
//! *Overload.* If the limit is exceeded, half of the packets of the queue with the most bytes, 1 to
//! 64, are dropped from its head (4.1), and again until the limit holds. Linux drops up to 64
//! packets until half of the bytes are gone, which is the same where packets have one size. Neither
//! changes the state of the control law here; Linux since 5.7 adds these drops to its count.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use polypath_core::frame::Payload;
use polypath_core::packet::FlowId;
use polypath_core::rng::{Seed, scramble};
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;

use super::codel::{CoDelConfig, Controller, Fifo, Waiting};
use super::discipline::{Departure, HoldingQueue, size_of};
use super::limit::{Occupancy, QueueLimit};
use crate::config_error::{ConfigError, packet_size};
use crate::drop_reason::DropReason;

/// The most packets that are dropped at once (RFC 8290, section 4.1).
const DROP_BATCH: usize = 64;
/// The most queues, as in Linux.
const MAX_FLOWS: u32 = 1 << 16;

/// Flow-queue controlled delay, with the names and defaults of RFC 8290 (section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields, default)
)]
pub struct FqCoDelConfig {
    /// The limit of all queues together.
    pub limit: QueueLimit,
    /// The number of queues to which flows are hashed, 1 to 65536.
    pub flows: u32,
    /// The bytes that a queue may send in each round. Sizes of packets have no link-layer header
    /// here; the default is that of the RFC, an Ethernet frame of 1514 B.
    pub quantum: Bytes,
    /// The acceptable sojourn time: a queue's packets are dropped after it was exceeded for
    /// `interval`.
    pub target: Duration,
    /// The time for which a burst may exceed `target`: about a long round-trip time.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// The sojourn time above which every ECN-capable packet is marked, as DCTCP expects.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ce_threshold: Option<Duration>,
    /// The size of the largest packet; nothing is dropped from a queue while no more than this
    /// waits in it.
    pub max_packet: Bytes,
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        let limit = QueueLimit::Packets(10_240);
        let codel = CoDelConfig::new(limit);
        Self {
            limit,
            flows: 1024,
            quantum: Bytes(1514),
            target: codel.target,
            interval: codel.interval,
            ecn: true,
            ce_threshold: None,
            max_packet: codel.max_packet,
        }
    }
}

impl FqCoDelConfig {
    pub(super) fn problems(&self) -> Vec<ConfigError> {
        let mut problems = self.codel().problems();
        problems.extend(packet_size("queue.quantum", self.quantum));
        if !(1..=MAX_FLOWS).contains(&self.flows) {
            problems.push(ConfigError::Inconsistent {
                keys: vec!["queue.flows".into()],
                message: format!("`flows` is {}, not within 1 and {MAX_FLOWS}", self.flows),
                remedy: "leave it out for 1024 queues",
            });
        }
        problems
    }

    /// The parameters of each queue.
    const fn codel(&self) -> CoDelConfig {
        CoDelConfig {
            limit: self.limit,
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            max_packet: self.max_packet,
        }
    }
}

/// The queues of a link's flows.
#[derive(Clone, Debug)]
pub(crate) struct FqCoDel<P> {
    config: FqCoDelConfig,
    codel: CoDelConfig,
    /// The number that makes the collisions of flows differ from link to link.
    perturbation: u64,
    queues: Vec<FlowQueue>,
    packets: Arena<P>,
    new_queues: Chain,
    old_queues: Chain,
    waiting: Occupancy,
    /// Since when a packet waits.
    waiting_since: Time,
}

/// The queue of the flows of one hash value.
#[derive(Clone, Debug, Default)]
struct FlowQueue {
    /// The packets by their places in the arena.
    packets: Chain,
    waiting: Occupancy,
    /// The bytes that it may send in this round.
    credits: i64,
    controller: Controller,
    /// Whether it is in the list of new or of old queues.
    is_active: bool,
    /// The queue behind it in its list.
    next: Option<u32>,
}

/// A list that runs through the elements of an array.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    first: Option<u32>,
    last: Option<u32>,
}

/// The packets of all queues, each linked to the one behind it.
#[derive(Clone, Debug)]
struct Arena<P> {
    slots: Vec<Slot<P>>,
    free: Chain,
}

#[derive(Clone, Debug)]
struct Slot<P> {
    waiting: Option<Waiting<P>>,
    next: Option<u32>,
}

/// A queue's packets for its controller.
struct Served<'a, P> {
    chain: &'a mut Chain,
    arena: &'a mut Arena<P>,
    /// The occupancy of the queue, and of all queues together.
    waiting: [&'a mut Occupancy; 2],
}

impl<P: Payload> FqCoDel<P> {
    /// The queues of a link called `name`.
    pub(crate) fn new(config: FqCoDelConfig, seed: Seed, name: &str) -> Self {
        Self {
            config,
            codel: config.codel(),
            perturbation: seed.stream(&format!("link/{name}/fq-codel")).bits(),
            queues: vec![FlowQueue::default(); config.flows as usize],
            packets: Arena::default(),
            new_queues: Chain::default(),
            old_queues: Chain::default(),
            waiting: Occupancy::default(),
            waiting_since: Time::ZERO,
        }
    }

    /// The queue of a flow.
    fn queue_of(&self, flow: FlowId) -> u32 {
        let hash = scramble(flow.0 ^ self.perturbation) >> 32;
        u32::try_from((hash * u64::from(self.config.flows)) >> 32).expect("a product below 2^64")
    }

    /// Adds a packet to the queue of its flow, which becomes active.
    fn add(&mut self, waiting: Waiting<P>) {
        let number = self.queue_of(waiting.packet.flow());
        let queue = &mut self.queues[number as usize];
        for occupancy in [&mut queue.waiting, &mut self.waiting] {
            occupancy.packets += 1;
            occupancy.bytes += u64::from(waiting.size);
        }
        self.packets.push(&mut queue.packets, waiting);
        if !queue.is_active {
            queue.is_active = true;
            queue.credits = credits(self.config.quantum);
            self.new_queues.push(&mut self.queues, number);
        }
    }

    /// Drops packets of the longest queues until the limit holds.
    fn shed(&mut self, transmitting: Occupancy, dropped: &mut impl FnMut(DropReason, P)) {
        while let Some(reason) = self.config.limit.excess(self.waiting + transmitting) {
            let Some(longest) = self.longest() else {
                return;
            };
            let batch = self.queues[longest as usize].waiting.packets.div_ceil(2);
            for _ in 0..batch.min(DROP_BATCH) {
                if let Some(waiting) = self.serve(longest).0.pop() {
                    dropped(reason, waiting.packet);
                }
            }
        }
    }

    /// The queue with the most bytes, the one whose turn comes first among equals.
    fn longest(&self) -> Option<u32> {
        let mut longest = None;
        for chain in [&self.new_queues, &self.old_queues] {
            for number in chain.iter(&self.queues) {
                let bytes = self.queues[number as usize].waiting.bytes;
                if longest.is_none_or(|(_, most)| bytes > most) && bytes > 0 {
                    longest = Some((number, bytes));
                }
            }
        }
        longest.map(|(number, _)| number)
    }

    /// The active queue whose turn it is: new queues precede old ones.
    fn turn(&self) -> Option<u32> {
        self.new_queues.first.or(self.old_queues.first)
    }

    /// The queue whose turn it is; those before it that have no credits get a quantum for their
    /// next turn.
    fn select(&mut self) -> Option<u32> {
        loop {
            let number = self.turn()?;
            let queue = &mut self.queues[number as usize];
            if queue.credits > 0 {
                return Some(number);
            }
            queue.credits += credits(self.config.quantum);
            self.move_behind_old();
        }
    }

    /// Moves the queue whose turn it is to the end of the old ones.
    fn move_behind_old(&mut self) {
        let new = self.new_queues.pop(&mut self.queues);
        if let Some(number) = new.or_else(|| self.old_queues.pop(&mut self.queues)) {
            self.old_queues.push(&mut self.queues, number);
        }
    }

    /// Takes the turn of an empty queue: a new one becomes old, an old one inactive.
    fn retire(&mut self) {
        if self.new_queues.first.is_some() {
            self.move_behind_old();
        } else if let Some(number) = self.old_queues.pop(&mut self.queues) {
            self.queues[number as usize].is_active = false;
        }
    }

    /// The packets of a queue, and its controller.
    fn serve(&mut self, number: u32) -> (Served<'_, P>, &mut Controller) {
        let queue = &mut self.queues[number as usize];
        let served = Served {
            chain: &mut queue.packets,
            arena: &mut self.packets,
            waiting: [&mut queue.waiting, &mut self.waiting],
        };
        (served, &mut queue.controller)
    }
}

impl<P: Payload> HoldingQueue<P> for FqCoDel<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        transmitting: Occupancy,
        dropped: &mut impl FnMut(DropReason, P),
    ) {
        if self.waiting.packets == 0 {
            self.waiting_since = now;
        }
        self.add(Waiting {
            size: size_of(&packet),
            packet,
            arrived_at: now,
        });
        self.shed(transmitting, dropped);
    }

    fn dequeue(
        &mut self,
        now: Time,
        dropped: &mut impl FnMut(DropReason, P),
    ) -> Option<Departure<P>> {
        let codel = self.codel;
        let mut dropped = |packet| dropped(DropReason::Sojourn, packet);
        while let Some(number) = self.select() {
            let (mut served, controller) = self.serve(number);
            let Some(mut departure) = controller.dequeue(&codel, now, &mut served, &mut dropped)
            else {
                self.retire();
                continue;
            };
            self.queues[number as usize].credits -= i64::from(departure.size);
            let sojourn = now.since(departure.arrived_at);
            let is_late = self.config.ce_threshold.is_some_and(|most| sojourn > most);
            if is_late && !departure.marked && departure.packet.ecn().is_capable() {
                departure.packet.mark_ce();
                departure.marked = true;
            }
            return Some(departure);
        }
        None
    }

    /// All queues are inactive: each has had its turn without a packet.
    fn handle_idle(&mut self) {
        while let Some(number) = self.turn() {
            self.queues[number as usize].controller.handle_idle();
            self.retire();
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.waiting
    }

    /// Since the queues were last empty: the line is busy while packets wait, so that it is free
    /// for the next packet only after that has arrived.
    #[inline]
    fn waiting_since(&self) -> Option<Time> {
        (self.waiting.packets > 0).then_some(self.waiting_since)
    }
}

/// A number of bytes as credits.
fn credits(quantum: Bytes) -> i64 {
    i64::try_from(quantum.0).unwrap_or(i64::MAX)
}

/// An array whose elements are linked.
trait Linked {
    fn next(&mut self, place: u32) -> &mut Option<u32>;
}

impl Linked for Vec<FlowQueue> {
    fn next(&mut self, place: u32) -> &mut Option<u32> {
        &mut self[place as usize].next
    }
}

impl<P> Linked for Vec<Slot<P>> {
    fn next(&mut self, place: u32) -> &mut Option<u32> {
        &mut self[place as usize].next
    }
}

impl Chain {
    /// Adds an element at the end.
    fn push(&mut self, array: &mut impl Linked, place: u32) {
        *array.next(place) = None;
        match self.last.replace(place) {
            Some(last) => *array.next(last) = Some(place),
            None => self.first = Some(place),
        }
    }

    /// Removes the first element.
    fn pop(&mut self, array: &mut impl Linked) -> Option<u32> {
        let first = self.first?;
        self.first = *array.next(first);
        if self.first.is_none() {
            self.last = None;
        }
        Some(first)
    }

    /// The queues in a list.
    fn iter<'a>(&self, queues: &'a [FlowQueue]) -> impl Iterator<Item = u32> + 'a {
        core::iter::successors(self.first, |number| queues[*number as usize].next)
    }
}

impl<P> Default for Arena<P> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Chain::default(),
        }
    }
}

impl<P> Arena<P> {
    /// Adds a packet at the end of a queue; allocates only if more packets wait than ever before.
    fn push(&mut self, queue: &mut Chain, waiting: Waiting<P>) {
        let place = self.free.pop(&mut self.slots).unwrap_or_else(|| {
            self.slots.push(Slot {
                waiting: None,
                next: None,
            });
            u32::try_from(self.slots.len() - 1).expect("fewer packets than MAX_PACKETS")
        });
        self.slots[place as usize].waiting = Some(waiting);
        queue.push(&mut self.slots, place);
    }

    /// Removes the first packet of a queue.
    fn pop(&mut self, queue: &mut Chain) -> Option<Waiting<P>> {
        let place = queue.pop(&mut self.slots)?;
        self.free.push(&mut self.slots, place);
        self.slots[place as usize].waiting.take()
    }
}

impl<P> Fifo<P> for Served<'_, P> {
    fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.arena.pop(self.chain)?;
        for occupancy in &mut self.waiting {
            occupancy.packets -= 1;
            occupancy.bytes -= u64::from(waiting.size);
        }
        Some(waiting)
    }

    fn bytes(&self) -> u64 {
        self.waiting[0].bytes
    }
}

#[cfg(test)]
mod tests;
