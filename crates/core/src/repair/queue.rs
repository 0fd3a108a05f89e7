//! The queue of a path at present.
//!
//! A report shows the queue that a frame found which was sent a round trip ago. What was sent on
//! the path since has joined that queue, and the path has emptied it at its capacity. So the queue
//! at present is known without the delay of feedback (as a Smith predictor knows it).

use alloc::collections::VecDeque;

use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// Packets that are sent within this time count as sent at once.
const GRAIN: Duration = Duration::from_micros(500);
/// The maximum number of times that are kept: two seconds.
const MAX_SENT_TIMES: usize = 4096;

/// Predicts the queue of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct QueuePrediction {
    /// Packets that were sent after the newest frame that arrived.
    sent: VecDeque<Sent>,
    newest: QueueSample,
}

/// Packets of `size` bytes, sent at `at`.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    size: u64,
}

/// The queue that a frame found, and the time at which it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueSample {
    pub(super) sent: Time,
    pub(super) queue: Duration,
}

impl QueuePrediction {
    /// Notes a packet of `size` bytes.
    pub(super) fn on_sent(&mut self, now: Time, size: u32) {
        let size = u64::from(size);
        match self.sent.back_mut() {
            Some(last) if now < last.at + GRAIN => last.size += size,
            _ => self.sent.push_back(Sent { at: now, size }),
        }
        if self.sent.len() > MAX_SENT_TIMES {
            self.sent.pop_front();
        }
    }

    /// Notes what the newest frame found that arrived.
    pub(super) fn on_arrival(&mut self, newest: QueueSample) {
        self.newest = newest;
        // Its time is rounded down to a microsecond, and it is a part of what it found itself.
        let until = newest.sent + Duration::from_micros(1);
        while self.sent.front().is_some_and(|sent| sent.at < until) {
            self.sent.pop_front();
        }
    }

    /// The queue at `now` of a path that carries `capacity`.
    pub(super) fn at(&self, now: Time, capacity: Rate) -> Duration {
        let QueueSample { sent, mut queue } = self.newest;
        let mut last = sent;
        for packets in &self.sent {
            queue = queue - packets.at.since(last);
            queue += capacity.transmission_time(Bytes(packets.size));
            last = packets.at;
        }
        queue - now.since(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    #[test]
    fn packets_join_the_queue_that_was_found_and_leave_it() {
        let mut queue = QueuePrediction::default();
        let capacity = Rate::from_mbits(8);
        // A packet of 1 ms every 10 ms, and 5 ms of packets at 40 ms.
        for ms in [0, 10, 20, 30] {
            queue.on_sent(at(ms), 1000);
        }
        for _ in 0..5 {
            queue.on_sent(at(40), 1000);
        }
        queue.on_arrival(QueueSample {
            sent: at(20),
            queue: MS * 12,
        });
        // 12 at 20, 2 and 1 at 30, 0 and 5 at 40.
        assert_eq!(queue.at(at(40), capacity), MS * 5);
        assert_eq!(queue.at(at(42), capacity), MS * 3);
        assert_eq!(queue.at(at(50), capacity), Duration::ZERO);
        // Half of the capacity.
        assert_eq!(queue.at(at(40), Rate::from_mbits(4)), MS * 10);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut queue = QueuePrediction::default();
        for ms in 0..10_000 {
            queue.on_sent(at(ms), 1000);
            queue.on_sent(at(ms), 1000);
        }
        assert_eq!(queue.sent.len(), MAX_SENT_TIMES);
        queue.on_arrival(QueueSample {
            sent: at(9999),
            queue: MS,
        });
        assert_eq!(queue.at(at(9999), Rate::from_mbits(8)), MS);
    }
}
