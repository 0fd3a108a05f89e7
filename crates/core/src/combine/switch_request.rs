//! The request to switch, repeated until the peer has switched.
//!
//! It is sent on all paths immediately and again after [`FIRST_REPEAT`], then with exponential
//! backoff up to [`LAST_REPEAT`], until a packet of its epoch arrives. After [`REPEATS`]
//! repetitions without any packet the peer has nothing to send or is unreachable: the request
//! pauses until the next packet of an older epoch.

use crate::frame::{Epoch, PathId};
use crate::machine::Deadline;
use crate::time::{Duration, Time};

/// The interval before the first repetition.
pub const FIRST_REPEAT: Duration = Duration::from_millis(20);
/// The maximum interval between repetitions.
pub const LAST_REPEAT: Duration = Duration::from_millis(1000);
/// The number of repetitions before the request pauses, after about 8 s.
pub const REPEATS: u32 = 12;

/// An unanswered request to switch.
#[derive(Clone, Debug)]
pub struct SwitchRequest {
    to: PathId,
    epoch: Epoch,
    sent: u32,
    next: Option<Time>,
}

impl SwitchRequest {
    /// A request for data on `to` in `epoch`, due immediately.
    #[must_use]
    pub fn new(now: Time, to: PathId, epoch: Epoch) -> Self {
        Self {
            to,
            epoch,
            sent: 0,
            next: Some(now),
        }
    }

    /// The path asked for.
    #[must_use]
    pub fn to(&self) -> PathId {
        self.to
    }

    /// The epoch that the switch opens.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Handles a packet of an older epoch: the peer is sending but has not switched.
    pub fn on_older_epoch(&mut self, now: Time) {
        if self.next.is_none() {
            self.sent = 0;
            self.next = Some(now);
        }
    }

    /// Returns the number of the repetition to send now, if one is due.
    pub fn due(&mut self, now: Time) -> Option<u32> {
        self.next.filter(|&at| at <= now)?;
        let number = self.sent;
        self.sent += 1;
        let wait = (FIRST_REPEAT * (1 << number.min(16))).min(LAST_REPEAT);
        self.next = (self.sent <= REPEATS).then(|| now + wait);
        Some(number)
    }

    /// The time of the next repetition.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.next.map(|at| Deadline {
            at,
            why: "repetition of a switch request",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_back_off_then_pause_until_an_older_epoch_arrives() {
        let mut request = SwitchRequest::new(Time::ZERO, PathId(1), Epoch(1));
        let mut times = alloc::vec::Vec::new();
        while let Some(deadline) = request.deadline() {
            assert!(request.due(deadline.at).is_some());
            assert_eq!(request.due(deadline.at), None, "once at a time");
            times.push(deadline.at.0 / 1_000_000);
        }
        assert_eq!(times.len(), 1 + REPEATS as usize);
        assert_eq!(times[..8], [0, 20, 60, 140, 300, 620, 1260, 2260]);
        let later = Time::ZERO + Duration::from_secs(100);
        request.on_older_epoch(later);
        assert_eq!(request.due(later), Some(0));
    }
}
