//! Somebody without a key who hears all datagrams and sends any.
//!
//! It is quicker than nobody: of datagrams that a node could still take, it sends only what it changed. Whoever can keep a
//! datagram from a node and hand it over from an address of its own instead is taken for the peer until the next
//! datagram of the peer, as with `WireGuard`; the seal says who wrote a datagram, and not who carried it.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Wake, step};
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};
use polypath_session::datagram::{INITIATION_LEN, RESPONSE_LEN};
use polypath_session::key::{PrivateKey, PublicKey};
use polypath_session::session::{Limits, Output, Session, SessionConfig};

use crate::network::{extend, flip, truncate};
use crate::node::{public_key, relay_key};
use crate::parcel::{Host, Parcel};
use crate::schedule::{Attack, Ruse, Schedule};

/// Datagrams that it remembers of each node.
const MEMORY: usize = 128;
/// The type of an initiation.
const INITIATION: u8 = 1;
/// Tries to find a datagram that a ruse needs among those remembered.
const TRIES: u32 = 8;

/// The stranger.
#[derive(Debug)]
pub struct Stranger {
    seed: Seed,
    stream: Stream,
    key: PrivateKey,
    /// What each node sent, and the relays.
    sent: [VecDeque<(PathId, Bytes)>; 3],
    /// What each took since its start.
    taken: [VecDeque<(PathId, Bytes)>; 3],
    /// The initiations that each took before that.
    old: [VecDeque<(PathId, Bytes)>; 3],
}

impl Stranger {
    /// A stranger who has heard nothing yet.
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
            taken: Default::default(),
            old: Default::default(),
        }
    }

    /// Hears a datagram that somebody sends.
    pub fn overhear(&mut self, from: Host, parcel: &Parcel) {
        remember(&mut self.sent[place(from)], parcel.to.path, &parcel.bytes);
    }

    /// Hears that somebody takes a datagram.
    pub fn see_taken(&mut self, at: Host, parcel: &Parcel) {
        remember(&mut self.taken[place(at)], parcel.to.path, &parcel.bytes);
    }

    /// Hears that somebody starts anew, on a path or on all.
    pub fn see_start(&mut self, host: Host, on: Option<PathId>) {
        let (taken, old) = (&mut self.taken[place(host)], &mut self.old[place(host)]);
        for (path, bytes) in std::mem::take(taken) {
            if on.is_some_and(|on| on != path) {
                taken.push_back((path, bytes));
            } else if bytes.first() == Some(&INITIATION) {
                remember(old, path, &bytes);
            }
        }
    }

    /// The datagram of an attack; junk where it has heard none that the ruse needs.
    pub fn forge(&mut self, attack: &Attack, schedule: &Schedule) -> (Ruse, Bytes) {
        let Attack { target, path, .. } = *attack;
        let by_relay = schedule.paths[path.index()].by_relay;
        let (own, peers, key) = if attack.at_relay {
            let key = relay_key(self.seed, path).public();
            (Host::Relay, Host::Node(target), key)
        } else {
            let peer = Host::Node(target.other());
            let peer = if by_relay { Host::Relay } else { peer };
            (Host::Node(target), peer, public_key(self.seed, target))
        };
        let (own, peers) = (place(own), place(peers));
        let on_path = |of: PathId| of == path;
        let found = match attack.ruse {
            Ruse::Junk => None,
            Ruse::Replay => find(&mut self.stream, &self.taken[own], on_path),
            Ruse::OldHandshake => find(&mut self.stream, &self.old[own], on_path),
            Ruse::OtherPath => find(&mut self.stream, &self.taken[own], |of| of != path),
            Ruse::Reflection => find(&mut self.stream, &self.sent[own], |_| true),
            Ruse::Truncated => {
                let found = find(&mut self.stream, &self.sent[peers], on_path);
                found.map(|bytes| truncate(&mut self.stream, &bytes))
            }
            Ruse::Flipped => {
                let found = find(&mut self.stream, &self.sent[peers], on_path);
                found.map(|bytes| flip(&mut self.stream, &bytes))
            }
            Ruse::Extended => {
                let found = find(&mut self.stream, &self.sent[peers], on_path);
                found.map(|bytes| extend(&mut self.stream, &bytes))
            }
            Ruse::WrongKey => self.handshake(attack.at, key),
            Ruse::WrongTarget => self.handshake(attack.at, self.key.public()),
        };
        match found {
            Some(bytes) => (attack.ruse, bytes),
            None => (Ruse::Junk, self.junk()),
        }
    }

    /// An initiation by the stranger's own key.
    fn handshake(&mut self, at: Time, peer: PublicKey) -> Option<Bytes> {
        let config = SessionConfig {
            private_key: self.key.clone(),
            peer,
            reachable: vec![true],
            max_datagram: INITIATION_LEN,
            wall_clock: u64::MAX / 2,
            limits: Limits::default(),
        };
        let entropy = self
            .seed
            .child("faults/stranger")
            .child(&self.stream.bits().to_string());
        let mut session = Session::new(config, Box::new(entropy.stream("entropy")));
        let mut initiation = None;
        step(&mut session, at + Duration(1), Wake::Timeout, &mut |said| {
            if let Output::Send { datagram, .. } = said {
                initiation = Some(datagram);
            }
        });
        initiation
    }

    fn junk(&mut self) -> Bytes {
        let stream = &mut self.stream;
        let any = stream.below(1600);
        let lengths = [any, INITIATION_LEN as u64, RESPONSE_LEN as u64, 0, 29, 61];
        let len = lengths[usize::try_from(stream.below(6)).unwrap_or(0)];
        let mut bytes: Vec<u8> = (0..len).map(|_| stream.bits().to_le_bytes()[0]).collect();
        if let Some(kind) = bytes.first_mut() {
            *kind = stream.below(5).to_le_bytes()[0];
        }
        bytes.into()
    }
}

/// The position in what is remembered.
const fn place(of: Host) -> usize {
    match of {
        Host::Node(end) => end.index(),
        Host::Relay | Host::Stranger => 2,
    }
}

/// One of the datagrams that were heard, on a path that is wanted.
fn find(
    stream: &mut Stream,
    heard: &VecDeque<(PathId, Bytes)>,
    wanted: impl Fn(PathId) -> bool,
) -> Option<Bytes> {
    for _ in 0..TRIES {
        let index = stream.below(heard.len() as u64);
        let (path, bytes) = heard.get(usize::try_from(index).ok()?)?;
        if wanted(*path) {
            return Some(bytes.clone());
        }
    }
    None
}

fn remember(heard: &mut VecDeque<(PathId, Bytes)>, path: PathId, bytes: &Bytes) {
    if heard.len() == MEMORY {
        heard.pop_front();
    }
    heard.push_back((path, bytes.clone()));
}
