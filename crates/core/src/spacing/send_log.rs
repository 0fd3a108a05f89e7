//! How many packets were sent by a time that is a round-trip time ago.

use alloc::collections::VecDeque;

use crate::time::{Duration, Time};

/// The send times of the last `span`, and how many were sent before.
#[derive(Clone, Debug, Default)]
pub(super) struct SendLog {
    recent: VecDeque<Time>,
    before: u64,
}

impl SendLog {
    /// 65 536 send times are 512 KiB: a base round-trip time of 100 ms at 7.8 Gbit/s in packets of 1500 B.
    pub(super) const MOST: usize = 1 << 16;

    /// Notes a packet; beyond the bound the oldest times are given up, and count as longer ago than they are.
    pub(super) fn on_sent(&mut self, now: Time, span: Duration) {
        self.sent_by(now - span);
        if self.recent.len() == Self::MOST {
            self.recent.pop_front();
            self.before += 1;
        }
        self.recent.push_back(now);
    }

    /// How many packets were sent at or before `at`, which must not be earlier than in the last call.
    pub(super) fn sent_by(&mut self, at: Time) -> u64 {
        while self.recent.front().is_some_and(|&sent| sent <= at) {
            self.recent.pop_front();
            self.before += 1;
        }
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_time_and_keeps_only_a_round_trip_time() {
        let ms = Duration::from_millis;
        let mut log = SendLog::default();
        for i in 0..1000 {
            log.on_sent(Time::ZERO + ms(i), ms(10));
            assert!(log.recent.len() <= 10);
        }
        assert_eq!(log.sent_by(Time::ZERO + ms(989)), 990);
        assert_eq!(log.sent_by(Time::ZERO + ms(995)), 996);
        assert_eq!(log.sent_by(Time::ZERO + ms(2000)), 1000);
        for _ in 0..2 * SendLog::MOST {
            log.on_sent(Time::ZERO + ms(3000), ms(10));
        }
        assert_eq!(log.recent.len(), SendLog::MOST);
    }
}
