//! The wire format of a session. Integers are big-endian.
//!
//! docs/protocol.md specifies it (sections 3 to 5 and 8), with test vectors in `vectors`. There are
//! four types of datagram, distinguished by the first byte: initiation, response, transport and
//! cookie reply.
//!
//! Every part of a datagram is authenticated: the type determines the format of the rest, the
//! receiver's index selects the keys, and the nonce and ephemeral key are inputs of the cipher. Two
//! MACs of an initiation, of an earlier session and of a cookie, only select its rate limit
//! (`session/admission.rs`). Each path and direction has its own counter. An empty frame is a hello,
//! which asks whether the path works, and a frame of one byte answers it; frames of an endpoint are
//! longer.

use crate::event::Reject;
use crate::mac::{MAC_LEN, Tag};
use crate::noise::TAG_LEN;
use polypath_core::frame::PathId;
use polypath_core::truncated::{BEHIND, BITS, expand, truncate};

/// Bytes that a transport datagram adds to the frame in it.
pub const OVERHEAD: usize = TRANSPORT_HEADER + TAG_LEN;

/// Length of an initiation in bytes.
pub const INITIATION_LEN: usize = 1 + 32 + 48 + INITIATION_PAYLOAD + TAG_LEN + 3 * MAC_LEN;
/// Length of a response in bytes.
pub const RESPONSE_LEN: usize = 5 + 32 + RESPONSE_PAYLOAD + TAG_LEN + MAC_LEN;

/// Length of a cookie reply in bytes.
pub const COOKIE_REPLY_LEN: usize = 1 + 2 * MAC_LEN;

/// Length of the description of a node in a handshake message, in bytes.
pub(crate) const HANDSHAKE_INFO_LEN: usize = 4 + 8 + 4 + 1;
pub(crate) const INITIATION_PAYLOAD: usize = 8 + HANDSHAKE_INFO_LEN;
pub(crate) const RESPONSE_PAYLOAD: usize = HANDSHAKE_INFO_LEN + MAC_LEN;
/// The offset of the session MAC in an initiation, in bytes. The bytes before it are authenticated;
/// the two MACs behind only decide which rate limit applies to the initiation.
pub const SESSION_MAC_OFFSET: usize = INITIATION_LEN - 2 * MAC_LEN;
/// The offset of the cookie MAC in an initiation, in bytes.
pub const COOKIE_MAC_OFFSET: usize = INITIATION_LEN - MAC_LEN;
pub(crate) const TRANSPORT_HEADER: usize = 1 + 4 + 3;

/// The first byte of an initiation.
pub const INITIATION: u8 = 1;
/// The first byte of a response.
pub const RESPONSE: u8 = 2;
/// The lowest [`TYPE_BITS`] bits of the first byte of a transport datagram; the others are the lowest
/// bits of the path.
pub const TRANSPORT: u8 = 3;
/// The number of bits of the first byte that state the type of a transport datagram.
pub const TYPE_BITS: u32 = 3;
/// The first byte of a cookie reply.
pub const COOKIE_REPLY: u8 = 4;
/// The offset of the receiver's index in a response and in a transport datagram, in bytes.
pub const RECEIVER_OFFSET: usize = 1;

const COUNTER_BITS: u32 = 56;
/// The maximum counter of a path; one more would be counter zero of the next path.
pub(crate) const COUNTER_MAX: u64 = counter_max(COUNTER_BITS);

/// A MAC, and the bytes before it, which it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Authenticator<'a> {
    pub(crate) covered: &'a [u8],
    pub(crate) mac: &'a [u8],
}

impl<'a> Authenticator<'a> {
    /// The MAC at the end of `bytes`, which are longer than a MAC.
    fn split(bytes: &'a [u8]) -> Self {
        let (covered, mac) = bytes.split_at(bytes.len() - MAC_LEN);
        Self { covered, mac }
    }

    /// Whether the sender had no key for it.
    pub(crate) fn is_absent(&self) -> bool {
        self.mac == Tag::default()
    }
}

/// A handshake message: the Noise message in it, and the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handshake<'a> {
    pub(crate) noise: &'a [u8],
    pub(crate) mac: Authenticator<'a>,
}

/// An initiation, and the two MACs that only initiations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InitiationMessage<'a> {
    pub(crate) handshake: Handshake<'a>,
    pub(crate) session_mac: Authenticator<'a>,
    pub(crate) cookie_mac: Authenticator<'a>,
}

/// A cookie reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CookieReply<'a> {
    pub(crate) cookie: &'a [u8],
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
    /// The lowest bits of the path.
    path: u8,
    /// The lowest bits of the counter.
    counter: u64,
    pub(crate) sealed: &'a [u8],
}

