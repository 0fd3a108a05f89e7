//! Transmission: the limits of the windows, and sending within them.

use polypath_core::packet::Ecn;
use polypath_core::time::Time;

use super::Sender;
use super::cumulative::{LOSS_THRESHOLD, NEWRENO_BURST};
use crate::tcp::event::TcpOutput;
use crate::tcp::segment::{Segment, SegmentKind};
use polypath_scenario::TcpVariant as Variant;

impl Sender {
    /// Sends the permitted segments, up to `burst`, now or after the host's overhead.
    #[inline]
    pub(super) fn send_more(&mut self, now: Time, burst: u32, out: &mut impl FnMut(TcpOutput)) {
        if self.delivery.is_some() {
            self.send_paced(now, out);
        } else if self.overhead.is_some() {
            self.put_off(now);
        } else {
            self.send_allowed(now, burst, out);
        }
    }

    fn put_off(&mut self, now: Time) {
        if self.may_send()
            && let Some(overhead) = &mut self.overhead
        {
            overhead.put_off(now);
        }
    }

    fn may_send(&mut self) -> bool {
        if self.recovers_selectively() {
            self.may_send_selectively()
        } else {
            self.sequence.next < self.limit()
        }
    }

    /// Sends the permitted segments one by one, as far as their time has come.
    pub(super) fn send_paced(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.apply_delivery(now);
        if let Some(delivery) = &mut self.delivery {
            delivery.cancel_wait();
        }
        while self.may_send()
            && let Some(delivery) = &mut self.delivery
            && delivery.may_leave(now)
        {
            let before = (self.sequence.next, self.stats.sent);
            self.send_allowed(now, 1, out);
            if before == (self.sequence.next, self.stats.sent) {
                break;
            }
        }
        self.note_application_limit();
    }

    /// Notes that the application, not the window, limits a paced sender.
    fn note_application_limit(&mut self) {
        // A fed sender gets more as soon as it has room.
        if self.sequence.next < self.sequence.total || self.is_fed {
            return;
        }
        let in_flight = self.in_flight();
        if in_flight < self.window.whole()
            && let Some(delivery) = &mut self.delivery
        {
            delivery.on_application_limit(in_flight);
        }
    }

    #[inline]
    pub(super) fn send_allowed(&mut self, now: Time, burst: u32, out: &mut impl FnMut(TcpOutput)) {
        if self.recovers_selectively() {
            return self.send_selectively(now, burst, out);
        }
        let limit = self.limit();
        let mut left = burst;
        while self.sequence.next < limit && left > 0 {
            left -= 1;
            self.send_next(now, out);
        }
    }

    #[inline]
    fn recovers_selectively(&self) -> bool {
        self.recovery.is_fast() && self.recovery.scoreboard.is_some()
    }

    /// Limited transmit (RFC 3042): one new segment for each of the first duplicate ACKs.
    pub(super) fn send_beyond_window(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if self.delivery.is_some() {
            return;
        }
        let beyond = self.window.whole().saturating_add(self.recovery.duplicates);
        if self.sequence.next < self.limit_of(beyond) {
            self.send_next(now, out);
        }
    }

    /// The number of segments that the windows permit beyond those that the application has
    /// written: 0 if the connection is blocked.
    pub fn room(&mut self) -> u32 {
        let beyond = if self.recovers_selectively() {
            // Retransmissions were sent with the last ACK, as far as the pipe permits.
            let free = self.window.whole().saturating_sub(self.pipe());
            self.sequence.max.saturating_add(free)
        } else {
            let window = self.window.whole().saturating_add(self.recovery.inflation);
            let window = window.saturating_add(self.limited_transmit());
            self.sequence.una.saturating_add(window)
        };
        let room = beyond.min(self.sequence.edge);
        let room = room.saturating_sub(self.sequence.total);
        match self.options.variant {
            Variant::NewReno if self.recovery.is_fast() => room.min(NEWRENO_BURST),
            _ => room,
        }
    }

    /// Accepts `segments` more from the application, and sends what is permitted.
    pub fn extend(&mut self, now: Time, segments: u32, out: &mut impl FnMut(TcpOutput)) {
        self.sequence.total = self.sequence.total.saturating_add(segments);
        if self.limited_transmit() > 0 && !self.recovers_selectively() {
            for _ in 0..segments {
                self.send_beyond_window(now, out);
            }
        }
        self.send_more(now, u32::MAX, out);
    }

    /// The number of new segments that the first duplicate ACKs permit beyond the window (RFC
    /// 3042); none during retransmissions.
    fn limited_transmit(&self) -> u32 {
        let duplicates = self.recovery.duplicates;
        let sends_new = self.sequence.next >= self.sequence.max;
        if self.options.limited_transmit && sends_new && duplicates < LOSS_THRESHOLD {
            duplicates
        } else {
            0
        }
    }

    /// The right edge of the window: one past the last segment that may be sent.
    #[inline]
    fn limit(&self) -> u32 {
        self.limit_of(self.window.whole().saturating_add(self.recovery.inflation))
    }

    #[inline]
    fn limit_of(&self, window: u32) -> u32 {
        let sequence = &self.sequence;
        let by_window = sequence.una.saturating_add(window);
        by_window.min(sequence.edge).min(sequence.total)
    }

    /// Sends the next segment; after a timeout, the next one not known to have arrived.
    #[inline]
    fn send_next(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        let number = self.sequence.next;
        self.sequence.next = number + 1;
        if number < self.sequence.max
            && let Some(board) = &self.recovery.scoreboard
        {
            let missing = board.first_missing(number);
            if missing > number {
                self.sequence.next = missing;
                return;
            }
        }
        self.transmit(now, number, out);
    }

    #[inline]
    pub(super) fn transmit(&mut self, now: Time, number: u32, out: &mut impl FnMut(TcpOutput)) {
        let size = match number {
            0 if self.options.syn => self.options.ack,
            _ => self.options.segment,
        };
        self.note_transmission(now, number);
        let mut segment = Segment::new(SegmentKind::Data, self.connection, number, size);
        self.stats.sent += 1;
        if number < self.sequence.max {
            self.stats.retransmitted += 1;
            self.retransmission.note_again(now, number);
        } else {
            self.sequence.max = number + 1;
            self.retransmission.note_new(now, number);
            self.declare_ecn(&mut segment);
        }
        out(TcpOutput::Segment(segment));
    }

    /// Notes a transmission of a paced sender. A SYN shows nothing of the rate.
    #[inline]
    fn note_transmission(&mut self, now: Time, number: u32) {
        let Some(delivery) = &mut self.delivery else {
            return;
        };
        if number == 0 && self.options.syn {
            return;
        }
        let is_idle = self.sequence.una == self.sequence.max;
        if is_idle && delivery.is_app_limited() {
            self.window.restart_from_idle();
        }
        delivery.on_sent(now, number, is_idle);
        delivery.pace(now, self.window.pacing_rate());
    }

    /// Whether a segment is ECN-capable: new data is; a SYN and retransmissions are not (RFC 3168,
    /// 6.1.1 and 6.1.5).
    #[inline]
    fn declare_ecn(&mut self, segment: &mut Segment) {
        if self.options.ecn && !(self.options.syn && segment.number == 0) {
            segment.ecn = Ecn::Ect0;
            segment.ecn_flags.reduced = std::mem::take(&mut self.signals_reduction);
        }
    }
}
