//! The retransmission timer of a sender, and the segment that it times.

use polypath_core::time::{Duration, Time};

use crate::tcp::rto::Rto;

/// Timer and measurement: one segment at a time is timed, as in BSD and ns-2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmission {
    pub(super) rto: Rto,
    pub(super) expires: Option<Time>,
    timing: Option<Timing>,
}

/// A segment that is being timed.
#[derive(Clone, Copy, Debug)]
struct Timing {
    number: u32,
    sent: Time,
}

impl Retransmission {
    pub(super) const fn new(rto: Rto) -> Self {
        Self {
            rto,
            expires: None,
            timing: None,
        }
    }

    /// Records the first transmission of a segment.
    #[inline]
    pub(super) fn note_new(&mut self, now: Time, number: u32) {
        self.timing.get_or_insert(Timing { number, sent: now });
        self.note_sent(now);
    }

    /// Records a retransmission: the segment can no longer be timed (Karn).
    pub(super) fn note_again(&mut self, now: Time, number: u32) {
        self.timing.take_if(|timing| timing.number == number);
        self.note_sent(now);
    }

    /// Starts the timer with the first outstanding segment (RFC 6298, 5.1).
    #[inline]
    fn note_sent(&mut self, now: Time) {
        if self.expires.is_none() {
            self.restart(now);
        }
    }

    /// Completes a measurement by an ACK of all segments before `number`.
    #[inline]
    pub(super) fn measure(&mut self, now: Time, number: u32) -> Option<Duration> {
        let timing = self.timing.take_if(|timing| timing.number < number)?;
        self.rto.sample(timing.sent, now);
        Some(now.since(timing.sent))
    }

    /// Like [`Self::measure`], but uses the measurement only to end the back-off.
    pub(super) fn end_back_off(&mut self, number: u32) {
        if self
            .timing
            .take_if(|timing| timing.number < number)
            .is_some()
        {
            self.rto.end_back_off();
        }
    }

    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.expires = Some(now + self.rto.timeout());
    }

    pub(super) fn stop(&mut self) {
        self.expires = None;
    }

    /// Handles a retransmission: discards the pending measurement (Karn) and restarts the timer.
    pub(super) fn restart_untimed(&mut self, now: Time) {
        self.timing = None;
        self.restart(now);
    }

    /// Handles the expiry of the timer.
    pub(super) fn back_off(&mut self, now: Time) {
        self.rto.back_off();
        self.restart_untimed(now);
    }
}
