mod marks;

use super::*;
use crate::tcp::event::RecoveryKind;
use crate::tcp::{Overhead, Receiver};
use polypath_core::machine::{Wake, step};
use polypath_core::time::Duration;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const NOTHING: [u32; 0] = [];

fn number_of(output: TcpOutput) -> Option<u32> {
    output.segment().map(|segment| segment.number)
}

/// A sender without set-up, and what it sent.
struct Trace {
    sender: Sender,
    receiver_window: u32,
    sent: Vec<u32>,
}

impl Trace {
    fn new(total: u32, change: impl FnOnce(&mut TcpConfig)) -> Self {
        let mut config = TcpConfig {
            syn: false,
            ..TcpConfig::default()
        };
        change(&mut config);
        let mut sender = Sender::new(1, total, config, Rto::new(config.rto));
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut |o| sent.extend(number_of(o)));
        Self {
            sender,
            receiver_window: config.receiver_window,
            sent,
        }
    }

    /// The segments sent on an ACK of everything before `number` at `ms`.
    fn ack(&mut self, ms: u64, number: u32) -> Vec<u32> {
        let mut ack = Segment::new(SegmentKind::Ack, 1, number, 40);
        ack.window = self.receiver_window;
        self.wake(Time(ms * MS), Wake::Input(ack))
    }

    /// The segments that may be in flight.
    fn window(&self) -> u32 {
        self.sender.window.whole() + self.sender.recovery.inflation
    }

    /// Three round trips of 100 ms: 9 segments acknowledged, a window of 11.
    fn open_to_eleven(&mut self) {
        for (ms, numbers) in [(100, 1..=2), (200, 3..=6), (300, 7..=9)] {
            for number in numbers {
                self.ack(ms, number);
            }
        }
    }

    /// The segments sent on the next timeout, and its time.
    fn expire(&mut self) -> (u64, Vec<u32>) {
        let at = self.sender.deadline().expect("a timer runs").at;
        (at.0 / MS, self.wake(at, Wake::Timeout))
    }

    fn wake(&mut self, at: Time, wake: Wake<Segment>) -> Vec<u32> {
        let mut sent = Vec::new();
        step(&mut self.sender, at, wake, &mut |o| {
            sent.extend(number_of(o));
        });
        self.sent.extend(&sent);
        sent
    }
}

#[test]
fn slow_start_doubles_and_ends_at_the_receiver_window() {
    let mut trace = Trace::new(100, |c| c.receiver_window = 6);
    assert_eq!(trace.sent, [0, 1]);
    assert_eq!(trace.ack(100, 1), [2, 3]);
    assert_eq!(trace.ack(100, 2), [4, 5]);
    assert_eq!(trace.ack(200, 3), [6, 7]);
    assert_eq!(trace.ack(200, 4), [8, 9], "window 6");
    assert_eq!(trace.ack(200, 5), [10], "the receiver window holds");
    assert_eq!(trace.ack(200, 6), [11]);
}

#[test]
fn three_duplicates_retransmit_halve_and_inflate() {
    let mut trace = Trace::new(100, |_| {});
    trace.open_to_eleven();
    assert_eq!((trace.sender.sequence.next, trace.window()), (20, 11));
    assert_eq!(trace.ack(400, 9), [20], "limited transmit");
    assert_eq!(trace.ack(400, 9), [21]);
    assert_eq!(trace.ack(400, 9), [9], "fast retransmit");
    assert_eq!(trace.window(), 5 + 3);
    for _ in 0..5 {
        assert_eq!(
            trace.ack(400, 9),
            NOTHING,
            "13 segments in flight, window 5 + 3 + duplicates"
        );
    }
    assert_eq!(trace.ack(400, 9), [22], "window 14");
    assert_eq!(trace.ack(500, 22), [23, 24, 25, 26], "recovered: 5 + 1/5");
    assert_eq!(trace.sender.stats().retransmitted, 1);
}

