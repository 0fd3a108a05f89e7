//! The keys of a session: those that seal, those that await confirmation, and retired ones.
//!
//! The initiator of a handshake seals with the new keys immediately. The responder keeps them as
//! `next` until a datagram proves that the initiator has them, since it may have answered a replay.
//! The keys that were in use before are retired to `previous` and still open datagrams in flight.
//! When a handshake of this node's own completes while keys of the peer's handshake await
//! confirmation, both nodes have initiated at once, or one of them has answered a replay. The node
//! whose handshake has precedence retires the peer's keys, which open because the peer may have used
//! them, but never seal. The other node lets them await confirmation, and changes to them if the
//! peer uses them. Otherwise the two nodes could settle on the keys of different handshakes.
//!
//! All keys that open belong to one instance of the peer, except those that await confirmation.
//! After a restart the peer numbers its packets from the beginning, so datagrams of its previous
//! instance must not open.

use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use crate::datagram::Authenticator;
use crate::keypair::KeyPair;
use crate::mac::MacKey;
use crate::session::Limits;

/// The maximum number of retired key pairs.
///
/// A rekey retires the pair in use, a pair that was never confirmed because a response was lost,
/// and the pair of the first handshake when both nodes rekey at once. With fewer slots the first of
/// them would be dropped while datagrams under it are in flight.
const MAX_PREVIOUS: usize = 3;

/// Up to five key pairs by their role.
#[derive(Default)]
pub(crate) struct Keyring {
    pub(crate) current: Option<KeyPair>,
    next: Option<KeyPair>,
    previous: Vec<Retired>,
    /// The instance of the peer whose keys were in use last; they may have expired since.
    instance: Option<u64>,
    /// The key of session MACs of the keys that were in use last; they may have expired since.
    session_mac: Option<MacKey>,
}

/// A retired key pair, which opens datagrams but seals none.
struct Retired {
    pair: KeyPair,
    until: Time,
}

/// The role of a key pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Current,
    Next,
    Previous,
}

impl Keyring {
    /// The key pair with the receiver index `index`.
    pub(crate) fn find(&mut self, index: u32) -> Option<(Slot, &mut KeyPair)> {
        let in_use = [
            (Slot::Current, self.current.as_mut()),
            (Slot::Next, self.next.as_mut()),
        ];
        let in_use = in_use.into_iter();
        let in_use = in_use.filter_map(|(slot, pair)| pair.map(|pair| (slot, pair)));
        let previous = self.previous.iter_mut();
        let previous = previous.map(|retired| (Slot::Previous, &mut retired.pair));
        in_use
            .chain(previous)
            .find(|(_, pair)| pair.local_index == index)
    }

    /// The receiver indices of the keys that open.
    pub(crate) fn local_indices(&self) -> impl Iterator<Item = u32> {
        let previous = self.previous.iter().map(|retired| &retired.pair);
        let in_use = self.current.iter().chain(&self.next);
        in_use.chain(previous).map(|pair| pair.local_index)
    }

    /// Whether `index` is in use.
    pub(crate) fn contains_index(&self, index: u32) -> bool {
        self.local_indices().any(|used| used == index)
    }

    /// The key of the session MAC in this node's next initiation.
    pub(crate) fn session_mac(&self) -> Option<&MacKey> {
        self.session_mac.as_ref()
    }

    /// Whether the session MAC of an initiation is valid under any keys.
    pub(crate) fn verify_session_mac(&self, mac: &Authenticator<'_>) -> bool {
        if mac.is_absent() {
            return false;
        }
        let held = (self.next.iter()).chain(self.previous.iter().map(|retired| &retired.pair));
        let keys = held.map(|pair| &pair.session_mac);
        let mut keys = self.session_mac.iter().chain(keys);
        keys.any(|key| key.verify(&[mac.covered], mac.mac))
    }

