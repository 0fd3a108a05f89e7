//! Two sessions and the datagrams in flight between them.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_session::address::Source;
use polypath_session::key::PrivateKey;
use polypath_session::session::{CAPACITY, Input, Limits, Output, Session, SessionConfig};

const PATHS: u8 = 2;
/// The capacity of the network in datagrams; the oldest is lost.
const NETWORK_CAPACITY: usize = 64;
/// 2026, in nanoseconds since 1970.
const WALL: u64 = 1_790_000_000_000_000_000;

/// A datagram in flight, to the session with index `to`.
#[derive(Clone)]
pub(crate) struct TestDatagram {
    pub(crate) to: usize,
    pub(crate) path: PathId,
    pub(crate) bytes: Bytes,
}

/// The effects of a datagram.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    pub(crate) sent: usize,
    pub(crate) authenticated: usize,
    pub(crate) opened: usize,
}

/// Two sessions.
pub(crate) struct Pair {
    pub(crate) now: Time,
    ends: [Session; 2],
    pub(crate) in_flight: VecDeque<TestDatagram>,
    /// The frames that each session sealed and the other has not opened.
    outstanding: [Vec<Bytes>; 2],
    count: u32,
}

impl Pair {
    /// Two sessions without keys; the second knows no address of the first if `learns`.
    pub(crate) fn new(learns: bool) -> Self {
        let end = |own: &str, peer: &str, known: bool| {
            let config = SessionConfig {
                private_key: key(own),
                peer: key(peer).public(),
                reachable: vec![known; usize::from(PATHS)],
                max_datagram: 1500,
                wall_clock: WALL,
                limits: Limits::default(),
            };
            Session::new(config, Box::new(Seed(1).stream(own)))
        };
        Self {
            now: Time::ZERO,
            ends: [end("a", "b", true), end("b", "a", !learns)],
            in_flight: VecDeque::new(),
            outstanding: [Vec::new(), Vec::new()],
            count: 0,
        }
    }

    /// Advances time to the next deadline, and handles it.
    pub(crate) fn advance(&mut self) {
        let deadline = |end: &Session| end.deadline().map_or(Time::MAX, |due| due.at);
        let who = usize::from(deadline(&self.ends[1]) < deadline(&self.ends[0]));
        let at = deadline(&self.ends[who]);
        if at == Time::MAX {
            return;
        }
        self.now = self.now.max(at);
        self.wake(who, Wake::Timeout);
        assert!(
            deadline(&self.ends[who]) > self.now,
            "the deadline does not advance"
        );
    }

    /// Seals a new frame.
    pub(crate) fn seal(&mut self, who: usize, path: u8) {
        self.count += 1;
        let frame = Bytes::copy_from_slice(&self.count.to_be_bytes());
        self.outstanding[who].push(frame.clone());
        let path = PathId(path % PATHS);
        self.wake(who, Wake::Input(Input::Seal { path, frame }));
    }

    /// Delivers a datagram to its session.
    pub(crate) fn deliver(&mut self, datagram: TestDatagram) -> Effects {
        let TestDatagram { to, path, bytes } = datagram;
        let input = Input::Datagram {
            path,
            source: Source::RELAYED,
            datagram: bytes,
        };
        self.wake(to, Wake::Input(input))
    }

    fn wake(&mut self, who: usize, wake: Wake<Input>) -> Effects {
        let mut effects = Effects::default();
        let (in_flight, unopened) = (&mut self.in_flight, &mut self.outstanding[1 - who]);
        step(
            &mut self.ends[who],
            self.now,
            wake,
            &mut |output| match output {
                Output::Send { path, datagram } | Output::Reply { path, datagram } => {
                    effects.sent += 1;
                    if in_flight.len() == NETWORK_CAPACITY {
                        in_flight.pop_front();
                    }
                    in_flight.push_back(TestDatagram {
                        to: 1 - who,
                        path,
                        bytes: datagram,
                    });
                }
                Output::Authenticated { .. } => effects.authenticated += 1,
                Output::Opened { frame, .. } => {
                    effects.opened += 1;
                    let known = unopened.iter().position(|sent| *sent == frame);
                    unopened
                        .swap_remove(known.expect("a frame that was never sealed, or a duplicate"));
                }
                Output::Event(_) => {}
            },
        );
        assert!(self.ends[who].buffered() <= CAPACITY);
        effects
    }
}

fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut Seed(1).stream(name)).expect("a stream never fails")
}
