use super::*;

#[test]
fn the_windows_of_an_uncongested_network_carry_the_target() {
    let mut controller = adjust(5, TABLE_1).build(TARGET);
    assert_eq!(
        controller.wanted(),
        Windows::new(5, 10),
        "before the RTT is known"
    );
    controller.initialize(Time::ZERO, RTT);
    assert_eq!(
        controller.wanted().iter().collect::<Vec<_>>(),
        [2, 2, 2, 1, 1]
    );
    controller.handle_sample(Time::ZERO, &sample(800));
    assert_eq!(controller.wanted().sum(), 8, "at the target");
    controller.handle_sample(Time::ZERO, &sample(856));
    assert_eq!(controller.wanted().sum(), 8, "within the guard");
    controller.handle_sample(Time::ZERO, &sample(857));
    assert_eq!(
        controller.wanted().sum(),
        7,
        "57 kb/s take less than a segment"
    );
    controller.handle_sample(Time::ZERO, &sample(500));
    assert_eq!(controller.wanted().sum(), 10, "300 kb/s take 3 segments");
}

#[test]
fn the_sum_of_windows_exceeds_its_bound_by_at_most_one_step() {
    let mut controller = adjust(2, TABLE_1).build(TARGET);
    controller.initialize(Time::ZERO, RTT);
    let mut sums: Vec<u32> = Vec::new();
    for _ in 0..12 {
        controller.handle_sample(Time::ZERO, &sample(150));
        sums.push(controller.wanted().sum());
    }
    // 650 kb/s are 6.5 segments; the bound is 6 x 8 = 48.
    assert_eq!(sums, [15, 22, 29, 36, 43, 50, 50, 50, 50, 50, 50, 50]);
}

#[test]
fn connections_follow_the_congestion_ratio() {
    let mut number = AdjustConnections::new(VariationConfig::default());
    let mut next = |present, ratio, kbits: u64| {
        let congestion = Congestion {
            ratio,
            throughput: Rate(kbits * 1000),
            target: TARGET.rate,
        };
        number.next(present, &congestion)
    };
    assert_eq!(next(1, 2.0, 400), 1, "not more than beta beyond 1");
    assert_eq!(next(1, 2.1, 400), 2);
    assert_eq!(next(2, 3.0, 400), 2, "the ratio of the last change was 2.1");
    assert_eq!(next(2, 3.2, 900), 2, "the target is met");
    assert_eq!(next(2, 3.2, 400), 3);
    assert_eq!(next(3, 2.1, 700), 3, "too little throughput to close one");
    assert_eq!(next(3, 2.1, 900), 2);
    assert_eq!(next(2, 5.0, 400), 1, "severe congestion");
    assert_eq!(next(1, 5.0, 400), 1, "one is left");
    assert_eq!(next(4, 3.9, 900), 3);
    assert_eq!(next(9, 9.0, 400), 8);
    assert_eq!(next(8, 7.0, 900), 6, "both cases close one, as printed");
}

#[test]
fn a_new_number_of_connections_keeps_the_sum() {
    let mut controller = varied(1).build(TARGET);
    controller.initialize(Time::ZERO, RTT);
    let mut seen: Vec<(u32, u32)> = Vec::new();
    for _ in 0..5 {
        controller.handle_sample(Time::ZERO, &sample(400));
        seen.push((controller.wanted().connections(), controller.wanted().sum()));
    }
    // The ratio is 1, 1.5, 2, 2.5, 3 before each sample; 2.5 is more than beta beyond 1.
    assert_eq!(seen, [(1, 12), (1, 16), (1, 20), (2, 24), (2, 28)]);
}

fn controllers() -> impl Strategy<Value = ControllerConfig> {
    let control = (0_u64..2_000_000, 1.0_f64..20.0).prop_map(|(guard, spike)| ControlConfig {
        guard: Rate(guard),
        spike,
        ..ControlConfig::default()
    });
    let variation = (0.0_f64..3.0, 1.0_f64..12.0, 1_u32..40).prop_map(
        |(damping, congestion_factor, max_connections)| VariationConfig {
            damping,
            congestion_factor,
            max_connections,
        },
    );
    prop_oneof![
        (1_u32..40, 1_u32..900).prop_map(|(connections, window)| ControllerConfig::FixedWindows {
            connections,
            window
        }),
        (1_u32..40, control.clone()).prop_map(|(n, control)| adjust(n, control)),
        (1_u32..40, variation, control).prop_map(|(connections, variation, control)| {
            ControllerConfig::VariedConnections {
                connections,
                variation,
                control,
            }
        }),
    ]
}

fn samples() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let any_rate = prop_oneof![0_u64..2_000_000, any::<u64>()];
    let any_rtt = prop_oneof![1_000_000_u64..2_000_000_000, any::<u64>()];
    prop::collection::vec((any_rate, any_rtt), 0..80)
}

