//! Endpoints whose configuration changes during operation.

use super::*;
use crate::frame::Purpose;
use crate::liveness::{LivenessConfig, PathState};
use crate::policy::delay_centric::{ReactiveConfig, Scope};

fn adjust(end: &mut Endpoint<Packet>, now: Time, to: &EndpointConfig) -> Vec<Output<Packet>> {
    let input = Input::Adjust(Adjustment::new(to).unwrap());
    let outputs = wake(end, now, Wake::Input(input));
    assert!(
        end.deadline().is_none_or(|due| due.at > now),
        "nothing is left over"
    );
    outputs
}

/// The other end's request to switch data to `to`, in the epoch after that of `received`.
fn request(received: &Frame<Packet>, to: PathId) -> Frame<Packet> {
    let epoch = received.epoch.next();
    Frame {
        epoch,
        ..received.carrying(FIRST, Body::Switch { to })
    }
}

fn data(sent: &[Frame<Packet>]) -> Vec<(PathId, u64, Epoch)> {
    let data = of_kind(sent, FrameKind::Data);
    data.iter().map(|f| (f.path, f.sequence, f.epoch)).collect()
}

#[test]
fn packets_keep_their_numbers_and_arrive_once_across_policies() {
    let policies = [
        PolicyConfig::probe_and_switch(1),
        PolicyConfig::DuplicateAll {},
        PolicyConfig::single_path(0),
        PolicyConfig::DuplicateAcks { path: 1 },
        PolicyConfig::probe_and_switch(0),
    ];
    let (mut a, mut b) = (endpoint(policies[0]), endpoint(policies[0]));
    let (mut arrived, mut copies) = (Vec::new(), Vec::new());
    for number in 0..50_u32 {
        let now = at(u64::from(number));
        if number % 10 == 5 {
            let to = config(policies[(number as usize / 10 + 1) % policies.len()]);
            adjust(&mut a, now, &to);
            adjust(&mut b, now, &to);
            assert_eq!(a.policy(), to.policy);
        }
        let sent = data(&send(&mut a, now, number, Kind::Data));
        assert!(
            sent.iter()
                .all(|(_, sequence, _)| *sequence == u64::from(number)),
            "{sent:?}"
        );
        copies.push(sent);
    }
    // The copies on one path arrive late, after the changes.
    for late in [SECOND, FIRST] {
        for (number, sent) in (0..).zip(&copies) {
            for (path, sequence, epoch) in sent.iter().filter(|(path, ..)| *path != late) {
                let frame = Frame {
                    path: *path,
                    epoch: *epoch,
                    sequence: *sequence,
                    sent: at(100),
                    body: Body::Data(Packet(number, 1000)),
                };
                arrived.extend(delivered(&receive(&mut b, at(100), frame)));
            }
        }
    }
    arrived.sort_unstable();
    assert_eq!(arrived, (0..50).collect::<Vec<_>>());
}

#[test]
fn another_policy_opens_an_epoch_and_ignores_requests_for_the_last_one() {
    let mut a = endpoint(PolicyConfig::probe_and_switch(0));
    let first = send(&mut a, at(0), 0, Kind::Data);
    receive(&mut a, at(1), request(&first[0], SECOND));
    assert_eq!((a.active(), a.switches()), (Some(SECOND), 1));
    let second = send(&mut a, at(2), 1, Kind::Data);
    let late = request(&second[0], FIRST);
    let outputs = adjust(&mut a, at(3), &config(PolicyConfig::probe_and_switch(1)));
    assert_eq!(outputs, [], "data stays where it is");
    receive(&mut a, at(4), late);
    assert_eq!((a.active(), a.switches()), (Some(SECOND), 1));
    let sent = data(&send(&mut a, at(5), 2, Kind::Data));
    assert_eq!(sent, [(SECOND, 2, Epoch(2))]);
    let outputs = adjust(&mut a, at(6), &config(PolicyConfig::single_path(0)));
    let (from, to, epoch) = (SECOND, FIRST, Epoch(3));
    assert_eq!(
        outputs,
        [Output::Event(Event::Switched { from, to, epoch })],
        "the file takes data elsewhere"
    );
    assert_eq!((a.active(), a.switches()), (Some(FIRST), 2));
    adjust(&mut a, at(7), &config(PolicyConfig::DuplicateAll {}));
    assert_eq!((a.active(), a.switches()), (None, 2));
    let sent = data(&send(&mut a, at(8), 3, Kind::Data));
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|(_, _, epoch)| *epoch == Epoch(4)));
}

#[test]
fn a_delay_centric_policy_starts_on_the_active_path_and_keeps_its_state() {
    let reactive = |hysteresis| {
        PolicyConfig::DelayCentric(ReactiveConfig {
            hysteresis: MS * hysteresis,
            ..ReactiveConfig::default()
        })
    };
    let mut a = endpoint(PolicyConfig::single_path(1));
    for (number, hysteresis) in [(0, 10), (1, 20)] {
        let now = at(u64::from(number));
        assert_eq!(adjust(&mut a, now, &config(reactive(hysteresis))), []);
        assert_eq!((a.active(), a.switches()), (Some(SECOND), 0));
        let sent = data(&send(&mut a, now, number, Kind::Data));
        assert_eq!(sent, [(SECOND, u64::from(number), Epoch(number + 1))]);
    }
    let next = a.deadline();
    assert!(next.is_some(), "heartbeats are scheduled");
    let probing = ProbingConfig {
        pair_interval: MS * 200,
        ..ProbingConfig::default()
    };
    let to = EndpointConfig {
        probing,
        ..config(reactive(20))
    };
    assert_eq!(adjust(&mut a, at(2), &to), []);
    assert_eq!(a.deadline(), next, "it sends no pairs");
}

