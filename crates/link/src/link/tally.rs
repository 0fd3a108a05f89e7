//! The counting of a link's packets.

use alloc::boxed::Box;

use polypath_core::time::Duration;

use super::DropReason;
use crate::counters::{Counters, Drops};

/// What a link notes of each packet, from which its [`Counters`] follow: what came in was sent, dropped or waits,
/// and what was sent arrives or is lost.
///
/// Three numbers change with every packet. The others change when a packet has a bad time, so that the many links
/// of a large network that never see one need little memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    packets: u64,
    bytes: u64,
    waited: Duration,
    mishaps: Option<Box<Mishaps>>,
}

/// Marks and drops.
#[derive(Clone, Copy, Debug, Default)]
struct Mishaps {
    marked: u64,
    drops: Drops,
    /// Bytes of the packets that were dropped at the queue.
    bytes_refused: u64,
    /// Bytes of the packets that were lost after they were sent.
    bytes_lost: u64,
}

impl Tally {
    /// The totals, while so many packets and bytes wait whose fate is open.
    pub(super) fn counters(&self, (packets, bytes): (u64, u64)) -> Counters {
        let mishaps = self.mishaps.as_deref().copied().unwrap_or_default();
        let drops = mishaps.drops;
        Counters {
            packets_in: self.packets + drops.queue() + packets,
            bytes_in: self.bytes + mishaps.bytes_refused + bytes,
            bytes_transmitted: self.bytes,
            packets_delivered: self.packets - (drops.total() - drops.queue()),
            bytes_delivered: self.bytes - mishaps.bytes_lost,
            packets_marked: mishaps.marked,
            waited: self.waited,
            drops,
        }
    }

    #[inline]
    pub(super) fn count_sent(&mut self, size: u32, waited: Duration) {
        self.packets += 1;
        self.bytes += u64::from(size);
        // Saturates: a million packets that wait at a few bits a second wait longer than time counts.
        self.waited += waited;
    }

    pub(super) fn count_mark(&mut self) {
        self.mishaps().marked += 1;
    }

    /// The queue drops a packet.
    pub(super) fn count_refusal(&mut self, reason: DropReason, size: u32) {
        let mishaps = self.mishaps();
        mishaps.drops.count(reason);
        mishaps.bytes_refused += u64::from(size);
    }

    /// A packet that was sent is lost.
    pub(super) fn count_loss(&mut self, reason: DropReason, size: u32) {
        let mishaps = self.mishaps();
        mishaps.drops.count(reason);
        mishaps.bytes_lost += u64::from(size);
    }

    fn mishaps(&mut self) -> &mut Mishaps {
        self.mishaps.get_or_insert_default()
    }
}
