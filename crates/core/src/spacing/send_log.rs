//! The number of packets sent until a round-trip time ago.

use alloc::collections::VecDeque;

use crate::time::{Duration, Time};

/// The send times of the last `span`, and the number of earlier packets.
#[derive(Clone, Debug, Default)]
pub(super) struct SendLog {
    recent: VecDeque<Time>,
    earlier: u64,
}

impl SendLog {
    /// 65 536 send times are 512 KiB: a base round-trip time of 100 ms at 7.8 Gbit/s in packets of
    /// 1500 B.
    pub(super) const CAPACITY: usize = 1 << 16;

    /// Records a packet. Beyond the capacity the oldest send time is discarded and its packet
    /// counts as earlier.
    pub(super) fn on_sent(&mut self, now: Time, span: Duration) {
        self.sent_by(now - span);
        if self.recent.len() == Self::CAPACITY {
            self.recent.pop_front();
            self.earlier += 1;
        }
        self.recent.push_back(now);
    }

    /// Takes back the last packet, which was not sent.
    pub(super) fn withdraw(&mut self) {
        self.recent.pop_back();
    }

    /// The number of packets sent at or before `at`, which must not decrease from call to call.
    pub(super) fn sent_by(&mut self, at: Time) -> u64 {
        while self.recent.front().is_some_and(|&sent| sent <= at) {
            self.recent.pop_front();
            self.earlier += 1;
        }
        self.earlier
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
        for _ in 0..2 * SendLog::CAPACITY {
            log.on_sent(Time::ZERO + ms(3000), ms(10));
        }
        assert_eq!(log.recent.len(), SendLog::CAPACITY);
    }
}
