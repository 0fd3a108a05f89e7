//! The keys in use: those that seal, those that a peer has yet to confirm, and those that run out.
//!
//! The initiator of a handshake seals with its keys at once. The responder waits until a datagram proves
//! that the initiator has them (`next`), since before that it may have answered a replay. The keys that
//! were in use before open datagrams under way for a while (`previous`); so do those that still waited when a
//! handshake of this end's own ended, for the peer may have used them. They seal no more, or either end would go on
//! with the keys of another handshake.
//!
//! All that open belong to one instance of the peer, but for those that wait: once the peer has started anew, what it
//! sealed before counts by other numbers, and does not open any more.

use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use crate::keypair::KeyPair;
use crate::session::Limits;

/// Most key pairs that only open. A renewal leaves those that sealed before it, those that waited since an earlier answer was
/// of no use, and where both ends renew at once those of the handshake that ended first. Were the oldest to give way to
/// these, what was sealed before the renewal and is still under way would be lost.
const MOST_PREVIOUS: usize = 3;

/// Up to five key pairs by their part.
#[derive(Default)]
pub(crate) struct Keyring {
    pub(crate) current: Option<KeyPair>,
    next: Option<KeyPair>,
    previous: Vec<(KeyPair, Time)>,
    /// The instance of the peer whose keys came into use last, and may have run out since.
    instance: Option<u64>,
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
        let in_use = [
            (Slot::Current, self.current.as_mut()),
            (Slot::Next, self.next.as_mut()),
        ];
        let in_use = in_use.into_iter();
        let in_use = in_use.filter_map(|(slot, pair)| pair.map(|pair| (slot, pair)));
        let previous = self.previous.iter_mut();
        let previous = previous.map(|(pair, _)| (Slot::Previous, pair));
        in_use.chain(previous).find(|(_, pair)| pair.local == index)
    }

    /// By what the peer names the keys that open.
    pub(crate) fn local_indices(&self) -> impl Iterator<Item = u32> {
        let previous = self.previous.iter().map(|(pair, _)| pair);
        let in_use = self.current.iter().chain(&self.next);
        in_use.chain(previous).map(|pair| pair.local)
    }

    /// Whether keys go by `index` already.
    pub(crate) fn knows(&self, index: u32) -> bool {
        self.local_indices().any(|known| known == index)
    }

    /// Seals with `pair` from now on; the keys before it open datagrams for `retire_after` more, if they are of the same
    /// instance of the peer. True if that has started anew since keys came into use last.
    pub(crate) fn rotate(&mut self, now: Time, pair: KeyPair, limits: &Limits) -> bool {
        let instance = pair.instance;
        let before = self.instance.replace(instance);
        let is_of_it = |pair: &KeyPair| pair.instance == instance;
        // A late answer of the instance that is known says nothing of another one, which may have come after it.
        let is_over = |next: &mut KeyPair| before != Some(instance) || is_of_it(next);
        let retired = [self.current.replace(pair), self.next.take_if(is_over)];
        self.previous.retain(|(pair, _)| is_of_it(pair));
        for pair in retired.into_iter().flatten().filter(is_of_it) {
            if self.previous.len() == MOST_PREVIOUS {
                self.previous.remove(0);
            }
            self.previous.push((pair, now + limits.retire_after));
        }
        before.is_some_and(|before| before != instance)
    }

    /// Keeps `pair` until the peer confirms it.
    pub(crate) fn await_confirmation(&mut self, pair: KeyPair) {
        self.next = Some(pair);
    }

    /// The peer has confirmed the keys that waited for it; true if it has started anew since keys came into use last.
    pub(crate) fn confirm(&mut self, now: Time, limits: &Limits) -> bool {
        let pair = self.next.take();
        pair.is_some_and(|pair| self.rotate(now, pair, limits))
    }

    /// Drops what has run out; true if those were the keys that sealed.
    pub(crate) fn expire(&mut self, now: Time, limits: &Limits) -> bool {
        let too_old = |pair: &KeyPair| now >= pair.established + limits.reject_after;
        self.previous
            .retain(|(pair, until)| now < *until && !too_old(pair));
        self.next.take_if(|pair| too_old(pair));
        self.current.take_if(|pair| too_old(pair)).is_some()
    }

    /// When the next key pair runs out.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Deadline> {
        let at = |at, why| Some(Deadline { at, why });
        let end = |pair: &KeyPair| at(pair.established + limits.reject_after, "keys run out");
        let previous = self.previous.iter().fold(None, |earliest, (pair, until)| {
            let retired = Deadline::earlier(at(*until, "old keys run out"), end(pair));
            Deadline::earlier(earliest, retired)
        });
        let rest = Deadline::earlier(
            self.current.as_ref().and_then(end),
            self.next.as_ref().and_then(end),
        );
        Deadline::earlier(previous, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::{self, Datagram};
    use crate::handshake::{Initiation, Introduction, Opened};
    use crate::key::PrivateKey;
    use crate::noise::{Identity, Mac};
    use polypath_core::rng::Seed;

    /// Keys by this index, of a whole handshake.
    fn pair(index: u32) -> KeyPair {
        pair_of(1, index)
    }

    /// Keys of an instance of the peer.
    fn pair_of(instance: u64, index: u32) -> KeyPair {
        let key = |name| PrivateKey::generate(&mut Seed(1).stream(name)).unwrap();
        let (a, b) = (key("a"), key("b"));
        let initiator = Identity::new(a.clone(), b.public());
        let responder = Identity::new(b, a.public());
        let own = Introduction {
            index,
            instance,
            paths: 1,
        };
        let mac = &mut Mac::new(&initiator.peer);
        let initiation = Initiation::begin(&initiator, mac, [7; 32], 1, own).unwrap();
        let Ok(Datagram::Initiation(message)) = datagram::parse(&initiation.datagram) else {
            panic!("no initiation");
        };
        let opened = Opened::read(&responder, [8; 32], &message);
        let opened = opened.unwrap_or_else(|reason| panic!("{reason:?}"));
        let (_, agreed) = opened
            .answer(&mut Mac::new(&initiator.public), own)
            .unwrap();
        KeyPair::new(agreed, index, Time::ZERO, 1)
    }

    /// Both ends began: the peer's keys waited for it when this end's own came into use. Were they to seal again when the
    /// peer's first datagram comes, each end would be left with the keys that the other retires.
    #[test]
    fn keys_that_waited_only_open_once_newer_ones_seal() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        ring.rotate(Time::ZERO, pair(1), &limits);
        ring.await_confirmation(pair(2));
        ring.rotate(Time::ZERO, pair(3), &limits);
        let slots = [1, 2, 3].map(|index| ring.find(index).map(|(slot, _)| slot));
        assert_eq!(
            slots,
            [Slot::Previous, Slot::Previous, Slot::Current].map(Some)
        );
        ring.rotate(Time::ZERO, pair(4), &limits);
        ring.rotate(Time::ZERO, pair(5), &limits);
        assert!(!ring.knows(1), "no more than three only open");
        let later = Time::ZERO + limits.retire_after;
        assert_eq!(ring.deadline(&limits).map(|due| due.at), Some(later));
        assert!(!ring.expire(later, &limits));
        let known = [2, 3, 4, 5].map(|index| ring.knows(index));
        assert_eq!(known, [false, false, false, true]);
    }

    #[test]
    fn keys_of_an_instance_open_nothing_once_those_of_another_are_in_use() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        let started_anew = |ring: &mut Keyring, pair| ring.rotate(Time::ZERO, pair, &limits);
        assert!(!started_anew(&mut ring, pair_of(1, 1)), "the first");
        assert!(!started_anew(&mut ring, pair_of(1, 2)));
        ring.await_confirmation(pair_of(2, 3));
        assert!(ring.knows(1) && ring.knows(2), "nothing is confirmed");
        assert!(ring.confirm(Time::ZERO, &limits));
        let opens = [1, 2, 3].map(|index| ring.knows(index));
        assert_eq!(opens, [false, false, true]);
        // Also where those before have run out.
        ring.expire(Time::ZERO + limits.reject_after, &limits);
        ring.await_confirmation(pair_of(2, 4));
        assert!(started_anew(&mut ring, pair_of(3, 5)));
        let opens = [3, 4, 5].map(|index| ring.knows(index));
        assert_eq!(opens, [false, false, true]);
    }

    /// An instance has begun a handshake, and the late answer of the one before ends a handshake of this end's own.
    #[test]
    fn keys_of_a_newer_instance_wait_on_while_the_known_one_answers() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        ring.rotate(Time::ZERO, pair_of(1, 1), &limits);
        ring.await_confirmation(pair_of(2, 2));
        assert!(!ring.rotate(Time::ZERO, pair_of(1, 3), &limits));
        assert!(ring.confirm(Time::ZERO, &limits));
        let opens = [1, 2, 3].map(|index| ring.knows(index));
        assert_eq!(opens, [false, true, false]);
    }

    /// An answer of no use left keys that waited; then both ends renewed, and the peer's handshake ended after this end's
    /// own: what the peer sealed with the keys before both is still under way.
    #[test]
    fn keys_of_before_two_handshakes_at_once_open_what_is_under_way() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        ring.rotate(Time::ZERO, pair(1), &limits);
        ring.await_confirmation(pair(2));
        let renewed = Time::ZERO + limits.rekey_after;
        ring.rotate(renewed, pair(3), &limits);
        ring.await_confirmation(pair(4));
        ring.confirm(renewed, &limits);
        ring.expire(renewed, &limits);
        let opens = [1, 2, 3, 4].map(|index| ring.knows(index));
        assert_eq!(opens, [true; 4]);
    }
}
