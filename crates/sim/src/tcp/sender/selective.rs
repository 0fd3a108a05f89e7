//! Loss recovery by selective acknowledgments (RFC 6675); step numbers are those of its section 5.

use polypath_core::time::Time;

use super::Sender;
use super::cumulative::LOSS_THRESHOLD;
use crate::tcp::event::{RecoveryKind, TcpOutput};
use crate::tcp::ranges::Range;
use crate::tcp::scoreboard::{NextSegment, Outstanding, Scoreboard};
use crate::tcp::segment::Segment;

impl Sender {
    pub(super) fn take_selective(
        &mut self,
        now: Time,
        ack: &Segment,
        out: &mut impl FnMut(TcpOutput),
    ) {
        self.measure_delivery(now, ack);
        let (blocks, max) = (ack.sack.iter(ack.number), self.sequence.max);
        let is_duplicate = !ack.sack.is_empty() && self.board().update(blocks, max);
        self.take_by_state(now, ack, is_duplicate, out);
        // Unless it was applied before segments left.
        self.apply_delivery(now);
    }

    fn take_by_state(
        &mut self,
        now: Time,
        ack: &Segment,
        is_duplicate: bool,
        out: &mut impl FnMut(TcpOutput),
    ) {
        if self.recovery.is_fast() {
            return self.take_in_recovery(now, ack.number, out);
        }
        if ack.number > self.sequence.una {
            let from = self.sequence.una;
            self.advance(now, ack.number, out);
            self.board().advance(ack.number);
            self.leave_slow_start(out);
            self.grow(now, from, ack.ecn_flags.echo);
            self.send_more(now, u32::MAX, out);
        } else if is_duplicate {
            self.take_selective_duplicate(now, out);
        } else {
            // The ACK may carry a larger receiver window.
            self.send_more(now, u32::MAX, out);
        }
    }

    /// Measures the delivery rate by an ACK that is not yet processed, if the variant needs it.
    #[inline]
    fn measure_delivery(&mut self, now: Time, ack: &Segment) {
        if self.delivery.is_none() {
            return;
        }
        let in_flight = self.in_flight();
        let board: &Scoreboard = self.recovery.scoreboard.get_or_insert_default();
        let new = |block| board.not_acknowledged(block);
        let blocks = ack.sack.iter(ack.number).flat_map(new);
        if let Some(delivery) = &mut self.delivery {
            delivery.on_ack(now, ack.number, blocks, in_flight);
        }
    }

    /// Updates the model of the path by the measurement, now that the losses are known.
    pub(super) fn apply_delivery(&mut self, now: Time) {
        if !self
            .delivery
            .as_ref()
            .is_some_and(|delivery| delivery.has_sample())
        {
            return;
        }
        let in_flight = self.in_flight();
        let Some(delivery) = &mut self.delivery else {
            return;
        };
        if let Some(sample) = delivery.take_sample(in_flight) {
            self.window.on_delivery(now, &sample);
        }
        if self.window.is_probing_rtt() {
            delivery.on_application_limit(in_flight);
        }
    }

    /// The segments in flight: after a timeout those that were sent again, else the pipe.
    pub(super) fn in_flight(&mut self) -> u32 {
        if self.recovery.state != Some(RecoveryKind::Timeout) {
            return self.pipe();
        }
        let sent_again = Range {
            start: self.sequence.una,
            end: self.sequence.next,
        };
        self.board().missing_within(sent_again)
    }

    /// Handles an ACK of a segment beyond a hole (steps 1 to 3).
    fn take_selective_duplicate(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.recovery.duplicates += 1;
        let una = self.sequence.una;
        let is_lost = self.recovery.duplicates >= LOSS_THRESHOLD || self.board().is_lost(una);
        let is_answered = self.recovery.is_answered(una);
        if is_lost && (!is_answered || self.recovery.take_mark()) {
            self.recover_selectively(now, is_answered, out);
        } else if self.recovery.state.is_some() {
            // After a timeout duplicates are signs of old losses, which go-back-N repairs.
            self.send_more(now, u32::MAX, out);
        } else if self.options.limited_transmit && self.recovery.duplicates < LOSS_THRESHOLD {
            self.send_beyond_window(now, out);
        }
    }

    /// Starts fast recovery (step 4).
    fn recover_selectively(
        &mut self,
        now: Time,
        is_answered: bool,
        out: &mut impl FnMut(TcpOutput),
    ) {
        let point = self.recovery.point.filter(|_| is_answered);
        if !is_answered {
            self.window.reduce(self.in_use(self.sequence.una));
            self.signals_reduction = self.options.ecn;
        }
        let until = point.unwrap_or(self.sequence.max);
        let entered = self.recovery.begin(RecoveryKind::Fast, until);
        self.report(entered, out);
        self.retransmission.restart_untimed(now);
        let una = self.sequence.una;
        self.board().begin(una);
        if self.delivery.is_some() {
            let in_flight = self.pipe();
            self.window.conserve(in_flight);
        }
        self.transmit(now, una, out);
        self.send_more(now, u32::MAX, out);
    }

    /// Steps A to C.
    fn take_in_recovery(&mut self, now: Time, number: u32, out: &mut impl FnMut(TcpOutput)) {
        if number > self.sequence.una {
            self.advance(now, number, out);
            self.board().advance(number);
            self.leave_slow_start(out);
        }
        self.send_more(now, u32::MAX, out);
    }

    /// Fills the pipe (step C), with up to `burst` segments.
    pub(super) fn send_selectively(
        &mut self,
        now: Time,
        burst: u32,
        out: &mut impl FnMut(TcpOutput),
    ) {
        let mut pipe = self.pipe();
        let most = self.window.whole().min(pipe.saturating_add(burst));
        while pipe < most {
            let at = self.outstanding();
            match self.board().next(at) {
                Some(NextSegment::Again(number)) => self.transmit(now, number, out),
                Some(NextSegment::New) if at.max >= self.sequence.total => return,
                Some(NextSegment::New) => {
                    self.transmit(now, at.max, out);
                    self.sequence.next = self.sequence.max;
                }
                None => return,
            }
            pipe += 1;
        }
    }

    /// Whether [`Self::send_selectively`] may send.
    pub(super) fn may_send_selectively(&mut self) -> bool {
        self.pipe() < self.window.whole()
    }

    pub(super) fn pipe(&mut self) -> u32 {
        let at = self.outstanding();
        self.board().pipe(at)
    }

    fn outstanding(&self) -> Outstanding {
        let sequence = &self.sequence;
        Outstanding {
            una: sequence.una,
            max: sequence.max,
            has_new: sequence.max < sequence.edge && (sequence.max < sequence.total || self.is_fed),
        }
    }

    /// The scoreboard, which every sender with selective acknowledgments has.
    fn board(&mut self) -> &mut Scoreboard {
        self.recovery.scoreboard.get_or_insert_default()
    }
}
