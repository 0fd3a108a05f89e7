//! The effects of set-up, loss, delay and order of feedback.

use super::*;
use crate::machine::{Wake, step};

fn constant(delay: Duration) -> impl FnMut(loopback::State) -> Vec<Duration> {
    move |_| vec![delay]
}

/// Loses one packet in four while the spacing is at most 2000 us. Returns the number of feedback
/// messages until the spacing exceeds that, and the time since the first loss.
fn until_2000_us(control: ControlConfig) -> (u64, Duration) {
    let lossy = |state: loopback::State, header: &SpacedHeader| {
        let lost = state.spacing <= MS * 2 && header.sequence % 4 == 1;
        if lost { vec![] } else { vec![ONE_WAY] }
    };
    let receiver = SpacedReceiver::new(0);
    let mut network = Loopback::new(sender(control), receiver, lossy, constant(ONE_WAY));
    network.run(at(30));
    let applied = applied(&network);
    let passed = applied.iter().position(|t| t.2 > MS * 2).unwrap();
    let first_loss = applied.iter().find(|t| t.3.range.lost() > 0).unwrap().0;
    (passed as u64 + 1, applied[passed].0.since(first_loss))
}

/// Claim `psp.seven_rtts` over a network with a round-trip time of packets in flight. The paper's
/// seven holds if each feedback changes the spacing. If a loss is attributed to the spacing with
/// which the packet was sent, the effect of a reaction shows two feedback messages later, and six
/// more reactions take twelve round-trip times.
#[test]
fn the_spacing_exceeds_2000_us_after_seven_feedback_messages() {
    let (reports, since_loss) = until_2000_us(ad_hoc(Attribution::Latest));
    assert_eq!((reports, since_loss), (7, RTT * 6));
    let (reports, since_loss) = until_2000_us(ad_hoc(Attribution::WhenSent));
    assert_eq!((reports, since_loss), (13, RTT * 12));
}

#[test]
fn both_counts_are_equal_without_queues_and_differ_with_them() {
    for queue in [false, true] {
        let delay = move |state: loopback::State, _: &SpacedHeader| {
            let waited = if queue {
                state.now.since(Time::ZERO).scale(1, 10)
            } else {
                Duration::ZERO
            };
            vec![ONE_WAY + waited]
        };
        let receiver = SpacedReceiver::new(0);
        let fixed = ControlConfig::Fixed { spacing: US * 100 };
        let mut network = Loopback::new(sender(fixed), receiver, delay, constant(ONE_WAY));
        network.run(at(20));
        let applied = applied(&network);
        assert!(applied.len() > 15, "{}", applied.len());
        for (now, _, _, readings) in applied {
            assert_eq!(readings.range.lost(), 0, "{now}: nothing was lost");
            assert!(readings.range.received > 0);
            assert_eq!(
                readings.range == readings.clock,
                !queue,
                "{now}: {readings:?}"
            );
            assert_eq!(readings.clock.lost() > 0, queue, "{now}: {readings:?}");
        }
    }
}

/// A growing queue without losses: only counting by time raises the spacing.
#[test]
fn counting_by_time_treats_queueing_as_loss() {
    for (counting, raised) in [(Counting::Range, false), (Counting::Clock, true)] {
        let delay = |state: loopback::State, _: &SpacedHeader| {
            vec![ONE_WAY + state.now.since(Time::ZERO).scale(1, 10)]
        };
        let config = SenderConfig {
            counting,
            ..config(ad_hoc(Attribution::WhenSent))
        };
        let sender = SpacedSender::new(&config, Time::ZERO);
        let receiver = SpacedReceiver::new(0);
        let mut network = Loopback::new(sender, receiver, delay, constant(ONE_WAY));
        network.run(at(8));
        assert_eq!(
            network.sender.spacing() > Duration::ZERO,
            raised,
            "{counting:?}"
        );
    }
}

