//! The load of a path: what was sent on it, or waits for it, and has not left yet.

use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// The load of a path that is used at a limited rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    /// The rate; `None` as long as no limit is known.
    rate: Option<Rate>,
    /// The time of the counts.
    at: Time,
    /// Bytes of packets that do not wait.
    immediate: u64,
    /// Bytes of all packets.
    all: u64,
}

impl Load {
    pub(super) fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.advance(now);
        self.rate = rate;
    }

    /// The time that the packets take which do not wait.
    pub(super) fn backlog(&self, now: Time) -> Duration {
        self.remaining(now, self.immediate)
    }

    /// The time that all packets take.
    pub(super) fn wait(&self, now: Time) -> Duration {
        self.remaining(now, self.all)
    }

    /// Adds a packet of `size` bytes; `waits` states whether it gives way to those that do not.
    pub(super) fn add(&mut self, now: Time, size: u32, waits: bool) {
        self.advance(now);
        if self.rate.is_some() {
            self.all += u64::from(size);
            self.immediate += if waits { 0 } else { u64::from(size) };
        }
    }

    fn remaining(&self, now: Time, bytes: u64) -> Duration {
        let time = self.rate.map(|rate| rate.transmission_time(Bytes(bytes)));
        let since = now.since(self.at);
        Duration(time.unwrap_or_default().0.saturating_sub(since.0))
    }

    /// Removes what has left by `now`.
    fn advance(&mut self, now: Time) {
        let rate = self.rate.map_or(u64::MAX, |rate| rate.0);
        let left = now.since(self.at).scale(rate, 8_000_000_000).0;
        self.all = self.all.saturating_sub(left);
        self.immediate = self.immediate.saturating_sub(left);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_load_leaves_at_the_rate() {
        let at = |ms| Time::ZERO + MS * ms;
        let mut load = Load::default();
        load.add(at(0), 1000, true);
        assert_eq!(load.wait(at(0)), Duration::ZERO, "no limit is known");
        load.set_rate(at(0), Some(Rate::from_mbits(8)));
        for _ in 0..10 {
            load.add(at(0), 1000, true);
        }
        load.add(at(0), 2000, false);
        let seen = |load: &Load, ms| (load.wait(at(ms)), load.backlog(at(ms)));
        assert_eq!(seen(&load, 0), (MS * 12, MS * 2));
        assert_eq!(seen(&load, 1), (MS * 11, MS));
        // What remains takes longer at a lower rate.
        load.set_rate(at(4), Some(Rate::from_mbits(4)));
        assert_eq!(seen(&load, 4), (MS * 16, Duration::ZERO));
        assert_eq!(seen(&load, 20), (Duration::ZERO, Duration::ZERO));
    }
}
