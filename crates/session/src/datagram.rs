//! The wire format of a session. Integers are big-endian.
//!
//! | initiation | bytes | |
//! | --- | --- | --- |
//! | type | 1 | 1 |
//! | ephemeral | 32 | X25519 public key (Noise `e`) |
//! | static | 48 | the initiator's public key, encrypted (Noise `s`) |
//! | payload | 37 | encrypted: wall clock in ns (8), initiator's index (4), instance (8), paths (1) |
//! | mac | 16 | HMAC-BLAKE2s over all preceding bytes, keyed by the responder's public key |
//!
//! | response | bytes | |
//! | --- | --- | --- |
//! | type | 1 | 2 |
//! | receiver | 4 | the initiator's index |
//! | ephemeral | 32 | X25519 public key (Noise `e`) |
//! | payload | 29 | encrypted: responder's index (4), instance (8), paths (1) |
//! | mac | 16 | as above, keyed by the initiator's public key |
//!
//! The wall clock counts from 1970. A node draws its instance number at random once per run, so
//! that the peer recognises a restart.
//!
//! | transport | bytes | |
//! | --- | --- | --- |
//! | type | 1 | 3 |
//! | receiver | 4 | the receiver's index, which identifies the keys |
//! | nonce | 8 | counter in the low 56 bits, path in the high 8 |
//! | frame | n | encrypted (ChaCha20-Poly1305), with a tag of 16 bytes at the end |
//!
//! Every part of a datagram is authenticated: the type determines the format of the rest, the
//! receiver's index selects the keys, and the nonce and ephemeral key are inputs of the cipher.
//! Each path and direction has its own counter. An empty frame is a hello, which asks whether the
//! path works, and a frame of one byte answers it; frames of an endpoint are longer.

use crate::event::Reject;
use crate::noise::{MAC_LEN, TAG_LEN};
use polypath_core::frame::PathId;

/// Bytes that a transport datagram adds to the frame in it.
pub const OVERHEAD: usize = TRANSPORT_HEADER + TAG_LEN;

/// Length of an initiation in bytes.
pub const INITIATION_LEN: usize = 1 + 32 + 48 + INITIATION_PAYLOAD + TAG_LEN + MAC_LEN;
/// Length of a response in bytes.
pub const RESPONSE_LEN: usize = 5 + 32 + RESPONSE_PAYLOAD + TAG_LEN + MAC_LEN;

pub(crate) const INITIATION_PAYLOAD: usize = 8 + RESPONSE_PAYLOAD;
pub(crate) const RESPONSE_PAYLOAD: usize = 4 + 8 + 1;
pub(crate) const TRANSPORT_HEADER: usize = 13;

/// The first byte of an initiation.
pub const INITIATION: u8 = 1;
/// The first byte of a response.
pub const RESPONSE: u8 = 2;
/// The first byte of a transport datagram.
pub const TRANSPORT: u8 = 3;
/// The offset of the receiver's index in a response and in a transport datagram, in bytes.
pub const RECEIVER_OFFSET: usize = 1;

const COUNTER_BITS: u32 = 56;
/// The maximum counter of a path; one more would be counter zero of the next path.
pub(crate) const COUNTER_MAX: u64 = (1 << COUNTER_BITS) - 1;

/// A handshake message: the bytes that the MAC covers, the Noise message in them, and the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handshake<'a> {
    pub(crate) covered: &'a [u8],
    pub(crate) noise: &'a [u8],
    pub(crate) mac: &'a [u8],
}

impl Handshake<'_> {
    /// The sender's ephemeral key, which is unique to each message and therefore identifies its
    /// copies.
    pub(crate) fn ephemeral(&self) -> [u8; 32] {
        let mut key = [0; 32];
        key.copy_from_slice(&self.noise[..32]);
        key
    }
}

/// A received transport datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transport<'a> {
    pub(crate) receiver: u32,
    pub(crate) nonce: Nonce,
    pub(crate) sealed: &'a [u8],
}

