use super::*;
use crate::machine::{Wake, step};

/// Short round-trip times, for which feedback falls due, and arbitrary ones.
fn round_trips() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_000_000_u64, any::<u64>()]
}

fn controls() -> impl Strategy<Value = ControlConfig> {
    let attributions = prop_oneof![Just(Attribution::WhenSent), Just(Attribution::Latest)];
    let adaptive = (attributions, 0_u64..200_000, 0_u64..100_000, 0_u64..5000);
    let adaptive = adaptive.prop_map(|(attribution, initial, first, step)| AdaptiveConfig {
        initial: Duration(initial),
        first: Duration(first),
        step: Duration(step),
        attribution,
    });
    prop_oneof![
        (0_u64..10_000_000).prop_map(|ns| ControlConfig::Fixed {
            spacing: Duration(ns)
        }),
        adaptive.clone().prop_map(ControlConfig::AdHoc),
        adaptive.prop_map(ControlConfig::Damped),
        (1_u64..10_000_000, 1_u64..400, 0_u64..400).prop_map(|(initial, reference, queue)| {
            ControlConfig::Cubic(CubicConfig {
                initial: Duration(initial),
                reference_rtt: MS * reference,
                max_queue: MS * queue,
            })
        }),
    ]
}

fn feedbacks() -> impl Strategy<Value = Feedback> {
    let near = || prop_oneof![0_u64..40, any::<u64>()];
    let counts = (near(), near(), near(), near(), near());
    (counts, near(), near()).prop_map(
        |((number, end, received, lost_end, distinct), echo, hold)| Feedback {
            number,
            end,
            received,
            lost_end,
            arrivals: Arrivals {
                distinct,
                late: echo,
                duplicates: hold,
            },
            echo: Time(echo),
            hold: Duration(hold),
        },
    )
}

/// The delays of up to two copies of each message in milliseconds; an empty list loses it.
fn delays() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(1_u64..300, 0..3), 1..20)
}