proptest! {
    /// Windows never differ by more than one segment, and each has one (claim
    /// `multitcp.windows_balanced`), and there are no more connections than the limit.
    #[test]
    fn windows_are_balanced_for_any_samples(config in controllers(), samples in samples()) {
        let mut controller = config.build(TARGET);
        controller.initialize(Time::ZERO, RTT);
        let start = (TARGET.rate.0, RTT.0);
        for (rate, rtt) in samples.into_iter().chain([start]) {
            let wanted = controller.wanted();
            controller.handle_sample(Time::ZERO, &Sample { throughput: Rate(rate), rtt: Duration(rtt), ..sample(0) });
            if let ControllerConfig::VariedConnections { variation, .. } = config {
                prop_assert!(wanted.connections() <= variation.max_connections);
            }
            let windows: Vec<u32> = wanted.iter().collect();
            prop_assert_eq!(windows.len(), wanted.connections() as usize);
            prop_assert_eq!(windows.iter().sum::<u32>(), wanted.sum());
            let (min, max) = (windows.iter().min().unwrap(), windows.iter().max().unwrap());
            prop_assert!(*min >= 1 && max - min <= 1, "{windows:?}");
        }
    }

    /// The sum grows by `D_s`, and only from below the bound; it shrinks only above target plus
    /// guard.
    #[test]
    fn the_sum_moves_by_the_step_within_its_bound(
        n in 1_u32..20, spike in 1.0_f64..12.0, samples in prop::collection::vec((0_u64..3_000_000, 1_u64..2000), 1..80),
    ) {
        let control = ControlConfig { spike, ..TABLE_1 };
        let mut controller = adjust(n, control).build(TARGET);
        controller.initialize(Time::ZERO, RTT);
        for (rate, ms) in samples {
            let before = controller.wanted().sum();
            let (throughput, rtt) = (Rate(rate), MS * ms);
            controller.handle_sample(Time::ZERO, &Sample { throughput, rtt, ..sample(0) });
            let after = controller.wanted().sum();
            let step = TARGET.step(throughput, rtt);
            let bound = spike * TARGET.uncongested_window(rtt);
            if after > before {
                prop_assert!(rate < TARGET.rate.0 && after - before == step);
                prop_assert!(f64::from(after) <= bound + f64::from(step));
            } else if after < before {
                prop_assert!(rate > TARGET.rate.0 + control.guard.0);
                prop_assert_eq!(after, before.saturating_sub(step).max(n));
            }
        }
    }

    /// A change of the sum by one changes one window by one.
    #[test]
    fn a_step_of_one_changes_one_window(n in 1_u32..30, sum in 0_u32..500) {
        let (low, high) = (Windows::new(n, n + sum), Windows::new(n, n + sum).raised(1));
        let changes: Vec<u32> = high.iter().zip(low.iter()).map(|(a, b)| a - b).collect();
        prop_assert_eq!(changes.iter().sum::<u32>(), 1);
        prop_assert_eq!(high.lowered(1), low);
    }
}

#[test]
fn the_step_is_rounded_up() {
    // 1 kb/s over 80 ms are 10 B.
    assert_eq!(TARGET.step(Rate(799_000), RTT), 1);
    assert_eq!(TARGET.step(Rate(700_000), RTT), 1);
    assert_eq!(TARGET.step(Rate(699_999), RTT), 2);
    assert_eq!(TARGET.step(TARGET.rate, RTT), 0);
}

#[test]
fn alpha_is_the_weight_of_the_previous_mean() {
    let mut meter = ThroughputMeter::new(&ControlConfig::default(), Time::ZERO);
    let second = |n| Time::ZERO + Duration::from_secs(n);
    assert_eq!(meter.sample(Time::ZERO, None), None, "over no time");
    meter.add(Bytes(1000));
    assert_eq!(meter.sample(second(1), None), Some(Rate(8000)));
    meter.add(Bytes(2000));
    assert_eq!(meter.sample(second(2), None), Some(Rate(8800)));
    let without_past = ControlConfig {
        smoothing: 0.0,
        ..ControlConfig::default()
    };
    let mut plain = ThroughputMeter::new(&without_past, Time::ZERO);
    plain.add(Bytes(1000));
    plain.sample(second(1), None);
    assert_eq!(plain.sample(second(2), None), Some(Rate(0)));
}

#[test]
fn the_equations_of_a_loss_match_the_paper() {
    let mtu = Bytes(1000);
    assert_eq!(equations::throughput(8, mtu, RTT), Some(TARGET.rate));
    assert_eq!(equations::throughput(8, mtu, Duration::ZERO), None);
    let one = equations::reduction(128, mtu);
    assert!((one - 128.0 * 128.0 * 125.0).abs() < 1e-9);
    let share = |n, losing| equations::reduction_of_several(128, mtu, n, losing) / one;
    assert!((share(2, 1) - 0.25).abs() < 1e-12, "equation 3");
    assert!((share(2, 2) - 0.5).abs() < 1e-12);
    assert!((share(8, 3) - 3.0 / 64.0).abs() < 1e-12, "equation 4");
    assert!(equations::reduction_of_several(8, mtu, 0, 0).abs() < 1e-12);
}