/// A timeout may follow the change before the next packet does.
#[test]
fn flows_stay_where_they_are_when_a_delay_centric_policy_changes() {
    let by_flow = |hysteresis| {
        config(PolicyConfig::DelayCentric(ReactiveConfig {
            hysteresis: MS * hysteresis,
            scope: Scope::Flow,
            ..ReactiveConfig::default()
        }))
    };
    let mut a = Endpoint::new(&by_flow(10)).unwrap();
    let start = Duration::from_secs(60);
    for flow in 1..=3 {
        let meta = PacketMeta {
            flow: FlowId(flow),
            ..meta(Kind::Opaque, 1000)
        };
        let payload = Packet(0, 1000);
        let packet = Wake::Input(Input::Packet { meta, payload });
        wake(&mut a, Time::ZERO + start, packet);
    }
    let flows = |a: &Endpoint<Packet>| [FIRST, SECOND].map(|path| a.flows_on(path));
    assert_eq!(flows(&a), [Some(3), Some(0)]);
    let now = Time::ZERO + start + MS * 5;
    adjust(&mut a, now, &by_flow(20));
    wake(&mut a, now + MS * 5, Wake::Timeout);
    assert_eq!(flows(&a), [Some(3), Some(0)]);
}

#[test]
fn another_pair_interval_keeps_the_active_path() {
    let policy = PolicyConfig::probe_and_switch(0);
    let mut a = endpoint(policy);
    let first = send(&mut a, at(0), 0, Kind::Data);
    receive(&mut a, at(1), request(&first[0], SECOND));
    let to = EndpointConfig {
        probing: ProbingConfig {
            pair_interval: MS * 200,
            pair_len: 600,
            ..ProbingConfig::default()
        },
        ..config(policy)
    };
    assert_eq!(adjust(&mut a, at(2), &to), []);
    let sent = send(&mut a, at(3), 1, Kind::Data);
    assert_eq!(data(&sent), [(SECOND, 1, Epoch(1))]);
    let pairs = of_kind(&sent, FrameKind::Pair);
    assert!(pairs.iter().all(|pair| pair.sequence == 1), "{pairs:?}");
    let is_long = |pair: &Frame<Packet>| {
        matches!(
            pair.body,
            Body::Pair {
                trailing: true,
                len: 600
            }
        )
    };
    assert!(pairs.iter().any(is_long), "{pairs:?}");
    assert_eq!(a.deadline().map(|due| due.at), Some(at(203)));
    assert_eq!(adjust(&mut a, at(4), &to), [], "nothing has changed");
    assert_eq!(a.deadline().map(|due| due.at), Some(at(203)));
}

#[test]
fn another_threshold_holds_for_the_next_probe() {
    let (mut a, mut b) = measured_pair();
    let policy = PolicyConfig::probe_and_switch(0);
    let probing = ProbingConfig {
        threshold: 4.0,
        ..ProbingConfig::default()
    };
    let to = EndpointConfig {
        probing,
        ..config(policy)
    };
    let sent = send(&mut a, at(10), 1, Kind::Data);
    adjust(&mut b, at(11), &to);
    receive(&mut b, at(20), of_kind(&sent, FrameKind::Probe).remove(0));
    let four_delta_t = Some(at(20 + 4 * 8));
    assert_eq!(b.deadline().map(|due| due.at), four_delta_t);
}

/// Answers the heartbeats among the outputs of `end`.
fn answer(end: &mut Endpoint<Packet>, now: Time, outputs: &[Output<Packet>]) -> usize {
    let heartbeats = of_kind(&frames(outputs), FrameKind::Heartbeat);
    for heartbeat in &heartbeats {
        let body = Body::HeartbeatReply(Purpose::Liveness);
        receive(end, now, heartbeat.carrying(heartbeat.path, body));
    }
    heartbeats.len()
}

#[test]
fn paths_are_watched_from_the_change_on_and_what_is_known_of_them_stays() {
    let policy = PolicyConfig::single_path(0);
    let watched = |misses| EndpointConfig {
        liveness: Some(LivenessConfig {
            misses,
            ..LivenessConfig::default()
        }),
        ..config(policy)
    };
    let mut a = endpoint(policy);
    let outputs = adjust(&mut a, at(10), &watched(3));
    assert_eq!(
        answer(&mut a, at(30), &outputs),
        2,
        "the first leave immediately"
    );
    let before = a.health(FIRST).unwrap();
    assert_eq!((before.state, before.rtt), (PathState::Live, Some(MS * 20)));
    adjust(&mut a, at(31), &watched(20));
    assert_eq!(a.health(FIRST), Some(before));
    // From now on nothing is answered: with 3 misses the paths would be silent in 1 s.
    while let Some(due) = a.deadline().filter(|due| due.at < at(900)) {
        wake(&mut a, due.at, Wake::Timeout);
    }
    assert_eq!(a.health(FIRST).unwrap().state, PathState::Live);
    adjust(&mut a, at(900), &watched(2));
    assert_eq!(a.health(FIRST).unwrap().state, PathState::Silent);
    adjust(&mut a, at(901), &config(policy));
    assert_eq!((a.health(FIRST), a.deadline()), (None, None));
    let sent = send(&mut a, at(902), 1, Kind::Data);
    assert_eq!(of_kind(&sent, FrameKind::Data)[0].path, FIRST);
}

#[test]
fn a_contradictory_adjustment_is_refused_without_effect() {
    let broken = config(PolicyConfig::single_path(2));
    let error = ConfigError::Policy(crate::policy::PolicyError::NoSuchPath { named: 2, paths: 2 });
    assert_eq!(Adjustment::new(&broken), Err(error));
}
