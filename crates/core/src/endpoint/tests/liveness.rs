//! Failover of a whole endpoint.

use super::*;
use crate::frame::Purpose;
use crate::liveness::{LivenessConfig, LivenessError, PathState};

fn watched(policy: PolicyConfig) -> Endpoint<Packet> {
    let liveness = Some(LivenessConfig::default());
    let config = EndpointConfig {
        liveness,
        ..config(policy)
    };
    Endpoint::new(&config).unwrap()
}

/// Two endpoints with a network between them, whose paths are cut at times; the first endpoint
/// sends a packet every 20 ms.
struct Failover {
    ends: [Endpoint<Packet>; 2],
    /// The one-way delay of each path.
    delay: Duration,
    /// Frames in flight, with their destination.
    flying: VecDeque<(Time, usize, Frame<Packet>)>,
    /// The spans in milliseconds in which a path carries nothing in either direction.
    cuts: Vec<(PathId, core::ops::Range<u64>)>,
    /// Whether requests to switch get lost.
    unasked: bool,
    arrived: Vec<(Time, u32)>,
    events: Vec<(Time, Event)>,
    now: Time,
}

impl Failover {
    fn new(policy: PolicyConfig, cut: core::ops::Range<u64>) -> Self {
        Self {
            ends: [watched(policy), watched(policy)],
            delay: MS * 10,
            flying: VecDeque::new(),
            cuts: [(FIRST, cut)].into(),
            unasked: false,
            arrived: Vec::new(),
            events: Vec::new(),
            now: Time::ZERO,
        }
    }

    fn run(&mut self, until: Time) {
        loop {
            let packet = Time(self.now.0.div_ceil(20_000_000) * 20_000_000);
            let due = |end: usize| self.ends[end].deadline().map_or(Time::MAX, |d| d.at);
            let frame = self.flying.front().map_or(Time::MAX, |(at, ..)| *at);
            let next = packet.min(due(0)).min(due(1)).min(frame);
            if next >= until {
                return;
            }
            self.now = self.now.max(next);
            if frame == next {
                let (_, to, frame) = self.flying.pop_front().unwrap();
                self.wake(to, Wake::Input(Input::Frame(frame)));
            } else if packet == next {
                let number = u32::try_from(self.now.0 / 20_000_000).unwrap();
                let (meta, payload) = (meta(Kind::Data, 1000), Packet(number, 1000));
                self.wake(0, Wake::Input(Input::Packet { meta, payload }));
                self.now += Duration(1);
            } else {
                self.wake(usize::from(due(1) == next), Wake::Timeout);
            }
        }
    }

    fn wake(&mut self, end: usize, what: Wake<Input<Packet>>) {
        let now = self.now;
        for outputs in wake(&mut self.ends[end], now, what) {
            match outputs {
                Output::Transmit(frame) => {
                    let time = now.0 / 1_000_000;
                    let cuts = |(path, span): &(_, core::ops::Range<_>)| {
                        frame.path == *path && span.contains(&time)
                    };
                    let is_cut = self.cuts.iter().any(cuts);
                    let unheard = self.unasked && frame.body.kind() == FrameKind::Switch;
                    if !is_cut && !unheard {
                        self.flying.push_back((now + self.delay, 1 - end, frame));
                    }
                }
                Output::Deliver(packet) => self.arrived.push((now, packet.0)),
                Output::Event(event) if end == 0 => self.events.push((now, event)),
                Output::Event(_) | Output::Refused { .. } => {}
            }
        }
    }

    /// The longest time in which nothing arrived, in milliseconds.
    fn outage(&self) -> u64 {
        let gaps = self.arrived.windows(2).map(|w| w[1].0.since(w[0].0));
        gaps.max().unwrap().0 / 1_000_000
    }

    fn lost(&self) -> usize {
        let last = self.arrived.last().unwrap().1;
        last as usize + 1 - self.arrived.len()
    }

    /// The path on which the newest packet arrived.
    fn path(&self) -> PathId {
        let data = self.events.iter().rev().find_map(|(_, event)| match event {
            Event::FrameOut {
                path,
                kind: FrameKind::Data,
                ..
            } => Some(*path),
            _ => None,
        });
        data.unwrap()
    }
}

#[test]
fn a_flow_goes_on_over_another_path_and_comes_back() {
    let golden = [
        (PolicyConfig::single_path(0), 5, 120),
        (PolicyConfig::DuplicateAcks { path: 0 }, 5, 120),
        (PolicyConfig::DuplicateAll {}, 0, 20),
        // The receiver sees a probe without its packet before any heartbeat is overdue.
        (PolicyConfig::probe_and_switch(0), 1, 40),
    ];
    for (policy, lost, outage) in golden {
        let mut failover = Failover::new(policy, 5_000..8_000);
        failover.run(at(7_000));
        assert_eq!(failover.path(), SECOND, "{policy:?}");
        failover.run(at(20_000));
        assert_eq!(
            (failover.lost(), failover.outage()),
            (lost, outage),
            "{policy:?}"
        );
        let health = failover.ends[0].health(FIRST).unwrap();
        assert_eq!((health.state, health.silences), (PathState::Live, 1));
        let is_named = matches!(
            policy,
            PolicyConfig::SinglePath { .. } | PolicyConfig::DuplicateAcks { .. }
        );
        if is_named {
            assert_eq!(failover.path(), FIRST, "back on the path that is named");
        }
    }
}

