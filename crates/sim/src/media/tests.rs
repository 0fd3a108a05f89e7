use polypath_core::frame::FrameKind;
use polypath_core::policy::PolicyConfig;

use super::*;

/// Two paths of 20 and 30 ms with these keys in each link, and with `top` before `[media]`.
fn scenario(top: &str, link: &str) -> MediaScenario {
    let path = |name: &str, delay: u32| {
        format!(
            "[[path]]\nname = \"{name}\"\n[[path.link]]\nrate = \"20 Mbit/s\"\ndelay = \"{delay} ms\"\n\
             queue = \"100 packets\"\n{link}\n"
        )
    };
    let text = format!(
        "schema = 1\nname = \"test\"\n{top}\n[media]\nrate = \"5 Mbit/s\"\npacket = \"1316 B\"\n\
         duration = \"20 s\"\npolicies = [{{ kind = \"single-path\" }}]\n{}{}",
        path("a", 20),
        path("b", 30)
    );
    MediaScenario::parse(&text, "test.toml", &[]).unwrap()
}

fn run(scenario: &MediaScenario, policy: PolicyConfig, seed: u64) -> MediaOutcome {
    run_media(scenario, policy, Seed(seed)).unwrap()
}

const SINGLE: PolicyConfig = PolicyConfig::single_path(0);
const ALL: PolicyConfig = PolicyConfig::DuplicateAll {};

#[test]
fn an_ideal_path_adds_its_delay_and_the_headers_alone() {
    let scenario = scenario("liveness = \"off\"", "");
    let outcome = run(&scenario, SINGLE, 1);
    assert_eq!((outcome.sent, outcome.delivered), (9499, 9499));
    assert_eq!(outcome.late, [0, 0, 0]);
    assert_eq!(outcome.reordered, 0);
    // 1316 B of payload, 28 of IPv4 and UDP, 60 of the frame.
    let bytes = 9499 * (1316 + 28 + 60);
    let data = WireCount {
        frames: 9499,
        bytes,
    };
    assert_eq!(
        outcome.wire.forward,
        [(WireKind::Frame(FrameKind::Data), data)].into()
    );
    assert_eq!(outcome.wire.backward, [].into());
    // 20 ms and 1404 B at 20 Mbit/s.
    let delay = outcome.delay.unwrap();
    let expected = Duration::from_nanos(20_561_600);
    assert_eq!((delay.p50, delay.p999), (expected, expected));
    let interval = Duration::from_nanos(2_105_601);
    assert!(outcome.longest_gap <= interval, "{outcome:?}");
    assert_eq!(run(&scenario, ALL, 1).wire.bytes(), 2 * bytes);
}

#[test]
fn monitored_paths_cost_heartbeats_in_both_directions() {
    let outcome = run(&scenario("", ""), SINGLE, 1);
    for direction in [&outcome.wire.forward, &outcome.wire.backward] {
        let heartbeats = direction[&WireKind::Frame(FrameKind::Heartbeat)];
        let replies = direction[&WireKind::Frame(FrameKind::HeartbeatReply)];
        assert!(heartbeats.frames > 50 && replies.frames > 50, "{outcome:?}");
    }
    let share = outcome.wire.bytes() as f64 / outcome.payload as f64;
    assert!((1.067..1.1).contains(&share), "{share}");
}

/// A copy on each of two paths that lose p independently is lost with p^2.
#[test]
fn random_losses_of_copies_multiply() {
    let p = 0.1;
    let scenario = scenario("liveness = \"off\"", "loss = 0.1");
    for (policy, share) in [(SINGLE, p), (ALL, p * p)] {
        let outcomes = [1, 2, 3].map(|seed| run(&scenario, policy, seed));
        let sent = outcomes.iter().map(|of| of.sent).sum::<u64>() as f64;
        let lost: u64 = outcomes.iter().map(|of| of.sent - of.delivered).sum();
        let bound = 4.0 * (share * (1.0 - share) / sent).sqrt();
        let found = lost as f64 / sent;
        assert!((found - share).abs() < bound, "{policy:?}: {found} {bound}");
        let late: u64 = outcomes.iter().map(|of| of.late[0]).sum();
        assert_eq!(late, lost, "what arrives is in time");
    }
}

