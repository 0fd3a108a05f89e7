//! The packets that have not left, by the times at which they leave.

use alloc::collections::VecDeque;

use polypath_core::time::Time;

use super::limit::Occupancy;

/// A FIFO of packets; the first is in transmission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    packets: VecDeque<Transmission>,
    bytes: u64,
    last_finish: Time,
}

/// A packet by its size and the time at which its last bit leaves.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    finish: Time,
    size: u32,
}

impl Backlog {
    /// Removes the packets that have left at `now`.
    #[inline]
    pub(crate) fn remove_sent(&mut self, now: Time) {
        while let Some(&Transmission { finish, size }) = self.packets.front()
            && finish <= now
        {
            self.bytes -= u64::from(size);
            self.packets.pop_front();
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, finish: Time, size: u32) {
        self.bytes += u64::from(size);
        self.packets.push_back(Transmission { finish, size });
        self.last_finish = finish;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn occupancy(&self) -> Occupancy {
        Occupancy {
            packets: self.packets.len(),
            bytes: self.bytes,
        }
    }

    /// The packets that wait, without the one in transmission.
    pub(crate) fn waiting(&self) -> Occupancy {
        let first = self.packets.front().map_or(0, |first| first.size);
        Occupancy {
            packets: self.packets.len().saturating_sub(1),
            bytes: self.bytes - u64::from(first),
        }
    }

    /// The time at which the last packet leaves.
    pub(crate) fn last_finish(&self) -> Time {
        self.last_finish
    }

    /// The number of packets that have not left at `now`.
    pub(crate) fn len(&self, now: Time) -> usize {
        self.packets.len() - self.packets.partition_point(|packet| packet.finish <= now)
    }

    /// The departures after `now` of packets with another behind them.
    pub(crate) fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        let before_last = self.packets.len().saturating_sub(1);
        let packets = self.packets.iter().take(before_last);
        let finish = packets.map(|packet| packet.finish);
        finish.filter(move |finish| *finish > now)
    }
}
