//! The marks and drops of a long queue, which signal congestion to TCP.

use crate::time::{Duration, Time};

/// The wait above which congestion is signalled. A TCP that then reduces its window by 30 % (RFC
/// 9438, section 4.6) over a round trip of 90 ms leaves the queue just empty.
const LONG: Duration = Duration::from_millis(40);
/// The longest wait.
const MAX: Duration = Duration::from_millis(200);
/// The first interval of signals: about a long round trip, after which one has an effect.
const INTERVAL: Duration = Duration::from_millis(100);

/// Signals congestion once when the wait becomes long, and then as long as it is, at intervals that
/// decrease with the square root of their number (RFC 8289, section 3.2).
///
/// In contrast to RFC 8289 the first signal does not wait for an interval: a TCP in slow start
/// would have doubled its window twice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CongestionSignals {
    count: u32,
    next: Time,
}

/// A signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Mark,
    Drop,
}

impl CongestionSignals {
    /// The signal of a packet that has to wait for `wait`, if it carries one: a mark if it is
    /// `ecn_capable` and the queue is not full.
    pub(super) fn decide(
        &mut self,
        now: Time,
        wait: Duration,
        ecn_capable: bool,
    ) -> Option<Signal> {
        if wait > MAX {
            return Some(Signal::Drop);
        }
        if wait <= LONG {
            self.count = 0;
            return None;
        }
        if now < self.next {
            return None;
        }
        self.count += 1;
        let interval = libm::sqrt(f64::from(self.count));
        self.next = now + Duration::from_secs_f64(INTERVAL.as_secs_f64() / interval);
        Some(if ecn_capable {
            Signal::Mark
        } else {
            Signal::Drop
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// The times in ms of the signals of packets that come every ms and wait for `wait` ms.
    fn signals(
        signals: &mut CongestionSignals,
        from: u64,
        to: u64,
        wait: u64,
    ) -> alloc::vec::Vec<u64> {
        let is_signal = |ms: &u64| signals.decide(at(*ms), MS * wait, false).is_some();
        (from..to).filter(is_signal).collect()
    }

    #[test]
    fn signals_begin_at_once_and_become_more_frequent() {
        let mut state = CongestionSignals::default();
        assert!(signals(&mut state, 0, 100, 40).is_empty());
        // 100 ms, 100/sqrt(2) ms, 100/sqrt(3) ms and so on.
        assert_eq!(signals(&mut state, 100, 400, 41), [100, 200, 271, 329, 379]);
        // A short queue ends it, but the next signal does not come before its time.
        assert!(signals(&mut state, 400, 410, 39).is_empty());
        assert_eq!(signals(&mut state, 410, 530, 41), [424, 524]);
    }

    #[test]
    fn a_full_queue_drops_and_a_long_one_marks() {
        let mut state = CongestionSignals::default();
        let mut decide = |ms, wait, ecn| state.decide(at(ms), MS * wait, ecn);
        assert_eq!(decide(0, 50, true), Some(Signal::Mark));
        assert_eq!(decide(1, 50, true), None);
        assert_eq!(decide(2, 201, true), Some(Signal::Drop));
        assert_eq!(decide(3, 201, false), Some(Signal::Drop));
        assert_eq!(decide(150, 50, false), Some(Signal::Drop));
    }
}
