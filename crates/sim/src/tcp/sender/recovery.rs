//! The loss recovery state of a sender.

use polypath_core::time::Time;

use super::Sender;
use crate::tcp::event::{RecoveryKind, TcpEvent, TcpOutput};
use crate::tcp::scoreboard::Scoreboard;
use polypath_scenario::TcpVariant as Variant;

/// The state of loss recovery.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// Duplicate ACKs since the last new one.
    pub(super) duplicates: u32,
    /// The recovery in progress.
    pub(super) state: Option<RecoveryKind>,
    /// One past the highest segment sent when the window was last reduced.
    pub(super) point: Option<u32>,
    /// Whether a mark reduced it, so that the first loss of that window is repaired without
    /// a second reduction.
    for_mark: bool,
    /// The segments that left the network during fast recovery, by duplicate ACKs.
    pub(super) inflation: u32,
    /// Whether a partial ACK of this recovery has restarted the timer.
    pub(super) partial: bool,
    /// The SACK scoreboard, if the variant has SACK.
    pub(super) scoreboard: Option<Box<Scoreboard>>,
}

impl Recovery {
    pub(super) fn new(variant: Variant) -> Self {
        Self {
            duplicates: 0,
            state: None,
            point: None,
            for_mark: false,
            inflation: 0,
            partial: false,
            scoreboard: variant.selective().then(Box::default),
        }
    }

    #[inline]
    pub(super) fn is_fast(&self) -> bool {
        self.state == Some(RecoveryKind::Fast)
    }

    /// Whether the window was already reduced for the loss of `una`: all losses of a window are one
    /// sign of congestion (ns-2's `bugFix_`, the `recover` of RFC 6582).
    pub(super) fn is_answered(&self, una: u32) -> bool {
        let Some(point) = self.point else {
            return false;
        };
        // A scoreboard counts no duplicates of old data, so a loss at the point itself is
        // new.
        una < point || (una == point && self.scoreboard.is_none())
    }

    /// Records that a mark reduced the window.
    pub(super) fn answer_mark(&mut self, max: u32) {
        self.point = Some(max);
        self.for_mark = true;
    }

    /// Whether a mark, and no loss yet, has reduced the window; resets that state.
    pub(super) fn take_mark(&mut self) -> bool {
        std::mem::take(&mut self.for_mark)
    }

    /// Ends any recovery after a timeout.
    pub(super) fn begin_timeout(&mut self, max: u32) -> TcpEvent {
        self.duplicates = 0;
        self.inflation = 0;
        self.begin(RecoveryKind::Timeout, max)
    }

    /// Starts a recovery that ends once all segments before `point` are acknowledged.
    pub(super) fn begin(&mut self, kind: RecoveryKind, point: u32) -> TcpEvent {
        self.state = Some(kind);
        self.point = Some(point);
        self.for_mark = false;
        self.partial = false;
        TcpEvent::RecoveryEntered { kind, until: point }
    }
}

impl Sender {
    /// Processes an ACK of new data: `una` advances, the timer restarts, a round trip may be
    /// measured.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, number: u32, out: &mut impl FnMut(TcpOutput)) {
        self.sequence.una = number;
        self.sequence.next = self.sequence.next.max(number);
        self.recovery.duplicates = 0;
        if let Some(rtt) = self.retransmission.measure(now, number) {
            self.window.sample(rtt);
            let rto = self.retransmission.rto.timeout();
            self.report(TcpEvent::RttSample { rtt, rto }, out);
        }
        // The timer runs while anything is unacknowledged (RFC 6298, 5.2 and 5.3).
        if number < self.sequence.max {
            self.retransmission.restart(now);
        } else {
            self.retransmission.stop();
        }
    }

    /// Grows the window for an ACK of new data, unless it echoes a mark (RFC 3168,
    /// 6.1.2).
    #[inline]
    pub(super) fn grow(&mut self, now: Time, from: u32, echo: bool) {
        if self.options.syn && from == 0 {
            // After a lost SYN the window is one segment (RFC 5681, 3.1).
            let lost = self.stats.timeouts > 0;
            self.window
                .open(if lost { 1 } else { self.options.initial_window });
        } else if !(echo && self.options.ecn) {
            self.window.grow(now, self.sequence.una - from);
        }
    }

    /// Ends a recovery once its window has been acknowledged.
    #[inline]
    pub(super) fn leave_recovery(&mut self, out: &mut impl FnMut(TcpOutput)) {
        self.recovery.inflation = 0;
        if let Some(kind) = self.recovery.state.take() {
            self.window.leave_recovery();
            self.report(TcpEvent::RecoveryLeft { kind }, out);
        }
    }

    /// Leaves slow start after a loss, if all segments sent before the loss are acknowledged.
    #[inline]
    pub(super) fn leave_slow_start(&mut self, out: &mut impl FnMut(TcpOutput)) {
        if self.recovery.state.is_some()
            && self
                .recovery
                .point
                .is_some_and(|point| self.sequence.una >= point)
        {
            self.leave_recovery(out);
        }
    }
}
