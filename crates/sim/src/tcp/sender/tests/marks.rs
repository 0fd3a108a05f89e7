//! ECN-Echo that comes while losses are being repaired.

use super::*;
use crate::tcp::ranges::Range;

/// A sender with ECN whose recovery began at 20 outstanding segments or more.
fn trace(variant: Variant) -> Trace {
    let mut trace = Trace::new(100, |c| {
        c.variant = variant;
        c.ecn = true;
    });
    trace.open_to_eleven();
    trace
}

impl Trace {
    /// An ACK of everything before `number` and of `block`, with an echo or not, and what it makes
    /// it send.
    fn take(&mut self, ms: u64, number: u32, block: Option<(u32, u32)>, echo: bool) -> Vec<u32> {
        let mut ack = Segment::new(SegmentKind::Ack, 1, number, 40);
        ack.window = self.receiver_window;
        ack.ecn_flags.echo = echo;
        if let Some((start, end)) = block {
            ack.sack.push(number, Range { start, end });
        }
        self.wake(Time(ms * MS), Wake::Input(ack))
    }

    /// Segment 9 is lost, 10 to 18 arrive; new segments follow the retransmission.
    fn recover_from_loss(&mut self) {
        for end in 11..=20 {
            self.take(400, 9, Some((10, end)), false);
        }
        assert!(self.sender.recovery.is_fast());
        let point = self.sender.recovery.point.expect("a recovery has a point");
        assert!(
            self.sender.sequence.max > point,
            "new data beyond the point"
        );
    }
}

#[test]
fn an_echo_beyond_the_point_follows_the_recovery_and_takes_no_inflation_for_window() {
    for (variant, left) in [
        (Variant::Reno, 5.5 / 2.0),
        (Variant::NewReno, 5.5 / 2.0),
        (Variant::Sack, 5.5 / 2.0),
        (Variant::Cubic, 11.0 * 0.7 * 0.7),
    ] {
        let mut trace = trace(variant);
        trace.recover_from_loss();
        let point = trace.sender.recovery.point.unwrap();
        let max = trace.sender.sequence.max;
        let again = trace.sender.stats().retransmitted;
        trace.take(500, point + 1, None, true);
        let recovery = &trace.sender.recovery;
        assert_eq!(
            recovery.state, None,
            "{variant:?}: all of it is acknowledged"
        );
        assert_eq!(recovery.inflation, 0, "{variant:?}");
        assert_eq!(
            recovery.point,
            Some(max),
            "{variant:?}: marks of this window are answered"
        );
        let cwnd = trace.sender.congestion_window();
        assert!(
            (cwnd - left).abs() < 1e-9,
            "{variant:?}: {cwnd}, not {left}"
        );
        assert_eq!(
            trace.sender.stats().retransmitted,
            again,
            "{variant:?}: nothing was lost"
        );
    }
}

#[test]
fn an_echo_up_to_the_point_belongs_to_the_loss() {
    for variant in [Variant::NewReno, Variant::Sack, Variant::Cubic] {
        let mut trace = trace(variant);
        trace.recover_from_loss();
        let point = trace.sender.recovery.point;
        let before = trace.sender.congestion_window();
        trace.take(500, point.unwrap(), None, true);
        assert_eq!(trace.sender.recovery.state, None, "{variant:?}");
        assert_eq!(trace.sender.recovery.point, point, "{variant:?}");
        let cwnd = trace.sender.congestion_window();
        assert!(
            (cwnd - before).abs() < 1e-9,
            "{variant:?}: {before}, then {cwnd}"
        );
    }
}

#[test]
fn an_echo_ends_the_slow_start_after_a_timeout_at_its_point() {
    for variant in [Variant::Reno, Variant::Sack, Variant::Cubic] {
        let mut trace = trace(variant);
        trace.expire();
        let point = trace.sender.recovery.point.unwrap();
        assert_eq!(point, 20);
        trace.take(900, 15, None, false);
        trace.take(900, 19, None, false);
        assert!(trace.sender.sequence.max > point, "{variant:?}");
        trace.take(1_000, point + 1, None, true);
        assert_eq!(trace.sender.recovery.state, None, "{variant:?}");
    }
}

#[test]
fn a_mark_halves_what_the_receiver_allows_where_that_is_less() {
    let mut trace = Trace::new(100, |c| {
        c.receiver_window = 4;
        c.initial_window = 10;
        c.ecn = true;
    });
    assert_eq!(trace.sent, [0, 1, 2, 3]);
    trace.take(100, 4, None, true);
    let cwnd = trace.sender.congestion_window();
    assert!((cwnd - 2.0).abs() < 1e-9, "{cwnd}");
}

#[test]
fn a_loss_in_a_window_that_a_mark_reduced_is_repaired_up_to_the_point_of_the_mark() {
    for variant in [Variant::NewReno, Variant::Sack] {
        let mut trace = trace(variant);
        trace.take(400, 9, None, false);
        trace.take(400, 10, None, true);
        let point = trace.sender.recovery.point.unwrap();
        trace.take(400, 18, None, false);
        assert!(trace.sender.sequence.max > point, "{variant:?}");
        trace.sender.observe(true);
        let mut reported = Vec::new();
        for end in 20..=22 {
            let mut ack = Segment::new(SegmentKind::Ack, 1, 18, 40);
            ack.window = trace.receiver_window;
            ack.sack.push(18, Range { start: 19, end });
            trace
                .sender
                .handle_input(Time(450 * MS), ack, &mut |output| {
                    if let TcpOutput::Event {
                        event: event @ TcpEvent::RecoveryEntered { .. },
                        ..
                    } = output
                    {
                        reported.push(event);
                    }
                });
        }
        let kind = RecoveryKind::Fast;
        let entered = TcpEvent::RecoveryEntered { kind, until: point };
        assert_eq!(reported, [entered], "{variant:?}");
        assert_eq!(trace.sender.recovery.point, Some(point), "{variant:?}");
    }
}
