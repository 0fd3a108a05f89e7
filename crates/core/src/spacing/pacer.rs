//! When the next packet begins (paper, Fig. 3).

use crate::time::{Duration, Time};

/// Schedules packets `t_x` + `t_s` apart, from start to start.
///
/// It advances from the scheduled time, not from the time at which a driver woke, or late wakes would lower the rate;
/// how far it may lag is bounded, or a stall would end in a burst.
#[derive(Clone, Debug)]
pub struct Pacer {
    transmission: Duration,
    catch_up: Duration,
    /// When the last packet was to begin; `None` before the first.
    last: Option<Time>,
    writable: bool,
}

impl Pacer {
    /// For packets of transmission time `t_x` = `transmission`.
    #[must_use]
    pub fn new(transmission: Duration, catch_up: Duration) -> Self {
        Self {
            transmission,
            catch_up,
            last: None,
            writable: false,
        }
    }

    /// The link or socket takes a packet.
    pub fn on_writable(&mut self) {
        self.writable = true;
    }

    /// When the next packet is due at this spacing; `None` until the link or socket takes one.
    #[must_use]
    pub fn next(&self, spacing: Duration) -> Option<Time> {
        let last = self.last.map(|last| last + self.transmission + spacing);
        self.writable.then(|| last.unwrap_or(Time::ZERO))
    }

    /// Takes note of a packet that begins `now`; the link or socket has to say again when it takes one.
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
        assert_eq!(
            pacer.next(MS),
            None,
            "the link has not said that it takes one"
        );
        pacer.on_writable();
        let start = Time::ZERO + MS * 100;
        pacer.on_sent(start, MS);
        assert_eq!(pacer.next(MS), None);
        pacer.on_writable();
        assert_eq!(pacer.next(MS), Some(start + MS * 3));
        assert_eq!(
            pacer.next(MS * 7),
            Some(start + MS * 9),
            "a change holds at once"
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