#[test]
fn a_ping_measures_the_base_round_trip_time_and_is_repeated_until_answered() {
    let config = SenderConfig {
        base_rtt: None,
        ..config(ad_hoc(Attribution::WhenSent))
    };
    let sender = SpacedSender::new(&config, at(1));
    let mut messages = 0;
    let back = |_: loopback::State| {
        messages += 1;
        if messages == 1 { vec![] } else { vec![ONE_WAY] }
    };
    let mut network = Loopback::new(sender, SpacedReceiver::new(0), |_, _| vec![ONE_WAY], back);
    network.run(at(20));
    assert_eq!(network.sender.rtt(), Some(RTT));
    let pings = [at(1), at(1) + MS * 1000];
    let first: Vec<_> = network.outputs.iter().take(3).copied().collect();
    let header = SpacedHeader {
        sequence: 0,
        sent: pings[1] + RTT,
        rtt: RTT,
    };
    let expected = [
        (pings[0], SenderOutput::Ping(pings[0])),
        (pings[1], SenderOutput::Ping(pings[1])),
        (header.sent, SenderOutput::Transmit(header)),
    ];
    assert_eq!(
        first, expected,
        "no packet before the round-trip time is known"
    );
}

/// The paper's agents without feedback (3.2).
#[test]
fn a_fixed_spacing_without_a_round_trip_time_requests_no_feedback() {
    let config = SenderConfig {
        base_rtt: None,
        ..config(ControlConfig::Fixed { spacing: US * 920 })
    };
    let sender = SpacedSender::new(&config, at(1));
    let receiver = SpacedReceiver::new(0);
    let back = |_: loopback::State| -> Vec<Duration> { panic!("unexpected reverse message") };
    let mut network = Loopback::new(sender, receiver, |_, _| vec![ONE_WAY], back);
    network.run(at(1) + MS * 1000);
    assert_eq!(
        network.sender.sent(),
        1001,
        "80 us and 920 us from start to start"
    );
}

#[test]
fn the_configured_round_trip_time_bounds_the_spacing() {
    for (rtt, expected) in [(RttSource::Base, RTT), (RttSource::Smoothed, RTT * 2)] {
        let config = SenderConfig {
            rtt,
            ..config(ad_hoc(Attribution::WhenSent))
        };
        let sender = SpacedSender::new(&config, Time::ZERO);
        let lossy = |_: loopback::State, header: &SpacedHeader| {
            if header.sequence.is_multiple_of(2) {
                vec![ONE_WAY * 3]
            } else {
                vec![]
            }
        };
        let receiver = SpacedReceiver::new(0);
        let mut network = Loopback::new(sender, receiver, lossy, constant(ONE_WAY));
        network.run(at(200));
        assert_eq!(network.sender.rtt(), Some(expected));
        assert_eq!(network.sender.spacing(), expected);
    }
}

fn feedback(number: u64, end: u64, received: u64) -> Feedback {
    Feedback {
        number,
        end,
        received,
        lost_end: if received < end { end } else { 0 },
        arrivals: Arrivals {
            distinct: received,
            ..Arrivals::default()
        },
        ..Feedback::default()
    }
}

#[test]
fn repeated_older_and_impossible_feedback_is_ignored() {
    let mut sender = sender(ad_hoc(Attribution::WhenSent));
    let now = Time::ZERO + MS * 200;
    for i in 0..100 {
        let mut writable = |at| {
            step(
                &mut sender,
                at,
                Wake::Input(SenderInput::Writable),
                &mut |_| {},
            )
        };
        writable(Time::ZERO + US * (100 * i));
    }
    assert_eq!(sender.sent(), 100);
    let mut apply = |f| {
        let mut outputs = Vec::new();
        step(
            &mut sender,
            now,
            Wake::Input(SenderInput::Feedback(f)),
            &mut |o| outputs.push(o),
        );
        match outputs[..] {
            [
                SenderOutput::FeedbackApplied {
                    readings, spacing, ..
                },
            ] => Ok((readings.range, spacing)),
            [SenderOutput::FeedbackIgnored(reason)] => Err(reason),
            _ => panic!("{outputs:?}"),
        }
    };
    // The first feedback was lost; the second covers both ranges.
    let reading = PacketCounts {
        sent: 60,
        received: 50,
    };
    assert_eq!(apply(feedback(2, 60, 50)), Ok((reading, US * 50)));
    assert_eq!(apply(feedback(2, 60, 50)), Err(IgnoreReason::NotNewer));
    assert_eq!(apply(feedback(1, 30, 30)), Err(IgnoreReason::NotNewer));
    for (end, received) in [(101, 90), (50, 50), (70, 40), (61, 60)] {
        assert_eq!(
            apply(feedback(3, end, received)),
            Err(IgnoreReason::Impossible),
            "{end} {received}"
        );
    }
    let reading = PacketCounts {
        sent: 40,
        received: 35,
    };
    assert_eq!(
        apply(feedback(3, 100, 85)),
        Ok((reading, US * 50)),
        "sent before the reaction"
    );
}