/// The first path fades at the same times whatever else is sent, on it and on the other path.
#[test]
fn fades_are_the_same_for_all_policies() {
    let fades = "fades = { length = \"50 ms\", share = 0.03 }";
    let (monitored, plain) = (scenario("", fades), scenario("liveness = \"off\"", fades));
    let lost = |outcome: &MediaOutcome| outcome.sent - outcome.delivered;
    let first = run(&plain, SINGLE, 7);
    let share = lost(&first) as f64 / first.sent as f64;
    assert!((0.015..0.05).contains(&share), "{share}");
    let other = PolicyConfig::single_path(1);
    assert_ne!(lost(&run(&plain, other, 7)), lost(&first));
    // With one usable path, copies on all paths are lost when those on the path are.
    let mut alone = plain.clone();
    alone.paths[1].links[0].loss = 1.0;
    assert_eq!(run(&alone, ALL, 7).late, first.late);
    // A fade is too short for the monitor to leave the path.
    let with_heartbeats = run(&monitored, SINGLE, 7);
    assert!(lost(&with_heartbeats).abs_diff(lost(&first)) < lost(&first) / 2);
    // Both paths fade independently.
    assert!(lost(&run(&plain, ALL, 7)) < lost(&first) / 4);
}

/// Fades that are long enough to silence a path do not keep `single-path` from it for minutes.
#[test]
fn a_path_that_fades_at_times_carries_most_packets() {
    let mut scenario = scenario("", "fades = { length = \"100 ms\", share = 0.03 }");
    scenario.paths[1].links[0].fades = None;
    scenario.media.duration = Duration::from_secs(300);
    let outcome = run(&scenario, SINGLE, 1);
    // The first path has 20 ms, the second 30 ms.
    let delay = outcome.delay.unwrap();
    assert_eq!(delay.p50, Duration::from_nanos(20_561_600));
    let lost = outcome.sent - outcome.delivered;
    assert!((1..outcome.sent / 25).contains(&lost), "{outcome:?}");
}

/// Losses that hit both paths alike move data constantly in the paper's form, and each move to the
/// faster path reorders it.
#[test]
fn hysteresis_keeps_data_in_order_on_equally_lossy_paths() {
    let scenario = scenario("", "loss = 0.02");
    let paper = PolicyConfig::probe_and_switch(0);
    let [without, with] = [false, true].map(|is_on| run(&scenario, paper.or_hysteresis(is_on), 1));
    assert_eq!(without, run(&scenario, paper, 1));
    assert!(without.reordered > 200, "{without:?}");
    assert!(with.reordered < 10, "{with:?}");
}

/// The first path loses 5 %, the second nothing: with a limit the losses end within seconds.
#[test]
fn a_limit_of_losses_ends_them() {
    use polypath_core::policy::LeaveConfig;
    use polypath_core::repair::Share;
    let mut scenario = scenario("", "");
    scenario.paths[0].links[0].loss = 0.05;
    let leave = Some(LeaveConfig {
        loss: Some(Share::from_millionths(20_000)),
        delay: None,
    });
    let (mut without, mut with) = (0, 0);
    for seed in 1..=10 {
        let lost = |policy| {
            let outcome = run(&scenario, policy, seed);
            outcome.sent - outcome.delivered
        };
        without += lost(SINGLE);
        with += lost(PolicyConfig::SinglePath { path: 0, leave });
    }
    // 20 s each, and a detection time that has a median of 3 s.
    assert!(with * 3 < without, "{with} of {without}");
}

#[test]
fn outages_in_turn_leave_a_path_that_works() {
    let mut scenario = scenario("", "");
    for (path, from) in scenario.paths.iter_mut().zip([2, 7]) {
        path.links[0].outage = vec![polypath_link::Outage {
            from: Duration::from_secs(from),
            until: Some(Duration::from_secs(from + 2)),
            every: Some(Duration::from_secs(10)),
        }];
    }
    assert_eq!(run(&scenario, ALL, 1).late, [0, 0, 0]);
    let single = run(&scenario, SINGLE, 1);
    // Silence is detected within some 130 ms of the start of an outage of 2 s; without a monitor
    // every packet of the outages is lost.
    assert!((1..300).contains(&single.late[2]), "{single:?}");
    scenario.liveness = None.into();
    let never = run(&scenario, SINGLE, 1);
    assert!(never.late[2] > 1800, "{never:?}");
    assert!(never.longest_gap > Duration::from_secs(2));
}

#[test]
fn the_seed_decides_alone_and_the_start_spreads() {
    let mut scenario = scenario("", "loss = 0.02");
    assert_eq!(run(&scenario, ALL, 3), run(&scenario, ALL, 3));
    assert_ne!(
        run(&scenario, SINGLE, 3).late,
        run(&scenario, SINGLE, 4).late
    );
    let starts = |scenario: &MediaScenario| [1, 2, 3].map(|seed| media_start(scenario, Seed(seed)));
    let second = Time::ZERO + Duration::from_secs(1);
    assert_eq!(starts(&scenario), [second; 3]);
    scenario.media.start_spread = Duration::from_secs(10);
    let spread = starts(&scenario);
    assert!(
        spread
            .iter()
            .all(|at| (second..second + Duration::from_secs(10)).contains(at))
    );
    assert!(spread[0] != spread[1] && spread[1] != spread[2]);
}
