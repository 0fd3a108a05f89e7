//! Datagrams that must be rejected.

use bytes::Bytes;
use polypath_core::time::Time;

use super::{PATHS, SideDraws, public_key, static_key};
use crate::datagram::{INITIATION_LEN, OVERHEAD, RESPONSE_LEN, SESSION_MAC_OFFSET, TYPE_BITS};
use crate::key::{KEY_LEN, PublicKey};
use crate::tunnel::tests::vectors::parties::{NO_PSK, Party, WALL, config, renew_mac};

/// A datagram that is received on `path`.
pub(super) struct Invalid {
    pub(super) name: &'static str,
    pub(super) path: u8,
    pub(super) bytes: Bytes,
}

fn on_path_0(name: &'static str, bytes: impl Into<Bytes>) -> Invalid {
    let (path, bytes) = (0, bytes.into());
    Invalid { name, path, bytes }
}

/// A copy with changes.
fn altered(datagram: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut bytes = datagram.to_vec();
    change(&mut bytes);
    bytes.into()
}

/// An initiation with changes and a MAC that fits.
fn initiation(datagram: &[u8], to: &PublicKey, change: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    altered(datagram, |bytes| {
        change(bytes);
        renew_mac(&mut bytes[..SESSION_MAC_OFFSET], to);
    })
}

/// A response with changes and a MAC that fits.
fn response(datagram: &[u8], to: &PublicKey, change: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    altered(datagram, |bytes| {
        change(bytes);
        renew_mac(bytes, to);
    })
}

/// An initiation of `sender` to `b`, with a wall clock at this time.
fn initiation_of(sender: &str, name: &str, wall_clock: u64) -> Bytes {
    let config = crate::session::SessionConfig {
        wall_clock,
        ..config(&static_key(sender), public_key("b"), &NO_PSK)
    };
    let mut party = Party::node(config);
    party.draws.set(SideDraws::new(sender, "", name).all());
    party.initiate(Time::ZERO).sent()[0].datagram.clone()
}

pub(super) fn initiations(valid: &Bytes, to: &PublicKey) -> Vec<Invalid> {
    let tag = SESSION_MAC_OFFSET - 17;
    vec![
        on_path_0(
            "the MAC is altered",
            altered(valid, |bytes| bytes[tag + 16] ^= 1),
        ),
        on_path_0(
            "the static key is altered, with a new MAC",
            initiation(valid, to, |bytes| bytes[33] ^= 1),
        ),
        on_path_0(
            "the tag of the payload is altered, with a new MAC",
            initiation(valid, to, |bytes| bytes[tag] ^= 1),
        ),
        on_path_0(
            "the ephemeral key is zero, a point of low order, with a new MAC",
            initiation(valid, to, |bytes| bytes[1..33].fill(0)),
        ),
        on_path_0(
            "the initiator is not the configured peer",
            initiation_of("stranger", "of a stranger", WALL),
        ),
        on_path_0("one byte is missing", valid.slice(..INITIATION_LEN - 1)),
        on_path_0("one byte more", altered(valid, |bytes| bytes.push(0))),
        on_path_0("unknown type", altered(valid, |bytes| bytes[0] = 5)),
        on_path_0("no bytes", Bytes::new()),
        Invalid {
            name: "a path that the receiver does not have",
            path: PATHS,
            bytes: valid.clone(),
        },
    ]
}

pub(super) fn responses(valid: &Bytes, to: &PublicKey) -> Vec<Invalid> {
    let tag = RESPONSE_LEN - 17;
    vec![
        on_path_0(
            "the MAC is altered",
            altered(valid, |bytes| bytes[tag + 16] ^= 1),
        ),
        on_path_0(
            "the tag of the payload is altered, with a new MAC",
            response(valid, to, |bytes| bytes[tag] ^= 1),
        ),
        on_path_0(
            "the ephemeral key is zero, a point of low order, with a new MAC",
            response(valid, to, |bytes| bytes[5..5 + KEY_LEN].fill(0)),
        ),
        on_path_0(
            "the receiver's index is altered, with a new MAC",
            response(valid, to, |bytes| bytes[4] ^= 1),
        ),
        on_path_0("one byte is missing", valid.slice(..RESPONSE_LEN - 1)),
    ]
}

pub(super) fn without_psk(response: Bytes) -> Invalid {
    on_path_0("the responder has no pre-shared key", response)
}

pub(super) fn cookie_replies(valid: &Bytes) -> Vec<Invalid> {
    let mac_altered = altered(valid, |bytes| bytes[32] ^= 1);
    let cookie_altered = altered(valid, |bytes| bytes[1] ^= 1);
    vec![
        on_path_0("the MAC is altered", mac_altered),
        on_path_0("the cookie is altered", cookie_altered),
    ]
}

/// Datagrams to a responder that has keys: `unseen` was not delivered on path 1, `seen` was, and
/// `old` is far behind it.
pub(super) fn datagrams(
    answered: &Bytes,
    unseen: &Bytes,
    seen: &[u8],
    old: &Bytes,
) -> Vec<Invalid> {
    let stale = initiation_of("a", "with an old timestamp", WALL - 1);
    let last = unseen.len() - 1;
    let on_path_1 = |name, bytes: Bytes| Invalid {
        name,
        path: 1,
        bytes,
    };
    vec![
        on_path_0("a copy of the answered initiation", answered.clone()),
        on_path_0("an initiation with an older timestamp", stale.clone()),
        on_path_0("the same again, not decrypted", stale),
        on_path_1(
            "the tag is altered",
            altered(unseen, |bytes| bytes[last] ^= 1),
        ),
        on_path_1(
            "a counter 2^16 ahead",
            altered(unseen, |bytes| bytes[5] ^= 1),
        ),
        on_path_1(
            "the index is altered",
            altered(unseen, |bytes| bytes[4] ^= 1),
        ),
        on_path_0("it arrives on another path", unseen.clone()),
        on_path_0(
            "its path is altered to the one on which it arrives",
            altered(unseen, |bytes| bytes[0] ^= 1 << TYPE_BITS),
        ),
        on_path_1("it was opened before", Bytes::copy_from_slice(seen)),
        on_path_1("it is behind the replay window", old.clone()),
        on_path_1(
            "shorter than a header and a tag",
            unseen.slice(..OVERHEAD - 1),
        ),
    ]
}

/// Messages to an initiator whose handshake is complete.
pub(super) fn late_responses(answer: &Bytes) -> Vec<Invalid> {
    let mut cookie_reply = vec![0; crate::datagram::COOKIE_REPLY_LEN];
    cookie_reply[0] = crate::datagram::COOKIE_REPLY;
    vec![
        on_path_0("a copy of the response", answer.clone()),
        on_path_0("a cookie reply without a pending initiation", cookie_reply),
    ]
}
