//! The schedule of packets (paper, Fig. 3).

use crate::time::{Duration, Time};

/// Schedules packets `t_x` + `t_s` apart, from start to start.
///
/// The schedule advances from the scheduled time, not from the time at which the driver woke, so
/// that late wakes do not lower the rate. The lag is bounded, so that a stall does not end in a
/// burst.
#[derive(Clone, Debug)]
pub struct Pacer {
    transmission: Duration,
    catch_up: Duration,
    /// The scheduled start of the last packet; `None` before the first.
    last: Option<Time>,
    writable: bool,
}

impl Pacer {
    /// A pacer for packets of transmission time `t_x` = `transmission`, with at most `catch_up` of
    /// lag.
    #[must_use]
    pub fn new(transmission: Duration, catch_up: Duration) -> Self {
        Self {
            transmission,
            catch_up,
            last: None,
            writable: false,
        }
    }

    /// The maximum lag.
    #[must_use]
    pub fn catch_up(&self) -> Duration {
        self.catch_up
    }

    /// Records that the link or socket accepts a packet.
    pub fn on_writable(&mut self) {
        self.writable = true;
    }

    /// Records that there is no packet to send.
    pub fn on_idle(&mut self) {
        self.writable = false;
    }

    /// Starts the schedule again with the next packet: after a pause there is nothing to catch up
    /// with.
    pub fn restart(&mut self) {
        self.last = None;
    }

    /// The start of the next packet at this spacing; `None` until the link or socket is writable.
    #[must_use]
    pub fn next(&self, spacing: Duration) -> Option<Time> {
        let last = self.last.map(|last| last + self.transmission + spacing);
        self.writable.then(|| last.unwrap_or(Time::ZERO))
    }

    /// Records a packet that starts at `now`; the link or socket must become writable again before
    /// the next.
    pub fn on_sent(&mut self, now: Time, spacing: Duration) {
        let scheduled = self.next(spacing).filter(|_| self.last.is_some());
        self.last = Some(scheduled.map_or(now, |at| at.max(now - self.catch_up)));
        self.writable = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_late_wake_does_not_lower_the_rate_and_a_stall_does_not_end_in_a_burst() {
        let mut pacer = Pacer::new(MS * 2, MS * 5);
        assert_eq!(pacer.next(MS), None, "the link is not writable yet");
        pacer.on_writable();
        let start = Time::ZERO + MS * 100;
        pacer.on_sent(start, MS);
        assert_eq!(pacer.next(MS), None);
        pacer.on_writable();
        assert_eq!(pacer.next(MS), Some(start + MS * 3));
        assert_eq!(
            pacer.next(MS * 7),
            Some(start + MS * 9),
            "a change applies immediately"
        );
        pacer.on_sent(start + MS * 4, MS);
        pacer.on_writable();
        assert_eq!(
            pacer.next(MS),
            Some(start + MS * 6),
            "from the scheduled time"
        );
        pacer.on_sent(start + MS * 60, MS);
        pacer.on_writable();
        assert_eq!(pacer.next(MS), Some(start + MS * 58), "5 ms behind, not 54");
    }
}
