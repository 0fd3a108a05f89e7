use super::*;
use crate::drive::BUDGET;
use crate::node::inbox::Inbox;
use bytes::Bytes;
use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::PathId;
use polypath_core::frame::{Encapsulation, OVER_IPV4};
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_session::event::SessionEvent;
use polypath_session::key::PrivateKey;
use polypath_session::session::{Limits, SessionConfig};
use polypath_session::tunnel::Tunnel;
use std::collections::VecDeque;

const PATHS: usize = 2;
const PATIENCE: Duration = Duration::from_millis(5);

/// Gives data on path 1 the time of its patience to arrive after the first data on path 0, as a comparison
/// of paths does; and notes what it saw, and when.
#[derive(Default)]
struct Judge {
    due: Option<Time>,
    seen: Vec<(Time, &'static str)>,
}

impl Machine for Judge {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Time, input: Input, _: &mut impl FnMut(Output)) {
        let path = match input {
            Input::Datagram { path, .. } => path,
            Input::Packet(_) => return self.seen.push((now, "packet")),
            Input::DriverBehind(_) => return self.seen.push((now, "late")),
            Input::Adjust(_)
            | Input::PeerAddressKnown(_)
            | Input::WallClock(_)
            | Input::PathReachable(_)
            | Input::InterfaceMtu { .. } => {
                unreachable!("nobody changes anything here")
            }
        };
        if path == PathId(0) {
            self.seen.push((now, "data"));
            self.due.get_or_insert(now + PATIENCE);
        } else {
            let met = self.due.take().is_some();
            self.seen.push((now, if met { "in time" } else { "alone" }));
        }
    }

    fn handle_timeout(&mut self, now: Time, _: &mut impl FnMut(Output)) {
        self.due = None;
        self.seen.push((now, "too late"));
    }

    fn deadline(&self) -> Option<Deadline> {
        let why = "patience";
        self.due.map(|at| Deadline { at, why })
    }
}

/// Sockets in which datagrams wait.
struct Sockets {
    inbox: Inbox,
    paths: [VecDeque<Time>; PATHS],
    /// When handshakes were begun.
    begun: Vec<Time>,
}

impl Sockets {
    fn new(paths: [VecDeque<Time>; PATHS]) -> Self {
        Self {
            inbox: Inbox::new(PATHS),
            paths,
            begun: Vec::new(),
        }
    }
}

impl MachineIo for Sockets {
    fn next_arrival(&mut self, until: Time) -> io::Result<Option<Time>> {
        let paths = &mut self.paths;
        self.inbox.next_arrival(until, |path| {
            Ok(paths[path.index()].pop_front().map(|at| Arrival {
                at,
                source: "192.0.2.1:1".parse().unwrap(),
                input: Input::Datagram {
                    path,
                    datagram: Bytes::new(),
                },
            }))
        })
    }

    fn take(&mut self) -> Option<Arrival> {
        self.inbox.take()
    }

    fn is_empty(&self) -> bool {
        self.inbox.is_empty()
    }

