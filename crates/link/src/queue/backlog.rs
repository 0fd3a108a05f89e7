//! The packets that have not left, by the times at which they will.

use alloc::collections::VecDeque;

use polypath_core::time::Time;

/// A FIFO of finishing times and sizes; the first is in transmission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    packets: VecDeque<(Time, u32)>,
    bytes: u64,
    last_finish: Time,
}

impl Backlog {
    /// Forgets what has left at `now` or before.
    #[inline]
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some(&(finish, size)) = self.packets.front()
            && finish <= now
        {
            self.bytes -= u64::from(size);
            self.packets.pop_front();
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, finish: Time, size: u32) {
        self.bytes += u64::from(size);
        self.packets.push_back((finish, size));
        self.last_finish = finish;
    }

    pub(crate) fn packets(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets that wait, without the one in transmission.
    pub(crate) fn packets_waiting(&self) -> usize {
        self.packets.len().saturating_sub(1)
    }

    /// Bytes that wait, without those of the packet in transmission.
    pub(crate) fn bytes_waiting(&self) -> u64 {
        let first = self.packets.front().map_or(0, |first| first.1);
        self.bytes - u64::from(first)
    }

    /// When the last packet has left or will.
    pub(crate) fn last_finish(&self) -> Time {
        self.last_finish
    }

    /// Packets that have not left at `now`.
    pub(crate) fn len(&self, now: Time) -> usize {
        self.packets.len() - self.packets.partition_point(|(finish, _)| *finish <= now)
    }

    /// When those leave after `now` that have another behind them.
    pub(crate) fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        let before_last = self.packets.len().saturating_sub(1);
        let finish = self
            .packets
            .iter()
            .take(before_last)
            .map(|(finish, _)| *finish);
        finish.filter(move |finish| *finish > now)
    }
}
