//! The interfaces of queue disciplines.

use polypath_core::frame::Payload;
use polypath_core::time::Time;

use super::limit::Occupancy;
use crate::drop_reason::DropReason;

/// The decision on a packet that arrives at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    /// Accept it and set its ECN field to CE.
    Mark,
    Drop(DropReason),
}

/// A packet that arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Time,
    pub(crate) size: u32,
    /// The time at which the last bit of all earlier packets leaves.
    pub(crate) free_at: Time,
    pub(crate) ecn_capable: bool,
}

/// A discipline that decides when a packet arrives.
pub(crate) trait ArrivalQueue {
    /// Decides on a packet; times never decrease from call to call.
    fn admit(&mut self, arrival: &Arrival) -> Verdict;

    /// Adds the packet that was admitted last; its last bit leaves at `finish`, not earlier than
    /// any before.
    fn enqueue(&mut self, finish: Time, size: u32);

    /// The packets in queue and transmission after `now`; `busy` is whether one is in transmission.
    fn len(&self, now: Time, busy: bool) -> usize;

    /// The times after `now` at which the waiting packets begin to leave: when the packet before
    /// has left.
    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time>;
}

/// A discipline that decides when a packet leaves.
pub(crate) trait HoldingQueue<P> {
    /// Adds a packet that arrives at `now`, or drops packets; `transmitting` counts towards the
    /// limit.
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        transmitting: Occupancy,
        dropped: &mut impl FnMut(DropReason, P),
    );

    /// Removes the packet that goes to the line at `now`, and drops packets before it.
    fn dequeue(
        &mut self,
        now: Time,
        dropped: &mut impl FnMut(DropReason, P),
    ) -> Option<Departure<P>>;

    /// Handles an empty queue with an idle line.
    fn handle_idle(&mut self);

    /// The waiting packets.
    fn occupancy(&self) -> Occupancy;

    /// The time since which a packet waits for the line.
    fn waiting_since(&self) -> Option<Time>;
}

/// A packet that leaves a queue for the line.
#[derive(Clone, Debug)]
pub(crate) struct Departure<P> {
    pub(crate) packet: P,
    pub(crate) size: u32,
    pub(crate) arrived_at: Time,
    pub(crate) marked: bool,
}

/// The size of a packet in bytes.
#[inline]
pub(crate) fn size_of<P: Payload>(packet: &P) -> u32 {
    u32::try_from(packet.len()).unwrap_or(u32::MAX)
}
