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
use crate::node::public_key;
use crate::parcel::{End, Parcel};
use crate::schedule::{Attack, Ruse};

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
    /// What each node sent.
    sent: [VecDeque<(PathId, Bytes)>; 2],
    /// What each node took since its start.
    taken: [VecDeque<(PathId, Bytes)>; 2],
    /// The initiations that each node took before that.
    old: [VecDeque<(PathId, Bytes)>; 2],
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

    /// Hears a datagram that a node sends.
    pub fn overhear(&mut self, from: End, parcel: &Parcel) {
        remember(&mut self.sent[from.index()], parcel.to.path, &parcel.bytes);
    }

    /// Hears that a node takes a datagram.
    pub fn see_taken(&mut self, at: End, parcel: &Parcel) {
        remember(&mut self.taken[at.index()], parcel.to.path, &parcel.bytes);
    }

    /// Hears that a node starts anew.
    pub fn see_start(&mut self, end: End) {
        let old = &mut self.old[end.index()];
        for (path, bytes) in self.taken[end.index()].drain(..) {
            if bytes.first() == Some(&INITIATION) {
                remember(old, path, &bytes);
            }
        }
    }

    /// The datagram of an attack; junk where it has heard none that the ruse needs.
    pub fn forge(&mut self, attack: &Attack) -> (Ruse, Bytes) {
        let Attack { target, path, .. } = *attack;
        let (own, peers) = (target.index(), target.other().index());
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
            Ruse::WrongKey => self.handshake(attack.at, public_key(self.seed, target)),
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