impl Transport<'_> {
    /// Its nonce, if it arrived on `path`, where the counter `next` is expected; or the reason to
    /// reject it.
    pub(crate) fn nonce(&self, path: PathId, next: u64) -> Result<Nonce, Reject> {
        if self.path != path_bits(path) {
            return Err(Reject::WrongPath);
        }
        let counter = expand(self.counter, next.saturating_sub(BEHIND), BITS);
        // No sender uses the last one; those beyond are not part of a nonce.
        let counter = counter.filter(|counter| *counter < COUNTER_MAX);
        let counter = counter.ok_or(Reject::BehindWindow)?;
        Ok(Nonce { path, counter })
    }
}

/// The lowest bits of `path`, as the first byte of a transport datagram has them.
const fn path_bits(path: PathId) -> u8 {
    path.0 & (u8::MAX >> TYPE_BITS)
}

/// Whether `first` is the first byte of a transport datagram.
#[must_use]
pub const fn is_transport(first: u8) -> bool {
    first & ((1 << TYPE_BITS) - 1) == TRANSPORT
}

/// A nonce: the path, and the number of earlier datagrams on it under the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonce {
    pub(crate) path: PathId,
    pub(crate) counter: u64,
}

impl Nonce {
    pub(crate) fn to_bits(self) -> u64 {
        self.pack::<COUNTER_BITS>()
    }

    /// The path above a counter of `BITS` bits.
    fn pack<const BITS: u32>(self) -> u64 {
        u64::from(self.path.0) << BITS | self.counter & counter_max(BITS)
    }
}

const fn counter_max(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A datagram by its type and length, not yet authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datagram<'a> {
    Initiation(InitiationMessage<'a>),
    Response {
        receiver: u32,
        message: Handshake<'a>,
    },
    Transport(Transport<'a>),
    Cookie(CookieReply<'a>),
}

/// Parses a datagram, or returns the reason to reject it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Datagram<'_>, Reject> {
    match bytes.first() {
        None => Err(Reject::Truncated),
        Some(&INITIATION) => initiation(bytes).map(Datagram::Initiation),
        Some(&RESPONSE) => {
            check_length(bytes, RESPONSE_LEN)?;
            Ok(Datagram::Response {
                message: handshake(bytes, 5),
                receiver: receiver(bytes),
            })
        }
        Some(&COOKIE_REPLY) => cookie_reply(bytes).map(Datagram::Cookie),
        Some(first) if !is_transport(*first) => Err(Reject::UnknownType),
        Some(_) if bytes.len() < OVERHEAD => Err(Reject::Truncated),
        Some(first) => Ok(Datagram::Transport(transport(*first, bytes))),
    }
}

fn check_length(bytes: &[u8], len: usize) -> Result<(), Reject> {
    match bytes.len() {
        n if n < len => Err(Reject::Truncated),
        n if n > len => Err(Reject::Oversized),
        _ => Ok(()),
    }
}

fn initiation(bytes: &[u8]) -> Result<InitiationMessage<'_>, Reject> {
    check_length(bytes, INITIATION_LEN)?;
    let cookie_mac = Authenticator::split(bytes);
    let session_mac = Authenticator::split(cookie_mac.covered);
    Ok(InitiationMessage {
        handshake: handshake(session_mac.covered, 1),
        session_mac,
        cookie_mac,
    })
}

fn handshake(bytes: &[u8], header: usize) -> Handshake<'_> {
    let mac = Authenticator::split(bytes);
    Handshake {
        noise: &mac.covered[header..],
        mac,
    }
}

fn cookie_reply(bytes: &[u8]) -> Result<CookieReply<'_>, Reject> {
    check_length(bytes, COOKIE_REPLY_LEN)?;
    let (cookie, mac) = bytes[1..].split_at(MAC_LEN);
    Ok(CookieReply { cookie, mac })
}

fn receiver(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]])
}

fn transport(first: u8, bytes: &[u8]) -> Transport<'_> {
    Transport {
        receiver: receiver(bytes),
        path: first >> TYPE_BITS,
        counter: u64::from_be_bytes([0, 0, 0, 0, 0, bytes[5], bytes[6], bytes[7]]),
        sealed: &bytes[TRANSPORT_HEADER..],
    }
}

