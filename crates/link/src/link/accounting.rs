//! The counts of a link's packets.

use alloc::boxed::Box;

use polypath_core::time::Duration;

use crate::counters::{Counters, Drops};
use crate::drop_reason::DropReason;
use crate::queue::Occupancy;

/// The numbers from which the [`Counters`] of a link follow: a packet that arrives is sent, dropped
/// or waits, and a packet that is sent is delivered or lost.
///
/// Three numbers change with every packet. The others change when a packet is marked or dropped,
/// and are allocated then: most links of a large network never need them.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounting {
    packets: u64,
    bytes: u64,
    waited: Duration,
    exceptions: Option<Box<Exceptions>>,
}

/// Marks and drops.
#[derive(Clone, Copy, Debug, Default)]
struct Exceptions {
    marked: u64,
    drops: Drops,
    /// Bytes of packets that were dropped at the queue.
    queue_bytes: u64,
    /// Bytes of packets that were lost after they were sent.
    lost_bytes: u64,
}

impl Accounting {
    /// The totals; `held` packets wait and their fate is undecided.
    pub(super) fn counters(&self, held: Occupancy) -> Counters {
        let exceptions = self.exceptions.as_deref().copied().unwrap_or_default();
        let drops = exceptions.drops;
        Counters {
            packets_in: self.packets + drops.queue() + held.packets as u64,
            bytes_in: self.bytes + exceptions.queue_bytes + held.bytes,
            bytes_transmitted: self.bytes,
            packets_delivered: self.packets - (drops.total() - drops.queue()),
            bytes_delivered: self.bytes - exceptions.lost_bytes,
            packets_marked: exceptions.marked,
            waited: self.waited,
            drops,
        }
    }

    #[inline]
    pub(super) fn count_sent(&mut self, size: u32, waited: Duration) {
        self.packets += 1;
        self.bytes += u64::from(size);
        // Saturates: the waits of a million packets at a few bits per second exceed the range.
        self.waited += waited;
    }

    pub(super) fn count_mark(&mut self) {
        self.exceptions().marked += 1;
    }

    /// Counts a packet that the queue drops.
    pub(super) fn count_queue_drop(&mut self, reason: DropReason, size: u32) {
        let exceptions = self.exceptions();
        exceptions.drops.count(reason);
        exceptions.queue_bytes += u64::from(size);
    }

    /// Counts a packet that was sent and is lost.
    pub(super) fn count_loss(&mut self, reason: DropReason, size: u32) {
        let exceptions = self.exceptions();
        exceptions.drops.count(reason);
        exceptions.lost_bytes += u64::from(size);
    }

    fn exceptions(&mut self) -> &mut Exceptions {
        self.exceptions.get_or_insert_default()
    }
}