fn cycle(delays: &[Vec<u64>]) -> impl FnMut() -> Vec<Duration> {
    let mut turn = delays.iter().cycle();
    move || {
        turn.next()
            .into_iter()
            .flatten()
            .map(|&ms| MS * ms)
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Arbitrary loss, order and duplication of packets and feedback in both directions.
    #[test]
    fn the_spacing_stays_within_bounds_on_any_network(
        control in controls(), there in delays(), back in delays(), reordering in 0_u32..5,
        smoothed in any::<bool>(), by_clock in any::<bool>(),
    ) {
        let config = SenderConfig {
            rtt: if smoothed { RttSource::Smoothed } else { RttSource::Base },
            counting: if by_clock { Counting::Clock } else { Counting::Range },
            line_rate: Some(Rate::from_mbits(10)),
            ..config(control)
        };
        let (mut there, mut back) = (cycle(&there), cycle(&back));
        let sender = SpacedSender::new(&config, Time::ZERO);
        let receiver = SpacedReceiver::new(reordering);
        let mut network = Loopback::new(sender, receiver, |_, _| there(), |_| back());
        network.run(Time::ZERO + MS * 3000);
        // The longest round trip is 600 ms, and feedback is never delayed further.
        let bound = if smoothed { MS * 600 } else { RTT };
        let bound = match control {
            ControlConfig::Cubic(config) => bound.max(config.reference_rtt),
            _ => bound,
        };
        let fixed = matches!(control, ControlConfig::Fixed { .. });
        for (now, _, spacing, readings) in applied(&network) {
            prop_assert!(readings.range.received <= readings.range.sent);
            prop_assert!(fixed || spacing <= bound, "{spacing} at {now}");
        }
        let arrivals = network.receiver.arrivals();
        prop_assert!(arrivals.distinct <= network.sender.sent());
    }

    /// Arbitrary feedback in any order, between packets.
    #[test]
    fn arbitrary_feedback_never_makes_a_sender_panic(
        control in controls(), feedbacks in prop::collection::vec(feedbacks(), 0..60),
    ) {
        let mut sender = sender(control);
        let mut now = Time::ZERO;
        for feedback in feedbacks {
            now += MS;
            let before = sender.spacing();
            let mut ignored = false;
            step(&mut sender, now, Wake::Input(SenderInput::Writable), &mut |_| {});
            step(&mut sender, now, Wake::Input(SenderInput::Feedback(feedback)), &mut |output| {
                ignored = matches!(output, SenderOutput::FeedbackIgnored(_));
                if let SenderOutput::FeedbackApplied { readings, .. } = output {
                    assert!(readings.range.received <= readings.range.sent);
                }
            });
            prop_assert!(!ignored || sender.spacing() == before);
        }
    }

    /// Packets with arbitrary headers in any order.
    #[test]
    fn arbitrary_packets_never_make_a_receiver_panic(
        headers in prop::collection::vec((any::<u64>(), any::<u64>(), round_trips()), 0..60), narrow in any::<bool>(),
    ) {
        let mut receiver = SpacedReceiver::new(3);
        let mut now = Time::ZERO;
        let mut end = 0;
        for (sequence, sent, rtt) in headers {
            now += MS * 7;
            let sequence = if narrow { sequence % 32 } else { sequence };
            let header = SpacedHeader { sequence, sent: Time(sent), rtt: Duration(rtt) };
            let deadline = step(&mut receiver, now, Wake::Input(header), &mut |_| {});
            prop_assert!(deadline.is_some() || rtt == 0);
            step(&mut receiver, now, Wake::Timeout, &mut |output| {
                if let ReceiverOutput::Feedback(feedback) = output {
                    assert!(feedback.end >= end && feedback.lost_end <= feedback.end);
                    assert!(feedback.received <= feedback.end);
                    end = feedback.end;
                }
            });
        }
    }

    /// A loss never lowers the spacing, and its absence never raises it.
    #[test]
    fn the_reaction_is_monotone(control in controls(), losses in prop::collection::vec(0_u64..12, 1..200)) {
        let mut control = control.build();
        for (i, lost) in losses.into_iter().enumerate() {
            let end = (i as u64 + 1) * 12;
            let report = FeedbackReport {
                reading: PacketCounts { sent: 12, received: 12 - lost },
                end,
                newest_lost: (lost > 0).then_some(end - 1),
                next_sequence: end + 12,
                rtt: RTT,
                sample: None,
                is_application_limited: false,
            };
            let before = control.spacing(Time::ZERO);
            let adjustment = control.handle_feedback(Time::ZERO, &report);
            let after = control.spacing(Time::ZERO);
            let monotone = if lost > 0 { after >= before } else { after <= before };
            prop_assert!(monotone, "{before} to {after}, {lost} lost");
            prop_assert_eq!(adjustment == SpacingChange::Held, after == before);
        }
    }

    /// Without loss the spacing falls by a step each round-trip time until it is 0, and stays
    /// there.
    #[test]
    fn without_loss_the_spacing_falls_to_zero(damping in any::<bool>(), initial in 0_u64..60) {
        let adaptive = AdaptiveConfig { initial: US * initial, ..AdaptiveConfig::default() };
        let control =
            if damping { ControlConfig::Damped(adaptive) } else { ControlConfig::AdHoc(adaptive) };
        let receiver = SpacedReceiver::new(3);
        let mut network =
            Loopback::new(sender(control), receiver, |_, _| vec![ONE_WAY], |_| vec![ONE_WAY]);
        network.run(at(35));
        for (i, (_, _, spacing, readings)) in applied(&network).into_iter().enumerate() {
            prop_assert_eq!(spacing, US * initial.saturating_sub(2 * (i as u64 + 1)));
            prop_assert_eq!(readings.range, readings.clock);
        }
        prop_assert_eq!(network.sender.spacing(), Duration::ZERO);
    }

    /// Of two senders with the same losses, equal spacings stay equal and unequal ones do not
    /// converge before one is 0: doubling keeps their ratio, and a step widens it (Chiu and Jain
    /// 1989).
    #[test]
    fn the_rule_of_fig_4_does_not_converge_to_fairness(
        slower in 100_u64..400, faster in 100_u64..400,
        losses in prop::collection::vec(prop::bool::weighted(0.1), 1..100),
    ) {
        let spacings = [slower.max(faster), slower.min(faster)];
        let [mut slower, mut faster] = spacings.map(|us| {
            ControlConfig::AdHoc(AdaptiveConfig { initial: US * us, ..AdaptiveConfig::default() }).build()
        });
        let at_both = |a: &dyn RateController, b: &dyn RateController| {
            (a.spacing(Time::ZERO).0, b.spacing(Time::ZERO).0)
        };
        for (i, lost) in losses.into_iter().enumerate() {
            let end = (i as u64 + 1) * 12;
            let report = FeedbackReport {
                reading: PacketCounts { sent: 12, received: 12 - u64::from(lost) },
                end,
                newest_lost: lost.then_some(end - 1),
                next_sequence: end,
                rtt: Duration::MAX,
                sample: None,
                is_application_limited: false,
            };
            let before = at_both(&*slower, &*faster);
            slower.handle_feedback(Time::ZERO, &report);
            faster.handle_feedback(Time::ZERO, &report);
            let after = at_both(&*slower, &*faster);
            if before.1 <= 2000 {
                break;
            }
            prop_assert!(after.0 >= after.1);
            let (was, is) = (u128::from(before.0) * u128::from(after.1), u128::from(after.0) * u128::from(before.1));
            prop_assert!(is >= was, "the ratio fell: {before:?} to {after:?}");
            prop_assert_eq!(before.0 == before.1, after.0 == after.1);
        }
    }
}
