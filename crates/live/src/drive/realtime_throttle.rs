//! Throttles a thread of real-time priority before the kernel does.
//!
//! Once such threads have used 95 % of a processor in a second, the kernel stops them for the
//! remaining 50 ms (`sched_rt_runtime_us`, or the deadline server of newer kernels). So the loop
//! rests by itself, often and briefly, while close deadlines keep it awake.

use std::thread::sleep;

use polypath_core::time::{Duration, Time};

use crate::clock::{Clock, processor_time};
use crate::priority;

/// The interval at which the processor time is checked.
const INTERVAL: Duration = Duration::from_millis(1);
/// One part in this number is idle or slept: at most 91 % of the processor is used.
const IDLE_SHARE: u64 = 10;

/// The processor time of a thread.
#[derive(Debug)]
pub(super) struct RealtimeThrottle {
    realtime: bool,
    since: Time,
    used: Duration,
}

impl RealtimeThrottle {
    /// Throttles the calling thread from `now` on.
    pub(super) fn new(now: Time) -> Self {
        Self {
            realtime: priority::is_realtime(),
            since: now,
            used: processor_time(),
        }
    }

    /// Sleeps if the thread has a real-time priority and was hardly idle; returns whether it slept.
    pub(super) fn rest_if_due(&mut self, now: Time, clock: Clock) -> bool {
        let elapsed = now.since(self.since);
        if !self.realtime || elapsed < INTERVAL {
            return false;
        }
        let used = processor_time();
        let idle = Duration(elapsed.0.saturating_sub(used.0 - self.used.0));
        let due = idle.0 < elapsed.0 / IDLE_SHARE;
        if due {
            sleep(elapsed.scale(1, IDLE_SHARE).into());
        }
        self.since = if due { clock.now() } else { now };
        self.used = used;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spins for 30 ms; returns the share of the processor that this took, and the number of rests.
    fn spin(realtime: bool) -> (f64, u32) {
        let clock = Clock::starting_now();
        let mut rest = RealtimeThrottle::new(clock.now());
        rest.realtime = realtime;
        let (used, mut rests) = (processor_time(), 0);
        let mut now = clock.now();
        while now < Time::ZERO + Duration::from_millis(30) {
            rests += u32::from(rest.rest_if_due(now, clock));
            now = clock.now();
        }
        let used = processor_time().0 - used.0;
        (used as f64 / now.0 as f64, rests)
    }

    #[test]
    fn a_realtime_thread_stays_below_the_limit_of_the_kernel() {
        let _quiet = crate::test_lock::exclusive();
        let (share, rests) = spin(true);
        assert!(share < 0.95, "{share} with {rests} rests");
        // If other threads took a tenth of the time, no rest was due.
        assert!(rests > 0 || share < 0.9, "{share}");
        assert_eq!(spin(false).1, 0, "normal threads do not rest");
    }
}