/// Each path fails every forty seconds, and so is never live for as long as the grown hold.
#[test]
fn copies_go_on_paths_that_come_and_go_in_turn() {
    let mut failover = Failover::new(PolicyConfig::DuplicateAll {}, 0..0);
    failover.cuts = (1..90)
        .map(|n| {
            (
                PathId(n % 2),
                u64::from(n) * 20_000..u64::from(n) * 20_000 + 3_000,
            )
        })
        .collect();
    failover.run(at(1_800_000));
    assert_eq!((failover.lost(), failover.outage()), (0, 20));
    let health = failover.ends[0].health(FIRST).unwrap();
    assert!(health.silences > 1, "{health:?}");
}

/// The outages of a flow of 50 packets a second whose path is cut, in turn at each of 200 ms,
/// sorted, in ms.
fn outages(delay: Duration) -> Vec<u64> {
    let mut outages: Vec<u64> = (0..200)
        .map(|ms| {
            let cut = 5_000 + ms..10_000;
            let mut failover = Failover::new(PolicyConfig::single_path(0), cut);
            failover.delay = delay;
            failover.run(at(6_000));
            failover.outage()
        })
        .collect();
    outages.sort_unstable();
    outages
}

/// The gap between two packets, 20 ms, is part of each. The round trip counts half: answers to
/// heartbeats that were in flight are lost, too.
#[test]
fn an_outage_is_as_short_as_the_round_trip_allows() {
    let of = |delay: u64| {
        let outages = outages(MS * delay);
        [outages[0], outages[99], outages[197], outages[199]]
    };
    let found = [5, 20, 40].map(of);
    let golden = [
        [100, 120, 140, 140],
        [120, 120, 140, 140],
        [140, 140, 160, 160],
    ];
    assert_eq!(found, golden);
}

#[test]
fn a_path_that_is_left_without_a_request_opens_an_epoch() {
    let mut failover = Failover::new(PolicyConfig::probe_and_switch(0), 5_000..8_000);
    failover.unasked = true;
    failover.run(at(20_000));
    let switched: Vec<_> = failover
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Switched { .. }))
        .collect();
    let (from, to, epoch) = (FIRST, SECOND, Epoch(1));
    let [(when, event)] = switched[..] else {
        panic!("{switched:?}")
    };
    assert_eq!(*event, Event::Switched { from, to, epoch });
    assert!(*when > at(5_075) && *when < at(5_150), "{when}");
}

#[test]
fn without_any_answer_all_paths_are_used() {
    for policy in [
        PolicyConfig::single_path(1),
        PolicyConfig::probe_and_switch(1),
        PolicyConfig::DuplicateAcks { path: 1 },
    ] {
        let mut end = watched(policy);
        for second in 0..100 {
            wake(&mut end, at(1000 * second), Wake::Timeout);
            let sent = send(&mut end, at(1000 * second), 0, Kind::Data);
            assert_eq!(of_kind(&sent, FrameKind::Data)[0].path, SECOND);
        }
    }
}

#[test]
fn a_heartbeat_is_answered_at_once_on_its_path_by_any_endpoint() {
    for mut end in [
        watched(PolicyConfig::single_path(0)),
        endpoint(PolicyConfig::single_path(0)),
    ] {
        for purpose in [Purpose::Liveness, Purpose::Policy] {
            let heartbeat = Frame {
                path: SECOND,
                epoch: Epoch(3),
                sequence: 77,
                sent: at(1),
                body: Body::Heartbeat(purpose),
            };
            let answers = frames(&receive(&mut end, at(9), heartbeat));
            let [answer] = &answers[..] else {
                panic!("one answer")
            };
            assert_eq!((answer.path, answer.sequence), (SECOND, 77));
            assert_eq!(answer.body, Body::HeartbeatReply(purpose));
            let stray = answer.carrying(SECOND, Body::HeartbeatReply(purpose));
            assert_eq!(frames(&receive(&mut end, at(9), stray)), []);
        }
    }
}

#[test]
fn a_packet_on_a_path_at_rest_takes_a_heartbeat_along() {
    let mut failover = Failover::new(PolicyConfig::single_path(0), 0..0);
    failover.run(at(5_000));
    let [end, _] = &mut failover.ends;
    // The last packets and heartbeats were 300 ms ago, and the next would be due in 200 ms.
    let sent = send(end, at(5_300), 0, Kind::Data);
    let kinds: Vec<_> = sent.iter().map(|f| (f.path, f.body.kind())).collect();
    assert_eq!(kinds[0], (FIRST, FrameKind::Data));
    assert!(kinds.contains(&(FIRST, FrameKind::Heartbeat)), "{kinds:?}");
    assert!(end.deadline().is_some_and(|due| due.at > at(5_300)));
}

#[test]
fn impossible_watches_are_refused() {
    let liveness = LivenessConfig {
        misses: 1,
        ..LivenessConfig::default()
    };
    let config = EndpointConfig {
        liveness: Some(liveness),
        ..config(PolicyConfig::DuplicateAll {})
    };
    let error = Endpoint::<Packet>::new(&config).unwrap_err();
    assert_eq!(error, ConfigError::Liveness(LivenessError::Misses));
}

#[test]
fn heartbeats_that_nothing_answers_count_as_held_and_are_bounded() {
    let mut end = watched(PolicyConfig::DuplicateAll {});
    let mut most = 0;
    for _ in 0..2_000 {
        let due = end.deadline().unwrap().at;
        wake(&mut end, due, Wake::Timeout);
        most = most.max(end.buffered());
        assert!(end.buffered() <= end.capacity());
    }
    assert_eq!(most, end.capacity() - CAPACITY, "as many as are remembered");
}
