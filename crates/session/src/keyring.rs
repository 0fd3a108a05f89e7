//! The keys in use: those that seal, those that a peer has yet to confirm, and those that run out.
//!
//! The initiator of a handshake seals with its keys at once. The responder waits until a datagram proves
//! that the initiator has them (`next`), since before that it may have answered a replay. The keys that
//! were in use before open datagrams under way for a while (`previous`).

use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use crate::keypair::KeyPair;
use crate::session::Limits;

/// Up to three key pairs by their part.
#[derive(Default)]
pub(crate) struct Keyring {
    pub(crate) current: Option<KeyPair>,
    next: Option<KeyPair>,
    previous: Option<(KeyPair, Time)>,
}

/// Which part a key pair plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Current,
    Next,
    Previous,
}

impl Keyring {
    /// The key pair that the peer names by `index`.
    pub(crate) fn find(&mut self, index: u32) -> Option<(Slot, &mut KeyPair)> {
        let previous = self.previous.as_mut().map(|(pair, _)| pair);
        [
            (Slot::Current, self.current.as_mut()),
            (Slot::Next, self.next.as_mut()),
            (Slot::Previous, previous),
        ]
        .into_iter()
        .filter_map(|(slot, pair)| pair.map(|pair| (slot, pair)))
        .find(|(_, pair)| pair.local == index)
    }

    /// Whether keys go by `index` already.
    pub(crate) fn knows(&self, index: u32) -> bool {
        let previous = self.previous.as_ref().map(|(pair, _)| pair);
        [self.current.as_ref(), self.next.as_ref(), previous]
            .into_iter()
            .flatten()
            .any(|pair| pair.local == index)
    }

    /// Seals with `pair` from now on; the keys before it open datagrams for `retire_after` more.
    pub(crate) fn rotate(&mut self, now: Time, pair: KeyPair, limits: &Limits) {
        if let Some(old) = self.current.replace(pair) {
            self.previous = Some((old, now + limits.retire_after));
        }
    }

    /// Keeps `pair` until the peer confirms it.
    pub(crate) fn await_confirmation(&mut self, pair: KeyPair) {
        self.next = Some(pair);
    }

    /// The peer has confirmed the keys that waited for it.
    pub(crate) fn confirm(&mut self, now: Time, limits: &Limits) {
        if let Some(pair) = self.next.take() {
            self.rotate(now, pair, limits);
        }
    }

    /// Drops what has run out; true if those were the keys that sealed.
    pub(crate) fn expire(&mut self, now: Time, limits: &Limits) -> bool {
        let too_old = |pair: &KeyPair| now >= pair.established + limits.reject_after;
        self.previous
            .take_if(|(pair, until)| now >= *until || too_old(pair));
        self.next.take_if(|pair| too_old(pair));
        self.current.take_if(|pair| too_old(pair)).is_some()
    }

    /// When the next key pair runs out.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Deadline> {
        let at = |at, why| Some(Deadline { at, why });
        let end = |pair: &KeyPair| at(pair.established + limits.reject_after, "keys run out");
        let previous = self
            .previous
            .as_ref()
            .and_then(|(pair, until)| Deadline::earlier(at(*until, "old keys run out"), end(pair)));
        let rest = Deadline::earlier(
            self.current.as_ref().and_then(end),
            self.next.as_ref().and_then(end),
        );
        Deadline::earlier(previous, rest)
    }
}