#[test]
fn a_second_loss_in_a_window_waits_for_the_timer() {
    let mut trace = Trace::new(100, |_| {});
    trace.open_to_eleven();
    for _ in 0..3 {
        trace.ack(400, 9);
    }
    assert_eq!(
        trace.ack(500, 12),
        NOTHING,
        "a partial ACK ends fast recovery"
    );
    for _ in 0..5 {
        assert_eq!(
            trace.ack(500, 12),
            NOTHING,
            "no second retransmit in one window"
        );
    }
    let (at, sent) = trace.expire();
    // 100 ms measured three times: 10 ticks, and four deviations of 3 ticks.
    assert_eq!((at, sent), (720, vec![12]));
    assert_eq!(trace.window(), 1);
    assert_eq!(
        trace.ack(800, 15),
        [15, 16],
        "go-back-N passes over what has arrived"
    );
}

#[test]
fn the_timer_backs_off_and_karn_does_not_measure_retransmissions() {
    let mut trace = Trace::new(10, |_| {});
    assert_eq!(trace.expire(), (3_000, vec![0]));
    assert_eq!(trace.expire(), (9_000, vec![0]));
    assert_eq!(trace.ack(9_100, 1), [1, 2]);
    assert_eq!(
        trace.expire().0,
        21_100,
        "the back-off stays: 12 s after the ACK"
    );
    trace.ack(21_200, 3);
    trace.ack(21_300, 5);
    let rto = trace.sender.deadline().expect("a timer runs").at;
    assert_eq!(
        rto,
        Time(21_300 * MS) + Duration::from_millis(300),
        "measured again"
    );
}

#[test]
fn a_syn_is_alone_and_small_and_opens_the_initial_window() {
    let mut trace = Trace::new(10, |c| c.syn = true);
    assert_eq!(trace.sent, [0]);
    assert_eq!(trace.ack(100, 1), [1, 2]);
    assert_eq!(trace.ack(200, 2), [3, 4]);
}

/// The events of an observed sender at the ACK of `number` at `ms`.
fn events(sender: &mut Sender, ms: u64, number: u32) -> Vec<TcpEvent> {
    let mut ack = Segment::new(SegmentKind::Ack, 1, number, 40);
    ack.window = 20;
    let mut events = Vec::new();
    sender.handle_input(Time(ms * MS), ack, &mut |output| {
        if let TcpOutput::Event { event, .. } = output {
            events.push(event);
        }
    });
    events
}

#[test]
fn an_observed_sender_reports_changes_of_its_window() {
    let mut trace = Trace::new(100, |_| {});
    trace.open_to_eleven();
    let sender = &mut trace.sender;
    assert_eq!(events(sender, 350, 9), [], "not observed");
    sender.observe(true);
    assert_eq!(events(sender, 350, 9), [], "limited transmit");
    let window = |cwnd, ssthresh| TcpEvent::Window { cwnd, ssthresh };
    let kind = RecoveryKind::Fast;
    assert_eq!(
        events(sender, 400, 9),
        [
            TcpEvent::RecoveryEntered { kind, until: 22 },
            window(5.5, 5.0)
        ]
    );
    assert_eq!(events(sender, 400, 9), [], "inflation is not the window");
    assert_eq!(
        events(sender, 500, 22),
        [
            TcpEvent::RecoveryLeft { kind },
            window(5.5 + 1.0 / 5.5, 5.0)
        ]
    );
    let rtt = Duration::from_millis(100);
    let rto = Duration::from_millis(200);
    let reported = events(sender, 600, 23);
    assert_eq!(reported[0], TcpEvent::RttSample { rtt, rto });
}

#[test]
fn a_timeout_in_fast_recovery_starts_another_without_reporting_the_end() {
    let mut trace = Trace::new(100, |_| {});
    trace.open_to_eleven();
    for _ in 0..3 {
        trace.ack(400, 9);
    }
    assert!(trace.sender.recovery.is_fast());
    trace.sender.observe(true);
    let at = trace.sender.deadline().expect("a timer runs").at;
    let mut reported = Vec::new();
    trace.sender.handle_timeout(at, &mut |output| {
        if let TcpOutput::Event { event, .. } = output {
            reported.push(event);
        }
    });
    let kind = RecoveryKind::Timeout;
    let entered = TcpEvent::RecoveryEntered { kind, until: 22 };
    assert!(
        matches!(reported[0], TcpEvent::Timeout { .. }),
        "{reported:?}"
    );
    assert_eq!(reported[1], entered);
    assert!(
        matches!(reported[2..], [TcpEvent::Window { .. }]),
        "{reported:?}"
    );
}

