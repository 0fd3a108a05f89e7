//! Two nodes that watch their paths.

use polypath_core::liveness::PathState;

use super::*;

const FIRST: PathId = PathId(0);

/// Two nodes, and the datagrams between them.
struct Pair {
    nodes: [Node; 2],
    in_flight: InFlight,
    sent: u64,
    /// Whether the second node runs.
    present: bool,
    /// Whether the first path is cut.
    cut: bool,
}

impl Pair {
    fn new() -> Self {
        let liveness = Some(LivenessConfig::default());
        Self {
            nodes: [watched("a", "b", liveness), watched("b", "a", liveness)],
            in_flight: InFlight::new(),
            sent: 0,
            present: false,
            cut: false,
        }
    }

    fn run(&mut self, until: Time) {
        loop {
            let due = |who: usize| match self.nodes[who].tunnel.deadline() {
                Some(due) if who == 0 || self.present => due.at,
                _ => Time::MAX,
            };
            let Some((at, who, wake)) = next_event([0, 1].map(due), &mut self.in_flight, until)
            else {
                return;
            };
            self.wake(at, who, wake);
        }
    }

    fn wake(&mut self, now: Time, who: usize, wake: Wake<Input>) {
        let datagrams = self.nodes[who].wake(now, wake);
        for (path, datagram) in datagrams {
            self.sent += 1;
            if self.present && !(self.cut && path == FIRST) {
                let key = (now + DELAY, self.sent);
                self.in_flight.insert(key, (1 - who, path, datagram));
            }
        }
    }

    fn state(&self, path: PathId) -> PathState {
        self.nodes[0].tunnel.health(path).unwrap().state
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

#[test]
fn heartbeats_start_as_soon_as_the_session_is_established() {
    let mut pair = Pair::new();
    pair.run(at(60_000));
    // Initiations only, and nothing is queued: the queue is for packets.
    let initiated = pair.nodes[0].tunnel.counters().initiated;
    assert_eq!(pair.sent, 2 * initiated);
    assert_eq!(pair.nodes[0].events, []);
    assert_eq!(pair.nodes[0].tunnel.counters().discarded, 0);
    pair.present = true;
    pair.run(at(70_000));
    assert!(pair.nodes[0].tunnel.is_established());
    for path in [FIRST, PathId(1)] {
        assert_eq!(pair.state(path), PathState::Live);
        let health = pair.nodes[0].tunnel.health(path).unwrap();
        assert_eq!(health.rtt, Some(DELAY * 2));
    }
}

#[test]
fn a_path_that_fails_is_avoided_within_the_session_and_used_again_later() {
    let mut pair = Pair::new();
    pair.present = true;
    pair.run(at(10_000));
    pair.cut = true;
    pair.run(at(11_500));
    assert_eq!(pair.state(FIRST), PathState::Silent);
    pair.nodes[0].events.clear();
    pair.wake(at(11_500), 0, Wake::Input(Input::Packet(udp_packet(1))));
    let on = |event: &Event| match event {
        Event::FrameOut { path, kind, .. } if *kind == FrameKind::Data => Some(*path),
        _ => None,
    };
    let used: Vec<PathId> = pair.nodes[0].events.iter().filter_map(on).collect();
    assert_eq!(used, [PathId(1)], "one path of two");
    pair.run(at(12_000));
    assert_eq!(pair.nodes[1].packets, [udp_packet(1)]);
    pair.cut = false;
    pair.run(at(30_000));
    assert_eq!(pair.state(FIRST), PathState::Live);
    let established = pair.nodes[0].tunnel.counters().established;
    assert_eq!(established, 1, "no further handshake");
}
