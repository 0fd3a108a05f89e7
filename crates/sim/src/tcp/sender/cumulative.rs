//! Loss recovery by cumulative ACKs: Tahoe, Reno (RFC 5681) and `NewReno` (RFC 6582), as in ns-2
//! 2.35.

use polypath_core::time::Time;

use super::Sender;
use crate::tcp::event::{RecoveryKind, TcpOutput};
use crate::tcp::segment::Segment;
use polypath_scenario::TcpVariant as Variant;

/// The number of duplicate ACKs that indicate a loss (RFC 5681, 3.2).
pub(super) const LOSS_THRESHOLD: u32 = 3;
/// The maximum number of segments that `NewReno` sends for one ACK in fast recovery (ns-2 2.35,
/// tcp-newreno.cc).
pub(super) const NEWRENO_BURST: u32 = 2;

impl Sender {
    #[inline]
    pub(super) fn take_new_ack(
        &mut self,
        now: Time,
        ack: &Segment,
        out: &mut impl FnMut(TcpOutput),
    ) {
        if self.recovery.is_fast() {
            let is_partial = self.recovery.point.is_some_and(|point| ack.number < point);
            if is_partial && self.options.variant == Variant::NewReno {
                return self.take_partial_ack(now, ack.number, out);
            }
            self.leave_recovery(out);
        }
        let from = self.sequence.una;
        self.advance(now, ack.number, out);
        self.leave_slow_start(out);
        self.grow(now, from, ack.ecn_flags.echo);
        self.send_more(now, u32::MAX, out);
    }

    /// Handles a partial ACK: the first unacknowledged segment is lost as well (RFC 6582,
    /// 3.2, step 3, with a timer that only the first partial ACK restarts).
    fn take_partial_ack(&mut self, now: Time, number: u32, out: &mut impl FnMut(TcpOutput)) {
        let acknowledged = number - self.sequence.una;
        if self.recovery.inflation > acknowledged {
            self.recovery.inflation -= acknowledged - 1;
        } else {
            self.window.deflate(acknowledged - self.recovery.inflation);
            self.recovery.inflation = 1;
        }
        if !std::mem::replace(&mut self.recovery.partial, true) {
            self.retransmission.restart(now);
        }
        self.sequence.una = number;
        self.sequence.next = self.sequence.next.max(number);
        self.retransmission.end_back_off(number);
        self.transmit(now, number, out);
        self.send_more(now, NEWRENO_BURST, out);
    }

    pub(super) fn take_duplicate_ack(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.recovery.duplicates += 1;
        if self.recovery.duplicates < LOSS_THRESHOLD {
            if self.options.limited_transmit {
                self.send_beyond_window(now, out);
            }
            return;
        }
        if self.recovery.duplicates == LOSS_THRESHOLD {
            self.take_loss(now, out);
        } else if self.recovery.is_fast() {
            self.recovery.inflation += 1;
        }
        let burst = match self.options.variant {
            Variant::NewReno => NEWRENO_BURST,
            _ => u32::MAX,
        };
        self.send_more(now, burst, out);
    }

    /// Handles three duplicate ACKs, which indicate a loss.
    fn take_loss(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        let is_answered = self.recovery.is_answered(self.sequence.una);
        let for_mark = self.recovery.take_mark();
        if is_answered && !for_mark {
            return;
        }
        if self.options.variant == Variant::Tahoe {
            return self.restart_slowly(now, out);
        }
        let point = self.recovery.point.filter(|_| is_answered);
        if !is_answered {
            self.window.reduce(self.in_use(self.sequence.una));
            self.signals_reduction = self.options.ecn;
        }
        let until = point.unwrap_or(self.sequence.max);
        let entered = self.recovery.begin(RecoveryKind::Fast, until);
        self.recovery.inflation = LOSS_THRESHOLD;
        self.report(entered, out);
        self.retransmission.restart_untimed(now);
        self.transmit(now, self.sequence.una, out);
    }

    /// Reacts to a loss as Tahoe does: as to a timeout, without the back-off.
    fn restart_slowly(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.window.restart(self.in_use(self.sequence.una));
        self.signals_reduction = self.options.ecn;
        let entered = self
            .recovery
            .begin(RecoveryKind::SlowStart, self.sequence.max);
        self.report(entered, out);
        self.retransmission.restart_untimed(now);
        self.sequence.next = self.sequence.una;
    }
}
