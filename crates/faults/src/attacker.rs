//! An attacker without keys who observes all datagrams and sends arbitrary ones.
//!
//! The attacker cannot intercept: a datagram that a node could still accept is sent only modified,
//! except for copies of initiations, which change no address.
//! An attacker who can withhold a datagram and deliver it from its own address is accepted for the
//! peer until the peer's next datagram, as with `WireGuard`: the seal authenticates the sender of a
//! datagram, not its source address.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Wake, step};
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};
use polypath_session::datagram::{COOKIE_REPLY_LEN, INITIATION, INITIATION_LEN, RESPONSE_LEN};
use polypath_session::key::{PrivateKey, PublicKey};
use polypath_session::session::{Input, Limits, Output, Session, SessionConfig};

use crate::datagram::{Host, TestDatagram};
use crate::network::{extend, flip, truncate};
use crate::node::{public_key, relay_key};
use crate::schedule::{Attack, AttackKind, Schedule};

/// Datagrams remembered of each host.
const MEMORY: usize = 128;
/// Different own initiations to a receiver; the last one may get a cookie.
const INITIATIONS: usize = 8;
/// Attempts to find a suitable datagram among those remembered.
const TRIES: u32 = 8;

/// The attacker.
pub struct Attacker {
    seed: Seed,
    stream: Stream,
    key: PrivateKey,
    /// Datagrams sent by each node, and by the relays.
    sent: [VecDeque<(PathId, Bytes)>; 3],
    /// Datagrams accepted by each since its start.
    accepted: [VecDeque<(PathId, Bytes)>; 3],
    /// Initiations accepted by each before its start.
    replayable: [VecDeque<(PathId, Bytes)>; 3],
    /// For each receiver, the session of the last own initiation to it.
    sessions: BTreeMap<Receiver, Session>,
    /// For each receiver, an own initiation with its cookie.
    with_cookie: BTreeMap<Receiver, Bytes>,
    /// For each receiver, own initiations, which are sent again and again.
    initiations: BTreeMap<Receiver, Vec<Bytes>>,
}

/// The receiver of an attack: a host, of relays that of a path.
type Receiver = (Host, PathId);

