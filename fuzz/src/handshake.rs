//! Two sessions over a network that does what the fuzzer says.

use bytes::{Bytes, BytesMut};
use polypath_core::frame::PathId;

use crate::pair::{Outcome, Pair, Parcel};

/// Does one thing after the other: delivers, loses, copies, changes and cuts datagrams, joins parts of them, invents some,
/// lets time pass and gives the ends frames. Every frame arrives once at most, and as it was sent; of a datagram that
/// neither end wrote nothing follows, nor of one that came before.
pub fn check(bytes: &[u8]) {
    let Some((first, deeds)) = bytes.split_first() else {
        return;
    };
    let mut pair = Pair::new(first & 1 == 1);
    let mut deeds = Deeds(deeds);
    while let Some(deed) = deeds.next() {
        act(&mut pair, deed, &mut deeds);
    }
}

/// The input that is left.
struct Deeds<'a>(&'a [u8]);

impl Deeds<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number of sixteen bits; nothing where the input ends.
    fn number(&mut self) -> Option<usize> {
        Some(usize::from(u16::from_be_bytes([
            self.next()?,
            self.next()?,
        ])))
    }
}

fn act(pair: &mut Pair, deed: u8, deeds: &mut Deeds<'_>) -> Option<()> {
    match deed % 10 {
        0 => pair.pass(),
        1 => pair.offer(usize::from(deed / 10 % 2), deed / 20),
        2 => {
            let parcel = pair.under_way.pop_front()?;
            pair.deliver(parcel);
        }
        3 => drop(pair.under_way.pop_front()),
        4 => {
            let parcel = pick(pair, deeds)?;
            pair.deliver(parcel.clone());
            let again = pair.deliver(parcel);
            assert_eq!(again, Outcome::default(), "a copy");
        }
        5 => forge(pair, deeds, flip)?,
        6 => forge(pair, deeds, |bytes, at, _| {
            Some(bytes.slice(..at % bytes.len()))
        })?,
        7 => {
            let other = pick(pair, deeds)?.bytes;
            forge(pair, deeds, |bytes, at, _| splice(bytes, &other, at))?;
        }
        8 => {
            let mut parcel = pick(pair, deeds)?;
            parcel.path = PathId(deeds.next()?);
            // Handshakes may come on any path; what is sealed opens on its own alone.
            pair.deliver(parcel);
        }
        _ => {
            let len = deeds.number()? % 200;
            let (invented, rest) = deeds.0.split_at_checked(len)?;
            deeds.0 = rest;
            let (to, path) = (usize::from(deed / 10 % 2), PathId(deed / 20 % 2));
            let bytes = Bytes::copy_from_slice(invented);
            assert_eq!(
                pair.deliver(Parcel { to, path, bytes }),
                Outcome::default(),
                "invented"
            );
        }
    }
    Some(())
}

/// A copy of one of the datagrams under way.
fn pick(pair: &Pair, deeds: &mut Deeds<'_>) -> Option<Parcel> {
    let which = usize::from(deeds.next()?).checked_rem(pair.under_way.len())?;
    pair.under_way.get(which).cloned()
}

/// Changes one of the datagrams under way and delivers it before the true one.
fn forge(
    pair: &mut Pair,
    deeds: &mut Deeds<'_>,
    change: impl Fn(&Bytes, usize, u8) -> Option<Bytes>,
) -> Option<()> {
    let mut parcel = pick(pair, deeds)?;
    let (at, by) = (deeds.number()?, deeds.next()?);
    let forged = change(&parcel.bytes, at, by)?;
    if pair.under_way.iter().any(|parcel| parcel.bytes == forged) {
        return None;
    }
    parcel.bytes = forged;
    assert_eq!(pair.deliver(parcel), Outcome::default(), "forged");
    Some(())
}

fn flip(bytes: &Bytes, at: usize, by: u8) -> Option<Bytes> {
    let mut changed = BytesMut::from(&bytes[..]);
    let at = at.checked_rem(changed.len())?;
    changed[at] ^= by.max(1);
    Some(changed.freeze())
}

fn splice(bytes: &Bytes, other: &Bytes, at: usize) -> Option<Bytes> {
    let at = at.checked_rem(bytes.len().min(other.len()))?;
    let mut joined = BytesMut::from(&bytes[..at]);
    joined.extend_from_slice(&other[at..]);
    (joined != *bytes).then(|| joined.freeze())
}