    /// Puts `pair` to use; the keys before it open datagrams for `retire_after` more, if they
    /// belong to the same instance of the peer. Keys that await confirmation are retired as well,
    /// unless `peer_has_precedence`. Returns whether the peer has restarted since keys were last
    /// put to use.
    pub(crate) fn rotate(
        &mut self,
        now: Time,
        pair: KeyPair,
        peer_has_precedence: bool,
        limits: &Limits,
    ) -> bool {
        let instance = pair.remote.instance;
        self.session_mac = Some(pair.session_mac.clone());
        let before = self.instance.replace(instance);
        let is_same_instance = |pair: &KeyPair| pair.remote.instance == instance;
        let is_obsolete = |next: &mut KeyPair| {
            if is_same_instance(next) {
                !peer_has_precedence
            } else {
                // A late response of the known instance does not obsolete keys of a newer one.
                before != Some(instance)
            }
        };
        let retired = [self.current.replace(pair), self.next.take_if(is_obsolete)];
        self.previous
            .retain(|retired| is_same_instance(&retired.pair));
        for pair in retired.into_iter().flatten().filter(is_same_instance) {
            if self.previous.len() == MAX_PREVIOUS {
                self.previous.remove(0);
            }
            let until = now + limits.retire_after;
            self.previous.push(Retired { pair, until });
        }
        before.is_some_and(|before| before != instance)
    }

    /// Holds `pair` until the peer confirms it.
    pub(crate) fn await_confirmation(&mut self, pair: KeyPair) {
        self.next = Some(pair);
    }

    /// Whether the keys with `index` await confirmation.
    pub(crate) fn awaits_confirmation(&self, index: u32) -> bool {
        let next = self.next.as_ref();
        next.is_some_and(|pair| pair.local_index == index)
    }

    /// Puts the confirmed keys to use; returns whether the peer has restarted since keys were last
    /// put to use.
    pub(crate) fn confirm(&mut self, now: Time, limits: &Limits) -> bool {
        let pair = self.next.take();
        pair.is_some_and(|pair| self.rotate(now, pair, false, limits))
    }

    /// Drops expired keys; returns whether the keys that seal were among them.
    pub(crate) fn drop_expired(&mut self, now: Time, limits: &Limits) -> bool {
        let too_old = |pair: &KeyPair| now >= pair.established + limits.reject_after;
        self.previous
            .retain(|retired| now < retired.until && !too_old(&retired.pair));
        self.next.take_if(|pair| too_old(pair));
        self.current.take_if(|pair| too_old(pair)).is_some()
    }

    /// The time at which the next key pair expires.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Deadline> {
        let at = |at, why| Some(Deadline { at, why });
        let expiry = |pair: &KeyPair| at(pair.established + limits.reject_after, "keys expire");
        let previous = self.previous.iter().fold(None, |earliest, retired| {
            let until = at(retired.until, "retired keys expire");
            let earlier = Deadline::earlier(until, expiry(&retired.pair));
            Deadline::earlier(earliest, earlier)
        });
        let rest = Deadline::earlier(
            self.current.as_ref().and_then(expiry),
            self.next.as_ref().and_then(expiry),
        );
        Deadline::earlier(previous, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keypair::tests::connected;

    /// Keys with this index, from a complete handshake.
    fn pair(index: u32) -> KeyPair {
        pair_of(1, index)
    }

    /// Keys of an instance of the peer.
    fn pair_of(instance: u64, index: u32) -> KeyPair {
        let [_, responder] = connected(instance, index, 1);
        responder
    }

    /// Both nodes initiated: the peer's keys await confirmation when this node's own come into use.
    /// If the peer's first datagram put the former to use, each node would keep the keys that the
    /// other retires.
    #[test]
    fn unconfirmed_keys_only_open_once_newer_ones_are_in_use() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        ring.rotate(Time::ZERO, pair(1), false, &limits);
        ring.await_confirmation(pair(2));
        ring.rotate(Time::ZERO, pair(3), false, &limits);
        let slots = [1, 2, 3].map(|index| ring.find(index).map(|(slot, _)| slot));
        assert_eq!(
            slots,
            [Slot::Previous, Slot::Previous, Slot::Current].map(Some)
        );
        ring.rotate(Time::ZERO, pair(4), false, &limits);
        ring.rotate(Time::ZERO, pair(5), false, &limits);
        assert!(!ring.contains_index(1), "at most three pairs are retired");
        let later = Time::ZERO + limits.retire_after;
        assert_eq!(ring.deadline(&limits).map(|due| due.at), Some(later));
        assert!(!ring.drop_expired(later, &limits));
        let known = [2, 3, 4, 5].map(|index| ring.contains_index(index));
        assert_eq!(known, [false, false, false, true]);
    }