/// Writes the header of a transport datagram.
pub(crate) fn write_transport_header(out: &mut [u8], receiver: u32, nonce: Nonce) {
    let [.., a, b, c] = truncate(nonce.counter, BITS).to_be_bytes();
    out[0] = path_bits(nonce.path) << TYPE_BITS | TRANSPORT;
    out[1..5].copy_from_slice(&receiver.to_be_bytes());
    out[5..TRANSPORT_HEADER].copy_from_slice(&[a, b, c]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_match_the_specification() {
        assert_eq!((OVERHEAD, INITIATION_LEN, RESPONSE_LEN), (24, 170, 102));
    }

    #[test]
    fn malformed_datagrams_are_rejected_with_a_reason() {
        assert_eq!(parse(&[]), Err(Reject::Truncated));
        assert_eq!(parse(&[0; 40]), Err(Reject::UnknownType));
        assert_eq!(parse(&[TRANSPORT; 23]), Err(Reject::Truncated));
        assert_eq!(parse(&[INITIATION; 169]), Err(Reject::Truncated));
        assert_eq!(parse(&[RESPONSE; 103]), Err(Reject::Oversized));
        assert_eq!(parse(&[COOKIE_REPLY; 32]), Err(Reject::Truncated));
    }

    /// Nonces with counters of `BITS` bits are the numbers below 2^(8 + `BITS`), each once.
    fn check_all_nonces<const BITS: u32>() {
        let counters = (0..=u8::MAX).flat_map(|path| (0..1 << BITS).map(move |n| (path, n)));
        for (number, (path, counter)) in (0..).zip(counters) {
            let path = PathId(path);
            assert_eq!(Nonce { path, counter }.pack::<BITS>(), number);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn no_two_nonces_of_short_counters_are_equal() {
        check_all_nonces::<0>();
        check_all_nonces::<1>();
        check_all_nonces::<5>();
        check_all_nonces::<8>();
    }

    /// The specification: the reason for which a datagram of this type and length is rejected.
    fn expected(kind: Option<u8>, len: usize) -> Option<Reject> {
        let (least, most) = match kind {
            None => return Some(Reject::Truncated),
            Some(INITIATION) => (INITIATION_LEN, INITIATION_LEN),
            Some(RESPONSE) => (RESPONSE_LEN, RESPONSE_LEN),
            Some(kind) if kind % 8 == TRANSPORT => (OVERHEAD, usize::MAX),
            Some(COOKIE_REPLY) => (COOKIE_REPLY_LEN, COOKIE_REPLY_LEN),
            Some(_) => return Some(Reject::UnknownType),
        };
        match len {
            len if len < least => Some(Reject::Truncated),
            len if len > most => Some(Reject::Oversized),
            _ => None,
        }
    }

    /// The bytes behind the type of a parsed datagram, in their order.
    fn fields(datagram: &Datagram<'_>) -> Vec<u8> {
        match datagram {
            Datagram::Initiation(message) => {
                let macs = [message.session_mac.mac, message.cookie_mac.mac];
                [
                    message.handshake.noise,
                    message.handshake.mac.mac,
                    macs[0],
                    macs[1],
                ]
                .concat()
            }
            Datagram::Response { receiver, message } => {
                [&receiver.to_be_bytes(), message.noise, message.mac.mac].concat()
            }
            Datagram::Transport(transport) => {
                let mut header = [0; TRANSPORT_HEADER];
                let nonce = transport.nonce(PathId(transport.path), 0).unwrap();
                write_transport_header(&mut header, transport.receiver, nonce);
                [&header[1..], transport.sealed].concat()
            }
            Datagram::Cookie(reply) => [reply.cookie, reply.mac].concat(),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn every_type_and_length_is_parsed_without_losing_a_byte() {
        let bytes: Vec<u8> = (0..INITIATION_LEN + 3)
            .map(|at| (at * 7 + 3).to_le_bytes()[0])
            .collect();
        for len in 0..bytes.len() {
            let mut bytes = bytes[..len].to_vec();
            for kind in 0..=u8::MAX {
                if let Some(first) = bytes.first_mut() {
                    *first = kind;
                }
                match (parse(&bytes), expected(bytes.first().copied(), len)) {
                    (Ok(datagram), None) => assert_eq!(fields(&datagram), bytes[1..]),
                    (parsed, reason) => assert_eq!(parsed.err(), reason, "{kind}, {len} B"),
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_transport_header_round_trips(
            receiver: u32,
            path: u8,
            counter in 0..COUNTER_MAX,
            ahead in BEHIND.cast_signed() - (1_i64 << 24) + 1..=BEHIND.cast_signed(),
            sealed in prop::collection::vec(any::<u8>(), TAG_LEN..64),
        ) {
            let nonce = Nonce { path: PathId(path), counter };
            let mut bytes = vec![0; TRANSPORT_HEADER];
            write_transport_header(&mut bytes, receiver, nonce);
            bytes.extend(&sealed);
            let Ok(Datagram::Transport(transport)) = parse(&bytes) else {
                return Err(TestCaseError::fail("no transport datagram"));
            };
            prop_assert_eq!((transport.receiver, transport.sealed), (receiver, &sealed[..]));
            let next = counter.saturating_add_signed(ahead);
            prop_assert_eq!(transport.nonce(nonce.path, next), Ok(nonce));
            let other = PathId(path.wrapping_add(1));
            prop_assert_eq!(transport.nonce(other, next), Err(Reject::WrongPath));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
