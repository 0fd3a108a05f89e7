use std::io::Write as _;

use super::carrier::RunningCarrier;
use super::*;
use crate::can_test;
use crate::network::Network;
use polypath_core::frame::FrameKind;
use polypath_live::clock::Clock;
use polypath_sim::{Side, WireKind};

/// Two paths of 5 and 10 ms; nothing is lost.
const SCENARIO: &str = r#"
schema = 1
name = "two-paths"
[media]
rate = "1 Mbit/s"
packet = "1316 B"
duration = "2 s"
deadlines = ["100 ms"]
policies = [{ kind = "duplicate-all" }, { kind = "in-time" }]
[[path]]
name = "path1"
link = [{ rate = "20 Mbit/s", delay = "5 ms", queue = "100 packets" }]
[[path]]
name = "path2"
link = [{ rate = "20 Mbit/s", delay = "10 ms", queue = "100 packets" }]
"#;

#[test]
fn a_stream_arrives_by_every_policy_after_the_delay_of_the_links() {
    if !can_test() {
        return;
    }
    let scenario = MediaScenario::parse(SCENARIO, "two-paths.toml", &[]).unwrap();
    let runs = run_media(&scenario, &policies(&scenario), &[1], |_| {}).unwrap();
    let [duplicated, in_time] = &runs.outcomes[..] else {
        panic!("{runs:?}");
    };
    for outcome in [&duplicated[0], &in_time[0]] {
        assert_eq!(outcome.sent, 190);
        assert_eq!(outcome.delivered, 190, "{outcome:?}");
        let delay = outcome.delay.unwrap();
        assert!(delay.p50 >= Duration::from_millis(5), "{outcome:?}");
    }
    assert_eq!(frames(&duplicated[0], FrameKind::Data), 380);
    assert_eq!(frames(&in_time[0], FrameKind::Data), 190);
    assert!(frames(&in_time[0], FrameKind::Copy) < 20);
    for measured in runs.measurements.iter().flatten() {
        assert_eq!((measured.dropped, measured.refused), (0, 0), "{measured:?}");
        assert_eq!(measured.used_at_start, [Some(true); 2]);
        let processor = measured.processor.unwrap();
        assert!(processor > Duration::ZERO && processor < Duration::from_secs(4));
    }
    // All bytes on the wire are those of the paths, but for what is sent while both are read.
    for outcomes in &runs.outcomes {
        let wire = &outcomes[0].wire;
        let paths = wire.paths.iter().map(|path| path.both());
        let (paths, wire) = (paths.sum::<u64>(), wire.bytes());
        assert!(paths.abs_diff(wire) < wire / 50, "{paths} {wire}");
    }
}

/// The frames of a kind that the server sent.
fn frames(outcome: &MediaOutcome, kind: FrameKind) -> u64 {
    let sent = outcome.wire.of(Side::Server);
    sent.get(&WireKind::Frame(kind)).map_or(0, |of| of.frames)
}

fn policies(scenario: &MediaScenario) -> Vec<MediaCarrier> {
    let policies = scenario.media.policies.iter().cloned();
    policies.map(MediaCarrier::Policy).collect()
}

#[test]
fn kernel_transports_carry_the_stream_over_the_paths_that_they_use() {
    let transports = [Transport::Udp, Transport::Tcp, Transport::Mptcp("cubic")];
    if !can_test() || is_unavailable(&transports) {
        return;
    }
    let scenario = MediaScenario::parse(SCENARIO, "two-paths.toml", &[]).unwrap();
    let carriers = transports.map(MediaCarrier::Transport);
    let runs = run_media(&scenario, &carriers, &[1], |_| {}).unwrap();
    for outcomes in &runs.outcomes {
        let outcome = &outcomes[0];
        assert_eq!(outcome.delivered, 190, "{outcome:?}");
        assert_eq!(outcome.late, [0], "{outcome:?}");
        let wire = outcome.wire.of(Side::Server)[&WireKind::Other];
        // Headers of 28 to 72 bytes a packet.
        assert!(wire.bytes > outcome.payload, "{outcome:?}");
        assert!(wire.bytes < outcome.payload * 11 / 10, "{outcome:?}");
    }
    let [udp, tcp, mptcp] = [0, 1, 2].map(|at| runs.measurements[at][0].used_at_start.clone());
    assert_eq!([udp, tcp], [[None; 2]; 2]);
    assert_eq!(mptcp, [Some(true); 2]);
    let mut measured = runs.measurements.iter().flatten();
    assert!(measured.all(|of| of.processor.is_none()));
}

