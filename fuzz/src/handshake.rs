//! Two sessions over a network controlled by the fuzzer.

use bytes::{Bytes, BytesMut};
use polypath_core::frame::PathId;
use polypath_session::datagram::{INITIATION, INITIATION_LEN, SESSION_MAC_OFFSET};

use crate::pair::{Effects, Pair, TestDatagram};

/// Performs a sequence of actions: delivers, loses, duplicates, corrupts and truncates datagrams,
/// splices parts of them, invents some, advances time and seals frames. Every frame arrives at most
/// once and unmodified; a forged or replayed datagram has no effect.
pub fn check(bytes: &[u8]) {
    let Some((first, actions)) = bytes.split_first() else {
        return;
    };
    let mut pair = Pair::new(first & 1 == 1);
    let mut actions = Actions(actions);
    while let Some(action) = actions.next() {
        perform(&mut pair, action, &mut actions);
    }
}

/// The rest of the input.
struct Actions<'a>(&'a [u8]);

impl Actions<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number of sixteen bits; `None` at the end of the input.
    fn number(&mut self) -> Option<usize> {
        Some(usize::from(u16::from_be_bytes([
            self.next()?,
            self.next()?,
        ])))
    }
}

fn perform(pair: &mut Pair, action: u8, actions: &mut Actions<'_>) -> Option<()> {
    match action % 10 {
        0 => pair.advance(),
        1 => pair.seal(usize::from(action / 10 % 2), action / 20),
        2 => {
            let datagram = pair.in_flight.pop_front()?;
            pair.deliver(datagram);
        }
        3 => drop(pair.in_flight.pop_front()),
        4 => {
            let datagram = pick(pair, actions)?;
            pair.deliver(datagram.clone());
            let again = pair.deliver(datagram);
            assert_eq!(again, Effects::default(), "a duplicate");
        }
        5 => forge(pair, actions, flip)?,
        6 => forge(pair, actions, |bytes, at, _| {
            Some(bytes.slice(..at % bytes.len()))
        })?,
        7 => {
            let other = pick(pair, actions)?.bytes;
            forge(pair, actions, |bytes, at, _| splice(bytes, &other, at))?;
        }
        8 => {
            let mut datagram = pick(pair, actions)?;
            datagram.path = PathId(actions.next()?);
            // Handshakes are valid on any path; a sealed frame only on its own.
            pair.deliver(datagram);
        }
        _ => {
            let len = actions.number()? % 200;
            let (invented, rest) = actions.0.split_at_checked(len)?;
            actions.0 = rest;
            let (to, path) = (usize::from(action / 10 % 2), PathId(action / 20 % 2));
            let bytes = Bytes::copy_from_slice(invented);
            assert_eq!(
                pair.deliver(TestDatagram { to, path, bytes }),
                Effects::default(),
                "invented"
            );
        }
    }
    Some(())
}

/// A copy of one of the datagrams in flight.
fn pick(pair: &Pair, actions: &mut Actions<'_>) -> Option<TestDatagram> {
    let which = usize::from(actions.next()?).checked_rem(pair.in_flight.len())?;
    pair.in_flight.get(which).cloned()
}

/// Modifies one of the datagrams in flight and delivers the result before the original.
fn forge(
    pair: &mut Pair,
    actions: &mut Actions<'_>,
    modify: impl Fn(&Bytes, usize, u8) -> Option<Bytes>,
) -> Option<()> {
    let mut datagram = pick(pair, actions)?;
    let (at, by) = (actions.number()?, actions.next()?);
    let forged = modify(&datagram.bytes, at, by)?;
    if pair
        .in_flight
        .iter()
        .any(|datagram| authenticated(&datagram.bytes) == authenticated(&forged))
    {
        return None;
    }
    datagram.bytes = forged;
    assert_eq!(pair.deliver(datagram), Effects::default(), "forged");
    Some(())
}

/// The bytes that authentication covers. The MACs behind them only decide which rate limit applies.
fn authenticated(bytes: &[u8]) -> &[u8] {
    if bytes.first() == Some(&INITIATION) && bytes.len() == INITIATION_LEN {
        &bytes[..SESSION_MAC_OFFSET]
    } else {
        bytes
    }
}

fn flip(bytes: &Bytes, at: usize, by: u8) -> Option<Bytes> {
    let mut flipped = BytesMut::from(&bytes[..]);
    let at = at.checked_rem(flipped.len())?;
    flipped[at] ^= by.max(1);
    Some(flipped.freeze())
}

fn splice(bytes: &Bytes, other: &Bytes, at: usize) -> Option<Bytes> {
    let at = at.checked_rem(bytes.len().min(other.len()))?;
    let mut spliced = BytesMut::from(&bytes[..at]);
    spliced.extend_from_slice(&other[at..]);
    (spliced != *bytes).then(|| spliced.freeze())
}