#[test]
fn a_control_unit_starts_at_the_first_round_trip_time_and_samples_each_interval() {
    let mut unit = ControlUnit::new(varied(1), TARGET);
    assert_eq!(unit.deadline(), None);
    assert_eq!(unit.wanted(), Windows::new(1, 2));
    let mut decisions: Vec<ControlDecision> = Vec::new();
    let start = Time::ZERO + MS * 50;
    step(
        &mut unit,
        start,
        Wake::Input(ControlInput::Rtt(RTT)),
        &mut |o| decisions.push(o),
    );
    assert_eq!(decisions[0].wanted.sum(), 8);
    let deadline = unit.deadline().unwrap();
    assert_eq!(deadline.at, start + RTT * 6);
    let later = ControlInput::Rtt(RTT * 2);
    step(&mut unit, start + MS, Wake::Input(later), &mut |o| {
        decisions.push(o);
    });
    assert_eq!(
        decisions.len(),
        1,
        "a new estimate waits for the end of the interval"
    );
    let data = ControlInput::Delivered(Bytes(30_000));
    step(&mut unit, start + MS, Wake::Input(data), &mut |o| {
        decisions.push(o);
    });
    step(&mut unit, deadline.at, Wake::Timeout, &mut |o| {
        decisions.push(o);
    });
    let expected = Sample {
        throughput: Rate(500_000),
        rtt: RTT * 2,
        is_application_limited: false,
    };
    assert_eq!(decisions[1].sample, Some(expected));
    assert_eq!(
        decisions[1].wanted.sum(),
        14,
        "300 kb/s over 160 ms are 6 segments"
    );
    assert_eq!(unit.deadline().unwrap().at, deadline.at + RTT * 12);
}

/// The largest difference from 80 Mbit/s, as a share of it, from `after` on for 20 s: the network
/// delivers what the windows allow, and half of that in the first two seconds.
fn swing(control: ControlConfig, rtt: Duration, after: Duration) -> f64 {
    let target = Target {
        rate: Rate::from_mbits(80),
        ..TARGET
    };
    let mut unit = ControlUnit::new(adjust(5, control), target);
    let first = Wake::Input(ControlInput::Rtt(rtt));
    step(&mut unit, Time::ZERO, first, &mut |_| {});
    let (mut now, mut largest) = (Time::ZERO, 0.0_f64);
    while now < Time::ZERO + after + Duration::from_secs(20) {
        let at = unit.deadline().unwrap().at;
        let is_slow = now < Time::ZERO + Duration::from_secs(2);
        let window = 1000 * u64::from(unit.wanted().sum()) / if is_slow { 2 } else { 1 };
        let bytes = Bytes(window * at.since(now).0 / rtt.0);
        if now >= Time::ZERO + after {
            let rate = Rate::average(bytes, at.since(now)).unwrap();
            largest = largest.max((rate.as_f64() / target.rate.as_f64() - 1.0).abs());
        }
        let delivered = Wake::Input(ControlInput::Delivered(bytes));
        step(&mut unit, now, delivered, &mut |_| {});
        step(&mut unit, at, Wake::Timeout, &mut |_| {});
        now = at;
    }
    largest
}

#[test]
fn a_stream_settles_in_the_same_time_at_any_round_trip_time() {
    let target = Target {
        rate: Rate::from_mbits(80),
        ..TARGET
    };
    let control = ControlConfig::for_target(target);
    for rtt in [10, 50, 100, 200, 300] {
        let swing = swing(control, MS * rtt, Duration::from_secs(2 + 6));
        assert!(swing < 0.1, "{rtt} ms: {swing}");
    }
    let of_paper = swing(ControlConfig::default(), MS * 300, Duration::from_secs(20));
    assert!(of_paper > 0.3, "the paper's mean covers 18 s: {of_paper}");
}

/// Fewer connections have the same sum of windows, unless all windows are at their least.
#[test]
fn a_limit_of_connections_does_not_raise_the_least_windows() {
    let mut controller = adjust(16, TABLE_1).build(TARGET);
    controller.initialize(Time::ZERO, RTT);
    assert_eq!(controller.wanted(), Windows::new(16, 16), "8 would do");
    for most in [4, 6] {
        controller.limit(most);
        assert_eq!(controller.wanted(), Windows::new(most, most));
    }
    controller.handle_sample(Time::ZERO, &sample(150));
    assert_eq!(controller.wanted(), Windows::new(6, 13));
    controller.limit(3);
    assert_eq!(controller.wanted(), Windows::new(3, 13));
    controller.limit(MAX_CONNECTIONS);
    assert_eq!(controller.wanted(), Windows::new(16, 16));
}

/// Congestion asks for ever more connections.
#[test]
fn varied_connections_keep_to_a_limit() {
    let config = ControllerConfig::auto(TARGET, MAX_CONNECTIONS);
    let most = |limit: u32| {
        let mut controller = config.build(TARGET);
        controller.initialize(Time::ZERO, RTT);
        controller.limit(limit);
        let samples = (0..200).map(|_| {
            controller.handle_sample(Time::ZERO, &sample(100));
            controller.wanted().connections()
        });
        samples.max()
    };
    assert!(most(MAX_CONNECTIONS) > Some(2));
    assert_eq!(most(2), Some(2));
}