    /// The answered initiation is either a replay, so that nobody confirms its keys, or the peer's
    /// own, which has precedence.
    #[test]
    fn keys_of_a_handshake_with_precedence_still_await_confirmation() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        ring.await_confirmation(pair(1));
        ring.rotate(Time::ZERO, pair(2), true, &limits);
        let slots = [1, 2].map(|index| ring.find(index).map(|(slot, _)| slot));
        assert_eq!(slots, [Slot::Next, Slot::Current].map(Some));
        assert!(!ring.confirm(Time::ZERO, &limits));
        let slots = [1, 2].map(|index| ring.find(index).map(|(slot, _)| slot));
        assert_eq!(slots, [Slot::Current, Slot::Previous].map(Some));
    }

    #[test]
    fn keys_of_the_previous_instance_open_nothing_once_those_of_a_new_one_are_in_use() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        let has_restarted =
            |ring: &mut Keyring, pair| ring.rotate(Time::ZERO, pair, false, &limits);
        assert!(!has_restarted(&mut ring, pair_of(1, 1)), "the first");
        assert!(!has_restarted(&mut ring, pair_of(1, 2)));
        ring.await_confirmation(pair_of(2, 3));
        assert!(
            ring.contains_index(1) && ring.contains_index(2),
            "not confirmed yet"
        );
        assert!(ring.confirm(Time::ZERO, &limits));
        let opens = [1, 2, 3].map(|index| ring.contains_index(index));
        assert_eq!(opens, [false, false, true]);
        // Also if the previous keys have expired.
        ring.drop_expired(Time::ZERO + limits.reject_after, &limits);
        ring.await_confirmation(pair_of(2, 4));
        assert!(has_restarted(&mut ring, pair_of(3, 5)));
        let opens = [3, 4, 5].map(|index| ring.contains_index(index));
        assert_eq!(opens, [false, false, true]);
    }

    /// A new instance has initiated, and a late response of the previous one completes this node's
    /// own handshake.
    #[test]
    fn keys_of_a_newer_instance_stay_unconfirmed_after_a_response_of_the_known_one() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        ring.rotate(Time::ZERO, pair_of(1, 1), false, &limits);
        ring.await_confirmation(pair_of(2, 2));
        assert!(!ring.rotate(Time::ZERO, pair_of(1, 3), false, &limits));
        assert!(ring.confirm(Time::ZERO, &limits));
        let opens = [1, 2, 3].map(|index| ring.contains_index(index));
        assert_eq!(opens, [false, true, false]);
    }

    /// A lost response left unconfirmed keys; then both nodes rekeyed, and the peer's handshake
    /// completed after this node's own: datagrams under the keys before both are still in flight.
    #[test]
    fn keys_before_two_simultaneous_handshakes_open_datagrams_in_flight() {
        let limits = Limits::default();
        let mut ring = Keyring::default();
        ring.rotate(Time::ZERO, pair(1), false, &limits);
        ring.await_confirmation(pair(2));
        let renewed = Time::ZERO + limits.rekey_after;
        ring.rotate(renewed, pair(3), false, &limits);
        ring.await_confirmation(pair(4));
        ring.confirm(renewed, &limits);
        ring.drop_expired(renewed, &limits);
        let opens = [1, 2, 3, 4].map(|index| ring.contains_index(index));
        assert_eq!(opens, [true; 4]);
    }
}