impl Attacker {
    /// An attacker that has observed nothing yet.
    ///
    /// # Panics
    /// Never: a stream gives as many bytes as a key has.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        let key = PrivateKey::generate(&mut seed.stream("faults/key/stranger"));
        Self {
            seed,
            stream: seed.stream("faults/stranger"),
            key: key.expect("a stream never fails"),
            sent: Default::default(),
            accepted: Default::default(),
            replayable: Default::default(),
            sessions: BTreeMap::new(),
            with_cookie: BTreeMap::new(),
            initiations: BTreeMap::new(),
        }
    }

    /// Receives a datagram, which may be a cookie.
    pub fn receive(&mut self, now: Time, datagram: &TestDatagram) {
        let receiver = (datagram.source.host, datagram.source.path);
        let Some(session) = self.sessions.get_mut(&receiver) else {
            return;
        };
        let input = Input::Datagram {
            path: PathId(0),
            source: datagram.source.into(),
            datagram: datagram.bytes.clone(),
        };
        let mut sent = None;
        step(session, now, Wake::Input(input), &mut |output| {
            if let Output::Send { datagram, .. } = output {
                sent = Some(datagram);
            }
        });
        if let Some(initiation) = sent {
            self.with_cookie.insert(receiver, initiation);
        }
    }

    /// Observes a datagram that a host sends.
    pub fn observe_sent(&mut self, from: Host, datagram: &TestDatagram) {
        remember(
            &mut self.sent[host_index(from)],
            datagram.to.path,
            &datagram.bytes,
        );
    }

    /// Observes that a host accepts a datagram.
    pub fn observe_accepted(&mut self, at: Host, datagram: &TestDatagram) {
        remember(
            &mut self.accepted[host_index(at)],
            datagram.to.path,
            &datagram.bytes,
        );
    }

    /// Observes the start of a host, on one path or on all.
    pub fn observe_restart(&mut self, host: Host, on: Option<PathId>) {
        let (accepted, replayable) = (
            &mut self.accepted[host_index(host)],
            &mut self.replayable[host_index(host)],
        );
        for (path, bytes) in std::mem::take(accepted) {
            if on.is_some_and(|on| on != path) {
                accepted.push_back((path, bytes));
            } else if bytes.first() == Some(&INITIATION) {
                remember(replayable, path, &bytes);
            }
        }
    }

    /// The datagram of an attack; random bytes if none suitable was observed.
    pub fn forge(&mut self, attack: &Attack, schedule: &Schedule) -> (AttackKind, Bytes) {
        let Attack { target, path, .. } = *attack;
        let is_relayed = schedule.paths[path.index()].is_relayed;
        let (own, peers, key) = if attack.at_relay {
            let key = relay_key(self.seed, path).public();
            (Host::Relay, Host::Node(target), key)
        } else {
            let peer = Host::Node(target.other());
            let peer = if is_relayed { Host::Relay } else { peer };
            (Host::Node(target), peer, public_key(self.seed, target))
        };
        let receiver = (own, path);
        let (own, peers) = (host_index(own), host_index(peers));
        let on_path = |of: PathId| of == path;
        let found = match attack.kind {
            AttackKind::Junk => None,
            AttackKind::Replay => find(&mut self.stream, &self.accepted[own], on_path),
            AttackKind::NewestInitiation => newest_initiation(&self.sent[peers], path),
            AttackKind::OldHandshake => find(&mut self.stream, &self.replayable[own], on_path),
            AttackKind::OtherPath => find(&mut self.stream, &self.accepted[own], |of| of != path),
            AttackKind::Reflection => find(&mut self.stream, &self.sent[own], |_| true),
            AttackKind::Truncated => {
                let found = find(&mut self.stream, &self.sent[peers], on_path);
                found.map(|bytes| truncate(&mut self.stream, &bytes))
            }
            AttackKind::Flipped => {
                let found = find(&mut self.stream, &self.sent[peers], on_path);
                found.map(|bytes| flip(&mut self.stream, &bytes))
            }
            AttackKind::Extended => {
                let found = find(&mut self.stream, &self.sent[peers], on_path);
                found.map(|bytes| extend(&mut self.stream, &bytes))
            }
            AttackKind::WrongKey => self.initiation(attack.at, key, receiver),
            AttackKind::WithCookie => {
                let held = self.with_cookie.get(&receiver).cloned();
                held.or_else(|| self.initiation(attack.at, key, receiver))
            }
            AttackKind::WrongTarget => self.handshake(attack.at, self.key.public(), None),
        };
        match found {
            Some(bytes) => (attack.kind, bytes),
            None => (AttackKind::Junk, self.junk()),
        }
    }

    /// One of a few initiations with the attacker's own key: a receiver decrypts each copy that it
    /// admits.
    fn initiation(&mut self, at: Time, key: PublicKey, receiver: Receiver) -> Option<Bytes> {
        let known = self.initiations.entry(receiver).or_default();
        if known.len() == INITIATIONS {
            let index = self.stream.below(known.len() as u64);
            return known.get(usize::try_from(index).ok()?).cloned();
        }
        let new = self.handshake(at, key, Some(receiver))?;
        self.initiations
            .entry(receiver)
            .or_default()
            .push(new.clone());
        Some(new)
    }

    /// An initiation with the attacker's own key, whose `receiver` may answer with a cookie.
    fn handshake(
        &mut self,
        at: Time,
        peer: PublicKey,
        receiver: Option<Receiver>,
    ) -> Option<Bytes> {
        let config = SessionConfig {
            reachable: vec![true],
            max_datagram: INITIATION_LEN,
            wall_clock: u64::MAX / 2,
            limits: Limits::default(),
            ..SessionConfig::new(self.key.clone(), peer)
        };
        let entropy = self
            .seed
            .child("faults/stranger")
            .child(&self.stream.bits().to_string());
        let mut session = Session::new(config, Box::new(entropy.stream("entropy")));
        let mut initiation = None;
        step(
            &mut session,
            at + Duration(1),
            Wake::Timeout,
            &mut |output| {
                if let Output::Send { datagram, .. } = output {
                    initiation = Some(datagram);
                }
            },
        );
        if let Some(receiver) = receiver {
            self.sessions.insert(receiver, session);
        }
        initiation
    }

    fn junk(&mut self) -> Bytes {
        let stream = &mut self.stream;
        let any = stream.below(1600);
        let handshake = [INITIATION_LEN, RESPONSE_LEN, COOKIE_REPLY_LEN].map(|len| len as u64);
        let [initiation, response, cookie] = handshake;
        let lengths = [any, initiation, response, cookie, 0, 24, 60];
        let len = lengths[usize::try_from(stream.below(7)).unwrap_or(0)];
        let mut bytes: Vec<u8> = (0..len).map(|_| stream.bits().to_le_bytes()[0]).collect();
        if let Some(kind) = bytes.first_mut() {
            *kind = stream.below(5).to_le_bytes()[0];
        }
        bytes.into()
    }
}

/// The position of a host in the remembered datagrams.
const fn host_index(of: Host) -> usize {
    match of {
        Host::Node(end) => end.index(),
        Host::Relay | Host::Attacker => 2,
    }
}

/// A random one of the datagrams on the paths that `wanted` accepts.
fn find(
    stream: &mut Stream,
    observed: &VecDeque<(PathId, Bytes)>,
    wanted: impl Fn(PathId) -> bool,
) -> Option<Bytes> {
    for _ in 0..TRIES {
        let index = stream.below(observed.len() as u64);
        let (path, bytes) = observed.get(usize::try_from(index).ok()?)?;
        if wanted(*path) {
            return Some(bytes.clone());
        }
    }
    None
}

/// The last initiation of those on `path`.
fn newest_initiation(observed: &VecDeque<(PathId, Bytes)>, path: PathId) -> Option<Bytes> {
    let mut newest_first = observed.iter().rev();
    let newest = newest_first.find(|(on, bytes)| *on == path && bytes.first() == Some(&INITIATION));
    newest.map(|(_, bytes)| bytes.clone())
}

fn remember(observed: &mut VecDeque<(PathId, Bytes)>, path: PathId, bytes: &Bytes) {
    if observed.len() == MEMORY {
        observed.pop_front();
    }
    observed.push_back((path, bytes.clone()));
}
