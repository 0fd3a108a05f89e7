//! Two sessions and what is under way between them.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_session::key::PrivateKey;
use polypath_session::session::{Input, Limits, CAPACITY, Output, Session, SessionConfig};

const PATHS: u8 = 2;
/// Datagrams that the network holds; the oldest gets lost.
const UNDER_WAY: usize = 64;
/// 2026, in nanoseconds since 1970.
const WALL: u64 = 1_790_000_000_000_000_000;

/// A datagram under way to an end.
#[derive(Clone)]
pub(crate) struct Parcel {
    pub(crate) to: usize,
    pub(crate) path: PathId,
    pub(crate) bytes: Bytes,
}

/// What follows from a datagram.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) sent: usize,
    pub(crate) authenticated: usize,
    pub(crate) opened: usize,
}

/// Both ends.
pub(crate) struct Pair {
    pub(crate) now: Time,
    ends: [Session; 2],
    pub(crate) under_way: VecDeque<Parcel>,
    /// Frames that each end was given and the other has not got.
    outstanding: [Vec<Bytes>; 2],
    count: u32,
}

impl Pair {
    /// Both at rest; one of them where `learns` says so does not know where the other is.
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
            under_way: VecDeque::new(),
            outstanding: [Vec::new(), Vec::new()],
            count: 0,
        }
    }

    /// Time passes until the next deadline, which is met.
    pub(crate) fn pass(&mut self) {
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
            "a deadline that does not move on"
        );
    }

    /// An end gets a frame of its own for the other.
    pub(crate) fn offer(&mut self, who: usize, path: u8) {
        self.count += 1;
        let frame = Bytes::copy_from_slice(&self.count.to_be_bytes());
        self.outstanding[who].push(frame.clone());
        let path = PathId(path % PATHS);
        self.wake(who, Wake::Input(Input::Seal { path, frame }));
    }

    /// A datagram comes to an end.
    pub(crate) fn deliver(&mut self, parcel: Parcel) -> Outcome {
        let Parcel { to, path, bytes } = parcel;
        let input = Input::Datagram {
            path,
            datagram: bytes,
        };
        self.wake(to, Wake::Input(input))
    }

    fn wake(&mut self, who: usize, wake: Wake<Input>) -> Outcome {
        let mut outcome = Outcome::default();
        let (under_way, theirs) = (&mut self.under_way, &mut self.outstanding[1 - who]);
        step(
            &mut self.ends[who],
            self.now,
            wake,
            &mut |said| match said {
                Output::Send { path, datagram } | Output::Reply { path, datagram } => {
                    outcome.sent += 1;
                    if under_way.len() == UNDER_WAY {
                        under_way.pop_front();
                    }
                    under_way.push_back(Parcel {
                        to: 1 - who,
                        path,
                        bytes: datagram,
                    });
                }
                Output::Authenticated { .. } => outcome.authenticated += 1,
                Output::Opened { frame, .. } => {
                    outcome.opened += 1;
                    let known = theirs.iter().position(|sent| *sent == frame);
                    theirs.swap_remove(known.expect("a frame that was never sent, or came before"));
                }
                Output::Event(_) => {}
            },
        );
        assert!(self.ends[who].buffered() <= CAPACITY);
        outcome
    }
}

fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut Seed(1).stream(name)).expect("a stream never fails")
}
