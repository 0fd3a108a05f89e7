//! Two sessions and a network between them, in virtual time.

use std::collections::BTreeMap;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};

use crate::address::Source;
use crate::event::{Reject, SessionEvent};
use crate::key::PrivateKey;
use crate::session::{Input, Limits, Output, Session, SessionConfig};

pub(super) const PATHS: u8 = 2;
pub(super) const DELAY: Duration = Duration::from_millis(20);
/// 2026 in nanoseconds since 1970.
pub(super) const WALL: u64 = 1_790_000_000_000_000_000;

/// One node and its outputs.
pub(super) struct End {
    pub(super) session: Session,
    pub(super) opened: Vec<(PathId, Bytes)>,
    pub(super) events: Vec<SessionEvent>,
    /// The path of each [`Output::Authenticated`].
    pub(super) authenticated: Vec<PathId>,
    pub(super) sent: usize,
}

/// The delays and bytes of the copies of a datagram that arrive.
pub(super) type Delivery = Box<dyn FnMut(usize, PathId, &Bytes) -> Vec<(Duration, Bytes)>>;

/// Two nodes, a network between them, and the clock.
pub(super) struct Net {
    pub(super) now: Time,
    pub(super) ends: [End; 2],
    pub(super) in_flight: BTreeMap<(Time, u64), (usize, PathId, Bytes)>,
    pub(super) number: u64,
    pub(super) delivery: Delivery,
    /// Every datagram sent, with its sender.
    pub(super) log: Vec<(usize, PathId, Bytes)>,
}

pub(super) fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut Seed(1).stream(name)).unwrap()
}

pub(super) fn config(own: &str, peer: &str, wall_clock: u64) -> SessionConfig {
    SessionConfig {
        reachable: vec![true; usize::from(PATHS)],
        max_datagram: 1500,
        wall_clock,
        limits: Limits::default(),
        ..SessionConfig::new(key(own), key(peer).public())
    }
}

pub(super) fn end(config: SessionConfig, seed: u64) -> End {
    End {
        session: Session::new(config, Box::new(Seed(seed).stream("entropy"))),
        opened: Vec::new(),
        events: Vec::new(),
        authenticated: Vec::new(),
        sent: 0,
    }
}

/// The address of the peer on every path.
pub(super) fn peer_source() -> Source {
    Source::from(1)
}

pub(super) fn lossless() -> Delivery {
    Box::new(|_, _, datagram| vec![(DELAY, datagram.clone())])
}

impl Net {
    pub(super) fn new(a: SessionConfig, b: SessionConfig) -> Self {
        Self {
            now: Time::ZERO,
            ends: [end(a, 1), end(b, 2)],
            in_flight: BTreeMap::new(),
            number: 0,
            delivery: lossless(),
            log: Vec::new(),
        }
    }

    pub(super) fn configured() -> Self {
        Self::new(config("a", "b", WALL), config("b", "a", WALL))
    }

    pub(super) fn wake(&mut self, who: usize, wake: Wake<Input>) {
        // A reply to an attacker does not reach the peer.
        let is_attack =
            matches!(wake, Wake::Input(Input::Datagram { source, .. }) if source != peer_source());
        let end = &mut self.ends[who];
        let End {
            session,
            opened,
            events,
            authenticated,
            ..
        } = end;
        let mut sent = Vec::new();
        step(session, self.now, wake, &mut |output| match output {
            Output::Send { path, datagram, .. } => sent.push((path, datagram, false)),
            Output::Reply { path, datagram } => sent.push((path, datagram, is_attack)),
            Output::Opened { path, frame } => opened.push((path, frame)),
            Output::Event(event) => events.push(event),
            Output::Authenticated { path } => authenticated.push(path),
        });
        end.sent += sent.len();
        for (path, datagram, is_to_attacker) in sent {
            let copies = if is_to_attacker {
                vec![]
            } else {
                (self.delivery)(who, path, &datagram)
            };
            for (delay, bytes) in copies {
                self.number += 1;
                let when = (self.now + delay, self.number);
                self.in_flight.insert(when, (1 - who, path, bytes));
            }
            self.log.push((who, path, datagram));
        }
    }

    pub(super) fn offer(&mut self, who: usize, path: u8, frame: impl Into<Bytes>) {
        let (path, frame) = (PathId(path), frame.into());
        self.wake(
            who,
            Wake::Input(Input::Seal {
                path,
                frame,
                traffic_class: TrafficClass::DEFAULT,
            }),
        );
    }

    /// Delivers a datagram of the peer, or of an attacker who spoofs its address.
    pub(super) fn inject(&mut self, who: usize, path: u8, datagram: Bytes) {
        self.inject_from(peer_source(), who, path, datagram);
    }

    pub(super) fn inject_from(&mut self, source: Source, who: usize, path: u8, datagram: Bytes) {
        let path = PathId(path);
        self.wake(
            who,
            Wake::Input(Input::Datagram {
                path,
                source,
                datagram,
            }),
        );
    }

    /// Runs everything up to `until`.
    pub(super) fn run(&mut self, until: Time) {
        loop {
            let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
            let deadline = |end: &End| end.session.deadline().map_or(Time::MAX, |d| d.at);
            let timers = [deadline(&self.ends[0]), deadline(&self.ends[1])];
            let next = arrival.unwrap_or(Time::MAX).min(timers[0]).min(timers[1]);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if timers.contains(&next) {
                let who = usize::from(timers[1] == next);
                self.wake(who, Wake::Timeout);
                assert!(
                    deadline(&self.ends[who]) > next,
                    "the deadline does not advance"
                );
            } else {
                let (_, (who, path, datagram)) = self.in_flight.pop_first().unwrap();
                self.inject(who, path.0, datagram);
            }
        }
        self.now = until;
    }

    pub(super) fn established(&self) -> bool {
        self.ends.iter().all(|end| end.session.is_established())
    }

    pub(super) fn rejected(&self, who: usize, reason: Reject) -> u64 {
        self.ends[who].session.counters().rejected(reason)
    }

    pub(super) fn frames(&self, who: usize) -> Vec<Bytes> {
        self.ends[who]
            .opened
            .iter()
            .map(|(_, f)| f.clone())
            .collect()
    }

    pub(super) fn last(&self, from: usize, kind: u8) -> (PathId, Bytes) {
        let of_kind = |entry: &&(usize, PathId, Bytes)| entry.0 == from && entry.2[0] == kind;
        let (_, path, datagram) = self.log.iter().rev().find(of_kind).unwrap();
        (*path, datagram.clone())
    }
}