#[test]
fn a_subflow_that_never_joined_is_a_path_that_was_not_used() {
    let transport = Transport::Mptcp("cubic");
    if !can_test() || is_unavailable(&[transport]) {
        return;
    }
    let dead = r#"path.1.link.0.outage=[{ from = "0 s", until = "60 s" }]"#;
    let sets = [dead.parse().unwrap()];
    let scenario = MediaScenario::parse(SCENARIO, "two-paths.toml", &sets).unwrap();
    let carriers = [MediaCarrier::Transport(transport)];
    let runs = run_media(&scenario, &carriers, &[1], |_| {}).unwrap();
    assert_eq!(runs.outcomes[0][0].delivered, 190);
    let measured = &runs.measurements[0][0];
    assert_eq!(measured.used_at_start, [Some(true), Some(false)]);
    // The requests to join that the dead path has dropped.
    assert!(measured.dropped_at_start > 0, "{measured:?}");
}

#[test]
fn programs_carry_the_stream_over_both_paths() {
    let transports = [Transport::SrtBroadcast, Transport::RistDuplicated];
    let transports = transports
        .into_iter()
        .filter(|transport| !is_unavailable(&[*transport]));
    let carriers: Vec<MediaCarrier> = transports.map(MediaCarrier::Transport).collect();
    if !can_test() || carriers.is_empty() {
        return;
    }
    let scenario = MediaScenario::parse(SCENARIO, "two-paths.toml", &[]).unwrap();
    let runs = run_media(&scenario, &carriers, &[1], |_| {}).unwrap();
    for outcomes in &runs.outcomes {
        let outcome = &outcomes[0];
        assert_eq!(outcome.delivered, 190, "{outcome:?}");
        assert!(outcome.wire.bytes() > outcome.payload * 2, "{outcome:?}");
    }
    for measured in runs.measurements.iter().flatten() {
        assert_eq!(measured.used_at_start, [Some(true); 2], "{measured:?}");
        assert!(measured.processor.unwrap() > Duration::ZERO, "{measured:?}");
    }
}

#[test]
fn a_program_that_exits_is_found_with_its_error_and_ends_the_stream() {
    let transport = Transport::RistShared;
    if !can_test() || is_unavailable(&[transport]) {
        return;
    }
    let scenario = MediaScenario::parse(SCENARIO, "two-paths.toml", &[]).unwrap();
    let (_network, endpoints) = Network::open(&scenario, Seed(1)).unwrap();
    let clock = Clock::starting_now();
    let carrier = MediaCarrier::Transport(transport);
    let start = clock.now() + Duration::from_secs(60);
    let running = RunningCarrier::start(&scenario, &carrier, &endpoints, clock, start);
    let mut running = running.unwrap();
    running.check().unwrap();
    running.kill_program();
    let error = running.check().unwrap_err().to_string();
    assert!(error.starts_with("the sender: signal: 9"), "{error}");
    // Its threads are joined, although the stream has not begun.
    let before = clock.now();
    drop(running);
    assert!(clock.now().since(before) < Duration::from_secs(2));
}

/// Whether this machine lacks one of the transports; prints the reason.
fn is_unavailable(transports: &[Transport]) -> bool {
    let missing = transports
        .iter()
        .find_map(|transport| transport.preflight().err());
    if let Some(missing) = &missing {
        let _ = writeln!(std::io::stderr(), "skipped: {missing}");
    }
    missing.is_some()
}
