use super::*;
use crate::drive::BUDGET;
use crate::node::paths::inbox::Inbox;
use bytes::Bytes;
use polypath_core::class::Classes;
use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::PathId;
use polypath_core::frame::{Encapsulation, OVER_IPV4};
use polypath_core::packet::Ecn;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariff;
use polypath_core::time::Duration;
use polypath_core::units;
use polypath_session::address::Source;
use polypath_session::event::SessionEvent;
use polypath_session::key::PrivateKey;
use polypath_session::session::{Limits, SessionConfig};
use polypath_session::tunnel::Tunnel;
use std::collections::VecDeque;

const PATHS: usize = 2;
const PATIENCE: Duration = Duration::from_millis(5);

/// Waits for data on path 1 for [`PATIENCE`] after the first data on path 0, as a comparison of
/// paths does, and logs its wakes.
#[derive(Default)]
struct Comparison {
    due: Option<Time>,
    seen: Vec<(Time, &'static str)>,
}

impl Machine for Comparison {
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
            | Input::PathUsed { .. }
            | Input::InterfaceMtu { .. } => {
                unreachable!("no configuration changes")
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

/// Sockets with datagrams to read.
struct Sockets {
    inbox: Inbox,
    paths: [VecDeque<Time>; PATHS],
    /// The times at which handshakes started.
    started: Vec<Time>,
    /// The paths of the datagrams sent.
    sent: Vec<PathId>,
}

impl Sockets {
    fn new(paths: [VecDeque<Time>; PATHS]) -> Self {
        Self {
            inbox: Inbox::new(PATHS),
            paths,
            started: Vec::new(),
            sent: Vec::new(),
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
                    source: Source::RELAYED,
                    ecn: Ecn::NotEct,
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
        match output {
            Output::Session(SessionEvent::Initiated { .. }) => self.started.push(context.at),
            Output::Datagram { path, .. } => self.sent.push(path),
            _ => {}
        }
        Ok(())
    }
}

fn progress(datagrams: usize, until: Time) -> Progress {
    Progress { datagrams, until }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

/// The log of a comparison of these arrivals that is woken at `wakes` and, as by the drive loop, 50
/// us later while work is left; and the number of turns.
fn compare(paths: [Vec<Time>; PATHS], wakes: &[Time]) -> (Vec<(Time, &'static str)>, usize) {
    let mut pending = paths.map(VecDeque::from);
    let mut sockets = Sockets::new(Default::default());
    let mut driver = CatchUpDriver::new(Comparison::default(), Time::ZERO, BUDGET);
    let mut turns = 0;
    for wake in wakes {
        let mut now = *wake;
        loop {
            for (pending, socket) in pending.iter_mut().zip(&mut sockets.paths) {
                while let Some(at) = pending.pop_front_if(|at| *at <= now) {
                    socket.push_back(at);
                }
            }
            let Progress { datagrams, until } = driver.catch_up(now, &mut sockets).unwrap();
            assert!(datagrams <= BUDGET && until <= now);
            let again = driver.catch_up(now, &mut sockets).unwrap();
            assert_eq!(again, progress(0, until), "one turn at a time");
            turns += 1;
            let due = driver.deadline().filter(|due| due.at <= now);
            if !driver.has_backlog() {
                assert_eq!(due, None, "without a backlog no deadline has passed");
                break;
            }
            now += Duration::from_micros(50);
        }
    }
    (driver.machine.seen, turns)
}

/// 40 datagrams on path 0, one each millisecond, and 2 on path 1.
fn arrivals() -> [Vec<Time>; PATHS] {
    let second = [ms(18), ms(21) + Duration::from_micros(500)];
    [(1..=40).map(ms).collect(), second.to_vec()]
}

#[test]
fn a_late_node_decides_as_one_that_is_woken_in_time() {
    let in_time: Vec<Time> = (0..500)
        .map(|n| Time::ZERO + Duration::from_micros(100) * n)
        .collect();
    let (expected, _) = compare(arrivals(), &in_time);
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
        let (seen, turns) = compare(arrivals(), wakes);
        assert_eq!(seen, expected, "woken at {wakes:?}");
        assert_eq!(turns, expected_turns, "woken at {wakes:?}");
    }
}

#[test]
fn a_datagram_that_arrives_during_a_turn_keeps_its_time() {
    let mut sockets = Sockets::new([vec![ms(1), ms(9)].into(), VecDeque::new()]);
    let mut driver = CatchUpDriver::new(Comparison::default(), Time::ZERO, BUDGET);
    // The datagram of ms 9 is read by a turn of ms 4.
    assert_eq!(
        driver.catch_up(ms(4), &mut sockets).unwrap(),
        progress(1, ms(4))
    );
    assert!(driver.has_backlog(), "it has a backlog");
    assert_eq!(
        driver.catch_up(ms(10), &mut sockets).unwrap(),
        progress(1, ms(10))
    );
    let expected = [(ms(1), "data"), (ms(6), "too late"), (ms(9), "data")];
    assert_eq!(driver.machine().seen, expected);
}

#[test]
fn deadlines_before_a_packet_are_handled_first() {
    let mut sockets = Sockets::new([vec![ms(1)].into(), VecDeque::new()]);
    let mut driver = CatchUpDriver::new(Comparison::default(), Time::ZERO, BUDGET);
    driver.catch_up(ms(2), &mut sockets).unwrap();
    let packet = Input::Packet(Bytes::new());
    driver.handle_input(ms(7), packet, &mut sockets).unwrap();
    let expected = [(ms(1), "data"), (ms(6), "too late"), (ms(7), "packet")];
    assert_eq!(driver.machine().seen, expected);
}

/// The quota of path 1 of [`lonely`].
const QUOTA: units::Bytes = units::Bytes(1_000_000);

/// A tunnel whose peer never answers.
fn lonely() -> Tunnel {
    let metered = Tariff {
        quota: Some(QUOTA),
        ..Tariff::FREE
    };
    let key = |name| PrivateKey::generate(&mut Seed(1).stream(name)).unwrap();
    let endpoint = EndpointConfig {
        tariffs: [Tariff::FREE, metered].into_iter().collect(),
        classes: Classes::default(),
        paths: 2,
        policy: PolicyConfig::probe_and_switch(0),
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: 1024,
        first_sequence: 0,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: None,
        spacing: None,
    };
    let session = SessionConfig {
        reachable: vec![true; PATHS],
        max_datagram: 1500,
        wall_clock: 1,
        limits: Limits::default(),
        ..SessionConfig::new(key("own"), key("peer").public())
    };
    Tunnel::new(&endpoint, session, Box::new(Seed(2).stream("own"))).unwrap()
}

#[test]
fn a_node_starts_at_its_start_and_not_at_the_origin() {
    let start = ms(18_000);
    let mut sockets = Sockets::new(Default::default());
    let mut driver = CatchUpDriver::new(lonely(), start, BUDGET);
    driver.catch_up(start, &mut sockets).unwrap();
    assert_eq!(sockets.started, [start]);
    driver.catch_up(ms(18_499), &mut sockets).unwrap();
    assert_eq!(sockets.started.len(), 1);
    driver.catch_up(ms(18_501), &mut sockets).unwrap();
    assert_eq!(sockets.started, [start, ms(18_500)]);
}

/// Not even the handshake of the start is sent on a path whose quota earlier runs have used up.
#[test]
fn a_path_without_quota_left_is_silent_from_the_start() {
    for (used, silent) in [(QUOTA, true), (units::Bytes(1000), false)] {
        let mut sockets = Sockets::new(Default::default());
        let mut driver = CatchUpDriver::new(lonely(), ms(5), BUDGET);
        let input = Input::PathUsed {
            path: PathId(1),
            used,
            is_renewed: false,
        };
        driver.pass(ms(7), input, &mut sockets).unwrap();
        assert_eq!(sockets.sent, []);
        let packet = Input::Packet(Bytes::from_static(&[0x45; 20]));
        driver.handle_input(ms(8), packet, &mut sockets).unwrap();
        for now in 8..3000 {
            driver.catch_up(ms(now), &mut sockets).unwrap();
        }
        assert!(sockets.sent.contains(&PathId(0)));
        assert_eq!(!sockets.sent.contains(&PathId(1)), silent, "{used:?}");
    }
}

#[test]
fn a_node_that_was_stopped_does_not_repeat_missed_work() {
    for waiting in [VecDeque::new(), vec![ms(1_000), ms(2_000_000)].into()] {
        let mut sockets = Sockets::new([waiting.clone(), VecDeque::new()]);
        let mut driver = CatchUpDriver::new(lonely(), Time::ZERO, BUDGET);
        driver.catch_up(Time::ZERO, &mut sockets).unwrap();
        sockets.started.clear();
        driver.catch_up(ms(3_600_000), &mut sockets).unwrap();
        let started = &sockets.started;
        let most = 2 + waiting.len();
        assert!((1..=most).contains(&started.len()), "{started:?}");
    }
}

#[test]
fn a_machine_is_notified_that_it_is_behind_before_it_catches_up() {
    let mut sockets = Sockets::new([VecDeque::from([ms(10)]), VecDeque::new()]);
    let mut driver = CatchUpDriver::new(Comparison::default(), Time::ZERO, BUDGET);
    for now in [ms(10), ms(19)] {
        driver.notify_if_behind(now, &mut sockets).unwrap();
        driver.catch_up(now, &mut sockets).unwrap();
    }
    // The deadline of 15 ms is handled as if in time.
    let expected = [(ms(10), "data"), (ms(15), "too late")];
    assert_eq!(driver.machine().seen, expected);
    sockets.paths[0].push_back(ms(110));
    driver.catch_up(ms(111), &mut sockets).unwrap();
    driver.notify_if_behind(ms(200), &mut sockets).unwrap();
    driver.catch_up(ms(200), &mut sockets).unwrap();
    let (.., late) = driver.machine().seen.split_at(2);
    let expected = [(ms(110), "data"), (ms(110), "late"), (ms(115), "too late")];
    assert_eq!(late, expected);
}