    fn emit(&mut self, context: OutputContext, output: Output) -> io::Result<()> {
        if let Output::Session(SessionEvent::Initiated { .. }) = output {
            self.begun.push(context.at);
        }
        Ok(())
    }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

/// What a judge sees of these arrivals when it is woken at `wakes` and, as the drive loop does, again 50 us
/// later while something is due; the number of turns that this took.
fn judge(paths: [Vec<Time>; PATHS], wakes: &[Time]) -> (Vec<(Time, &'static str)>, usize) {
    let mut pending = paths.map(VecDeque::from);
    let mut sockets = Sockets::new(Default::default());
    let mut timeline = CatchUpDriver::new(Judge::default(), Time::ZERO, BUDGET);
    let mut turns = 0;
    for wake in wakes {
        let mut now = *wake;
        loop {
            for (pending, socket) in pending.iter_mut().zip(&mut sockets.paths) {
                while let Some(at) = pending.pop_front_if(|at| *at <= now) {
                    socket.push_back(at);
                }
            }
            let (taken, until) = timeline.catch_up(now, &mut sockets).unwrap();
            assert!(taken <= BUDGET && until <= now);
            let again = timeline.catch_up(now, &mut sockets).unwrap();
            assert_eq!(again, (0, until), "one turn at a time");
            turns += 1;
            let due = timeline.deadline().filter(|due| due.at <= now);
            if !timeline.has_backlog() {
                assert_eq!(due, None, "without a backlog all that is due is done");
                break;
            }
            now += Duration::from_micros(50);
        }
    }
    (timeline.machine.seen, turns)
}

/// 40 datagrams on path 0, one each millisecond, and 2 on path 1.
fn arrivals() -> [Vec<Time>; PATHS] {
    let second = [ms(18), ms(21) + Duration::from_micros(500)];
    [(1..=40).map(ms).collect(), second.to_vec()]
}

#[test]
fn a_node_that_sleeps_decides_as_one_that_is_woken_in_time() {
    let in_time: Vec<Time> = (0..500)
        .map(|n| Time::ZERO + Duration::from_micros(100) * n)
        .collect();
    let (expected, _) = judge(arrivals(), &in_time);
    let count = |what| expected.iter().filter(|(_, seen)| *seen == what).count();
    assert_eq!(
        (count("data"), count("in time"), count("alone")),
        (40, 2, 0)
    );
    assert!(count("too late") > 3);
    let late = [
        (&[ms(50)][..], 3),
        (&[ms(20), ms(50)], 4),
        (&[ms(3), ms(39), ms(50)], 5),
    ];
    for (wakes, expected_turns) in late {
        let (seen, turns) = judge(arrivals(), wakes);
        assert_eq!(seen, expected, "woken at {wakes:?}");
        assert_eq!(turns, expected_turns, "woken at {wakes:?}");
    }
}

#[test]
fn a_datagram_that_comes_while_others_are_read_has_its_own_time() {
    let mut sockets = Sockets::new([vec![ms(1), ms(9)].into(), VecDeque::new()]);
    let mut timeline = CatchUpDriver::new(Judge::default(), Time::ZERO, BUDGET);
    // The datagram of ms 9 is read by a turn of ms 4.
    assert_eq!(timeline.catch_up(ms(4), &mut sockets).unwrap(), (1, ms(4)));
    assert!(timeline.has_backlog(), "it wants to be woken at once");
    assert_eq!(
        timeline.catch_up(ms(10), &mut sockets).unwrap(),
        (1, ms(10))
    );
    let expected = [(ms(1), "data"), (ms(6), "too late"), (ms(9), "data")];
    assert_eq!(timeline.machine().seen, expected);
}

#[test]
fn what_falls_due_while_a_packet_waits_is_done_before_it() {
    let mut sockets = Sockets::new([vec![ms(1)].into(), VecDeque::new()]);
    let mut timeline = CatchUpDriver::new(Judge::default(), Time::ZERO, BUDGET);
    timeline.catch_up(ms(2), &mut sockets).unwrap();
    let packet = Input::Packet(Bytes::new());
    timeline.take_input(ms(7), packet, &mut sockets).unwrap();
    let expected = [(ms(1), "data"), (ms(6), "too late"), (ms(7), "packet")];
    assert_eq!(timeline.machine().seen, expected);
}

/// A tunnel whose peer never answers.
fn lonely() -> Tunnel {
    let key = |name| PrivateKey::generate(&mut Seed(1).stream(name)).unwrap();
    let endpoint = EndpointConfig {
        paths: 2,
        policy: PolicyConfig::ProbeAndSwitch { path: 0 },
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: 1024,
        first_sequence: 0,
        probing: ProbingConfig::default(),
        detector: None,
        liveness: None,
    };
    let session = SessionConfig {
        private_key: key("own"),
        peer: key("peer").public(),
        reachable: vec![true; PATHS],
        max_datagram: 1500,
        wall_clock: 1,
        limits: Limits::default(),
    };
    Tunnel::new(&endpoint, session, Box::new(Seed(2).stream("own"))).unwrap()
}

#[test]
fn a_node_begins_at_its_start_and_not_at_the_origin() {
    let start = ms(18_000);
    let mut sockets = Sockets::new(Default::default());
    let mut timeline = CatchUpDriver::new(lonely(), start, BUDGET);
    timeline.catch_up(start, &mut sockets).unwrap();
    assert_eq!(sockets.begun, [start]);
    timeline.catch_up(ms(18_499), &mut sockets).unwrap();
    assert_eq!(sockets.begun.len(), 1);
    timeline.catch_up(ms(18_501), &mut sockets).unwrap();
    assert_eq!(sockets.begun, [start, ms(18_500)]);
}

#[test]
fn a_node_that_was_stopped_does_not_make_up_for_all_that_it_missed() {
    for waiting in [VecDeque::new(), vec![ms(1_000), ms(2_000_000)].into()] {
        let mut sockets = Sockets::new([waiting.clone(), VecDeque::new()]);
        let mut timeline = CatchUpDriver::new(lonely(), Time::ZERO, BUDGET);
        timeline.catch_up(Time::ZERO, &mut sockets).unwrap();
        sockets.begun.clear();
        timeline.catch_up(ms(3_600_000), &mut sockets).unwrap();
        let begun = &sockets.begun;
        let most = 2 + waiting.len();
        assert!((1..=most).contains(&begun.len()), "{begun:?}");
    }
}

#[test]
fn a_machine_hears_that_it_is_behind_before_it_catches_up() {
    let mut sockets = Sockets::new([VecDeque::from([ms(10)]), VecDeque::new()]);
    let mut timeline = CatchUpDriver::new(Judge::default(), Time::ZERO, BUDGET);
    for now in [ms(10), ms(19)] {
        timeline.tell_late(now, &mut sockets).unwrap();
        timeline.catch_up(now, &mut sockets).unwrap();
    }
    // The deadline of 15 ms is met as if in time.
    let expected = [(ms(10), "data"), (ms(15), "too late")];
    assert_eq!(timeline.machine().seen, expected);
    sockets.paths[0].push_back(ms(110));
    timeline.catch_up(ms(111), &mut sockets).unwrap();
    timeline.tell_late(ms(200), &mut sockets).unwrap();
    timeline.catch_up(ms(200), &mut sockets).unwrap();
    let (.., late) = timeline.machine().seen.split_at(2);
    let expected = [(ms(110), "data"), (ms(110), "late"), (ms(115), "too late")];
    assert_eq!(late, expected);
}