/// A nonce: the path, and the number of earlier datagrams on it under the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonce {
    pub(crate) path: PathId,
    pub(crate) counter: u64,
}

impl Nonce {
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.path.0) << COUNTER_BITS | self.counter & COUNTER_MAX
    }

    fn from_bits(bits: u64) -> Self {
        Self {
            path: PathId((bits >> COUNTER_BITS) as u8),
            counter: bits & COUNTER_MAX,
        }
    }
}

/// A datagram by its type and length, not yet authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datagram<'a> {
    Initiation(Handshake<'a>),
    Response {
        receiver: u32,
        message: Handshake<'a>,
    },
    Transport(Transport<'a>),
}

/// Parses a datagram, or returns the reason to reject it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Datagram<'_>, Reject> {
    match bytes.first() {
        None => Err(Reject::Truncated),
        Some(&INITIATION) => handshake(bytes, 1, INITIATION_LEN).map(Datagram::Initiation),
        Some(&RESPONSE) => Ok(Datagram::Response {
            message: handshake(bytes, 5, RESPONSE_LEN)?,
            receiver: receiver(bytes),
        }),
        Some(&TRANSPORT) if bytes.len() < OVERHEAD => Err(Reject::Truncated),
        Some(&TRANSPORT) => Ok(Datagram::Transport(transport(bytes))),
        Some(_) => Err(Reject::UnknownType),
    }
}

fn handshake(bytes: &[u8], header: usize, len: usize) -> Result<Handshake<'_>, Reject> {
    match bytes.len() {
        n if n < len => return Err(Reject::Truncated),
        n if n > len => return Err(Reject::Oversized),
        _ => {}
    }
    let (covered, mac) = bytes.split_at(len - MAC_LEN);
    Ok(Handshake {
        covered,
        noise: &covered[header..],
        mac,
    })
}

fn receiver(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]])
}

fn transport(bytes: &[u8]) -> Transport<'_> {
    let mut nonce = [0; 8];
    nonce.copy_from_slice(&bytes[5..TRANSPORT_HEADER]);
    Transport {
        receiver: receiver(bytes),
        nonce: Nonce::from_bits(u64::from_be_bytes(nonce)),
        sealed: &bytes[TRANSPORT_HEADER..],
    }
}

/// Writes the header of a transport datagram.
pub(crate) fn write_transport_header(out: &mut [u8], receiver: u32, nonce: Nonce) {
    out[0] = TRANSPORT;
    out[1..5].copy_from_slice(&receiver.to_be_bytes());
    out[5..TRANSPORT_HEADER].copy_from_slice(&nonce.to_bits().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_match_the_specification() {
        assert_eq!((OVERHEAD, INITIATION_LEN, RESPONSE_LEN), (29, 134, 82));
    }

    #[test]
    fn malformed_datagrams_are_rejected_with_a_reason() {
        assert_eq!(parse(&[]), Err(Reject::Truncated));
        assert_eq!(parse(&[0; 40]), Err(Reject::UnknownType));
        assert_eq!(parse(&[TRANSPORT; 28]), Err(Reject::Truncated));
        assert_eq!(parse(&[INITIATION; 133]), Err(Reject::Truncated));
        assert_eq!(parse(&[RESPONSE; 83]), Err(Reject::Oversized));
    }

    proptest! {
        #[test]
        fn a_transport_header_round_trips(
            receiver: u32,
            path: u8,
            counter in 0..=COUNTER_MAX,
            sealed in prop::collection::vec(any::<u8>(), TAG_LEN..64),
        ) {
            let nonce = Nonce { path: PathId(path), counter };
            let mut bytes = vec![0; TRANSPORT_HEADER];
            write_transport_header(&mut bytes, receiver, nonce);
            bytes.extend(&sealed);
            let expected = Transport { receiver, nonce, sealed: &sealed };
            prop_assert_eq!(parse(&bytes), Ok(Datagram::Transport(expected)));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
