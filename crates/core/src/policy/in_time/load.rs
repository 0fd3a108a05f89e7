//! The load of a path that is used at a limited rate: its queue, and what waits in the endpoint.

use crate::repair::PathLimit;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// A queue that should empty is full above this.
const DRAINED: Duration = Duration::from_millis(1);

/// The load of a path; nothing as long as no limit is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    limit: Option<PathLimit>,
    /// The time of the limit's queue and unsent bytes.
    at: Time,
}

impl Load {
    /// The load of a path without a known limit.
    pub(super) const UNKNOWN: Self = Self {
        limit: None,
        at: Time::ZERO,
    };

    pub(super) fn set_limit(&mut self, now: Time, limit: Option<PathLimit>) {
        self.at = now;
        self.limit = limit;
    }

    /// Whether a limit is known.
    pub(super) const fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// The rate that the path carries, if a limit is known.
    pub(super) fn capacity(&self) -> Option<Rate> {
        self.limit.map(|limit| limit.capacity)
    }

    /// Whether packets should be sent elsewhere: the queue is longer than `most`, or should empty.
    pub(super) fn is_full(&self, now: Time, most: Duration) -> bool {
        let drains = self.limit.is_some_and(|limit| limit.drains);
        let most = if drains { DRAINED } else { most };
        self.queue(now).is_some_and(|queue| queue > most)
    }

    /// The queue that a packet finds which is sent now.
    pub(super) fn queue(&self, now: Time) -> Option<Duration> {
        let limit = self.limit?;
        Some(limit.queue - now.since(self.at))
    }

    /// The time until a packet leaves that waits for its turn.
    pub(super) fn wait(&self, now: Time) -> Duration {
        let time = |limit: PathLimit| limit.rate.transmission_time(limit.unsent);
        self.limit.map_or(Duration::ZERO, time) - now.since(self.at)
    }

    /// Adds a packet of `size` bytes; `waits` states whether it waits for its turn.
    pub(super) fn add(&mut self, now: Time, size: u32, waits: bool) {
        self.advance(now);
        if let Some(limit) = &mut self.limit {
            limit.unsent.0 += u64::from(size);
            if !waits {
                limit.queue += limit.capacity.transmission_time(Bytes(size.into()));
            }
        }
    }

    /// Removes what has left by `now`.
    fn advance(&mut self, now: Time) {
        let elapsed = now.since(self.at);
        self.at = now;
        if let Some(limit) = &mut self.limit {
            limit.queue = limit.queue - elapsed;
            let left = limit.rate.bytes_in(elapsed).0;
            limit.unsent.0 = limit.unsent.0.saturating_sub(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_load_leaves_at_the_rate_and_a_queue_at_the_capacity() {
        let at = |ms| Time::ZERO + MS * ms;
        let limit = |rate, queue, unsent| {
            Some(PathLimit {
                rate: Rate::from_mbits(rate),
                capacity: Rate::from_mbits(16),
                queue: MS * queue,
                unsent: Bytes(unsent),
                drains: false,
            })
        };
        let mut load = Load::UNKNOWN;
        load.add(at(0), 1000, true);
        let seen = |load: &Load, ms| (load.wait(at(ms)), load.queue(at(ms)));
        assert_eq!(seen(&load, 0), (Duration::ZERO, None), "no limit is known");
        load.set_limit(at(0), limit(8, 3, 0));
        for _ in 0..10 {
            load.add(at(0), 1000, true);
        }
        load.add(at(0), 2000, false);
        assert_eq!(seen(&load, 0), (MS * 12, Some(MS * 4)));
        assert_eq!(seen(&load, 1), (MS * 11, Some(MS * 3)));
        // What waits and the queue are what is measured.
        load.set_limit(at(4), limit(4, 7, 8000));
        assert_eq!(seen(&load, 4), (MS * 16, Some(MS * 7)));
        assert_eq!(seen(&load, 20), (Duration::ZERO, Some(Duration::ZERO)));
    }
}
