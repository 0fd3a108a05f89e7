//! The format of the file of vectors.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes, in the file as hexadecimal digits. Integers of 64 bits are eight bytes, big-endian: many
/// readers of JSON have no integers above 2^53.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hex(pub(super) Vec<u8>);

impl<T: AsRef<[u8]>> From<T> for Hex {
    fn from(bytes: T) -> Self {
        Self(bytes.as_ref().to_vec())
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits: Vec<String> = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&digits.concat())
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let starts = (0..text.len()).step_by(2);
        let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2).unwrap_or_default(), 16);
        let bytes: Result<Vec<u8>, _> = starts.map(byte).collect();
        Ok(Self(bytes.map_err(D::Error::custom)?))
    }
}

/// All vectors.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Vectors {
    pub(super) noise: String,
    pub(super) prologue: String,
    /// Static keys by the name of their owner.
    pub(super) keys: BTreeMap<String, KeyPairVector>,
    pub(super) sessions: Vec<SessionVector>,
    pub(super) relayed: RelayedVector,
    pub(super) truncated: Vec<TruncatedVector>,
    pub(super) frames: Vec<FrameVector>,
    pub(super) rejected_frames: Vec<RejectedFrame>,
    pub(super) fragments: FragmentsVector,
    pub(super) coded: Vec<CodedVector>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeyPairVector {
    pub(super) private: Hex,
    pub(super) public: Hex,
}

/// A handshake and the datagrams under its keys, in the order of their reception.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SessionVector {
    pub(super) name: String,
    /// The session of the same two nodes that this one renews.
    pub(super) renews: Option<String>,
    pub(super) initiator: String,
    pub(super) responder: String,
    pub(super) psk: Hex,
    pub(super) cookie_reply: Option<CookieVector>,
    pub(super) initiation: InitiationVector,
    pub(super) response: ResponseVector,
    pub(super) transport: Vec<TransportVector>,
    /// Received after `transport`.
    pub(super) rejected: Vec<Rejected>,
    /// Received after `rejected`, which must not have changed anything.
    pub(super) accepted_after: Vec<TransportVector>,
}

/// The description of a node in a handshake message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InfoVector {
    pub(super) index: u32,
    pub(super) instance: Hex,
    pub(super) features: u32,
    pub(super) paths: u8,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InitiationVector {
    pub(super) ephemeral_private: Hex,
    pub(super) timestamp: Hex,
    pub(super) info: InfoVector,
    /// The secret that keys the session MAC.
    pub(super) session_secret: Option<Hex>,
    /// The cookie that keys the cookie MAC.
    pub(super) cookie: Option<Hex>,
    pub(super) datagram: Hex,
    /// Received by the responder before `datagram`, which it accepts all the same.
    pub(super) rejected: Vec<Rejected>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ResponseVector {
    pub(super) ephemeral_private: Hex,
    pub(super) info: InfoVector,
    pub(super) secret: Hex,
    pub(super) datagram: Hex,
    /// Received by the initiator before `datagram`, which it accepts all the same.
    pub(super) rejected: Vec<Rejected>,
}

/// The reply of a responder without budget to `initiation`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CookieVector {
    /// The initiation without a cookie MAC.
    pub(super) initiation: Hex,
    /// The source of the initiation, as text and as a cookie covers it.
    pub(super) source: String,
    pub(super) source_bytes: Hex,
    /// The secret of the responder.
    pub(super) secret: Hex,
    pub(super) datagram: Hex,
    /// Received by the initiator before `datagram`.
    pub(super) rejected: Vec<Rejected>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TransportVector {
    pub(super) name: String,
    pub(super) sender: String,
    pub(super) path: u8,
    pub(super) counter: u64,
    pub(super) plaintext: Hex,
    pub(super) datagram: Hex,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Rejected {
    pub(super) name: String,
    pub(super) receiver: String,
    /// The path on which it is received.
    pub(super) path: u8,
    pub(super) datagram: Hex,
    pub(super) reason: String,
}

/// A datagram of `a` to `b` by way of relay `r`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RelayedVector {
    /// The sessions of `a` and of `b` with `r`.
    pub(super) sessions: Vec<SessionVector>,
    /// A datagram of the first session of `a` with `b`.
    pub(super) inner: Hex,
    /// `inner`, sealed by `a` for `r`.
    pub(super) to_relay: TransportVector,
    /// `inner`, sealed by `r` for `b`.
    pub(super) from_relay: TransportVector,
}

/// The only number of the 2^`bits` from `lowest` on that ends with the bits `truncated`, if it has 64
/// bits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TruncatedVector {
    pub(super) bits: u32,
    pub(super) truncated: Hex,
    pub(super) lowest: Hex,
    pub(super) number: Option<Hex>,
}

/// A frame and its fields, of which the numbers are truncated.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FrameVector {
    pub(super) name: String,
    pub(super) kind: u8,
    pub(super) epoch: u8,
    pub(super) sequence: Hex,
    pub(super) sent: Hex,
    pub(super) body: Hex,
    pub(super) bytes: Hex,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RejectedFrame {
    pub(super) name: String,
    pub(super) bytes: Hex,
}

/// A packet, and its fragments, of which any `needed` restore it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CodedVector {
    pub(super) packet: Hex,
    pub(super) needed: u8,
    pub(super) fragments: Vec<Hex>,
}

/// An IPv4 packet, and its fragments of at most `limit` bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FragmentsVector {
    pub(super) packet: Hex,
    pub(super) limit: u16,
    pub(super) fragments: Vec<Hex>,
}