#[test]
fn an_overhead_delays_what_acks_release_and_one_delay_runs_at_a_time() {
    let stream = polypath_core::rng::Seed(1).stream("overhead");
    let greatest = Duration::from_millis(5);
    let config = TcpConfig {
        syn: false,
        ..TcpConfig::default()
    };
    let sender = Sender::new(1, 100, config, Rto::new(config.rto));
    let mut sender = sender.with_overhead(Overhead::new(greatest, stream));
    let mut sent = Vec::new();
    sender.start(Time::ZERO, &mut |o| sent.extend(number_of(o)));
    assert_eq!(sent, NOTHING);
    let at = sender.deadline().expect("a delay runs").at;
    assert!(at <= Time::ZERO + greatest);
    sender.handle_timeout(at, &mut |o| sent.extend(number_of(o)));
    assert_eq!(sent, [0, 1], "what the window holds goes immediately");
    for number in [1, 2] {
        let mut ack = Segment::new(SegmentKind::Ack, 1, number, 40);
        ack.window = 20;
        let now = Time(100 * MS + u64::from(number));
        sender.handle_input(now, ack, &mut |o| sent.extend(number_of(o)));
    }
    assert_eq!(sent, [0, 1]);
    let at = sender.deadline().expect("a delay runs").at;
    sender.handle_timeout(at, &mut |o| sent.extend(number_of(o)));
    assert_eq!(sent, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_newest_receiver_window_holds_and_a_larger_one_is_no_duplicate() {
    let mut trace = Trace::new(100, |c| {
        c.receiver_window = 3;
        c.initial_window = 10;
    });
    let update = |trace: &mut Trace, number, window| {
        let mut ack = Segment::new(SegmentKind::Ack, 1, number, 40);
        ack.window = window;
        trace.wake(Time(100 * MS), Wake::Input(ack))
    };
    assert_eq!(trace.sent, [0, 1, 2]);
    assert_eq!(update(&mut trace, 1, 3), [3]);
    assert_eq!(update(&mut trace, 1, 5), [4, 5]);
    assert_eq!(trace.sender.recovery.duplicates, 0);
    assert_eq!(update(&mut trace, 2, 4), NOTHING, "the edge stays at 6");
}

#[test]
fn foreign_and_impossible_acks_do_nothing() {
    let mut trace = Trace::new(10, |_| {});
    assert_eq!(trace.ack(100, 7), NOTHING, "acknowledges what was not sent");
    let foreign = Segment::new(SegmentKind::Ack, 2, 1, 40);
    assert_eq!(trace.wake(Time(100 * MS), Wake::Input(foreign)), NOTHING);
    assert_eq!(trace.sender.acknowledged(), 0);
}

proptest! {
    /// Over a pipe that loses a third of the segments and of the ACKs everything arrives at last.
    #[test]
    fn delivers_everything_over_a_lossy_pipe(
        total in 1_u32..80,
        lost in proptest::collection::vec(proptest::bool::weighted(0.33), 64),
        limited_transmit: bool,
    ) {
        let config = TcpConfig { limited_transmit, ..TcpConfig::default() };
        let mut sender = Sender::new(1, total, config, Rto::new(config.rto));
        let mut receiver = Receiver::new(&config);
        let mut verdicts = lost.iter().cycle();
        let (mut flying, mut now) = (Vec::new(), Time::ZERO);
        sender.start(now, &mut |o| flying.extend(o.segment()));
        for _ in 0..20_000 {
            if sender.is_finished() {
                break;
            }
            let mut acks = Vec::new();
            now += Duration::from_millis(50);
            for data in flying.drain(..) {
                if !verdicts.next().unwrap() {
                    receiver.handle_input(now, data, &mut |a| acks.push(a));
                }
            }
            for ack in acks {
                if !verdicts.next().unwrap() {
                    sender.handle_input(now, ack, &mut |o| flying.extend(o.segment()));
                }
            }
            if flying.is_empty() && !sender.is_finished() {
                now = now.max(sender.deadline().unwrap().at);
                sender.handle_timeout(now, &mut |o| flying.extend(o.segment()));
                prop_assert!(sender.deadline().is_none_or(|d| d.at > now));
            }
        }
        prop_assert!(lost.iter().all(|l| *l) || sender.is_finished());
        prop_assert!(!sender.is_finished() || receiver.in_order() == total);
    }
}
