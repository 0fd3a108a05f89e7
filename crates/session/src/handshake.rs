//! The two messages of the Noise IK handshake, and the checks before a response.

use bytes::Bytes;
use snow::{HandshakeState, StatelessTransportState};

use crate::datagram::{
    COOKIE_MAC_OFFSET, HANDSHAKE_INFO_LEN, Handshake, INITIATION, INITIATION_LEN,
    INITIATION_PAYLOAD, RESPONSE, RESPONSE_LEN, RESPONSE_PAYLOAD, SESSION_MAC_OFFSET,
};
use crate::event::Reject;
use crate::key::PublicKey;
use crate::mac::{MAC_LEN, MacKey, Tag};
use crate::noise::{Ephemeral, StaticKeys};
use zeroize::Zeroizing;

/// The feature bit of a node that reports which packets arrive ([`polypath_core::repair`]), and so
/// understands frames of the kinds 6 to 9.
pub(crate) const REPORTS: u32 = 1;
/// The feature bit of a node that sends nothing on a path which its peer closes
/// ([`polypath_core::metering`]), and so understands frames of the kind 10.
pub(crate) const CLOSED_PATHS: u32 = 2;
/// The feature bit of a node or relay that passes on the ECN fields of the datagrams which it
/// receives: a node to the packets in them (RFC 6040), a relay to the datagrams that it forwards.
pub(crate) const ECN: u32 = 4;
/// The feature bit of a node that restores packets from fragments ([`polypath_core::fragment`]),
/// and so understands frames of the kind 11.
pub(crate) const FRAGMENTS: u32 = 8;

/// The feature bit of a node that gives feedback on spaced packets ([`polypath_core::spacing`]), and
/// so understands frames of the kind 12.
pub(crate) const SPACING: u32 = 16;

/// The feature bits of a node or relay, which has that of [`ECN`] only if its driver receives the
/// field.
pub(crate) const fn features(receives_ecn: bool) -> u32 {
    let ecn = if receives_ecn { ECN } else { 0 };
    REPORTS | CLOSED_PATHS | FRAGMENTS | SPACING | ecn
}

/// The names of features, as the statistics of a node have them.
const FEATURES: [(u32, &str); 5] = [
    (REPORTS, "reports"),
    (CLOSED_PATHS, "closed-paths"),
    (ECN, "ecn"),
    (FRAGMENTS, "fragments"),
    (SPACING, "spacing"),
];

/// The names of the features in `bits`.
pub(crate) fn feature_names(bits: u32) -> impl Iterator<Item = &'static str> {
    let is_set = move |(feature, _): &(u32, &str)| bits & feature != 0;
    FEATURES.into_iter().filter(is_set).map(|(_, name)| name)
}

/// The description of a node in a handshake message, encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandshakeInfo {
    /// The receiver index of its keys.
    pub(crate) index: u32,
    /// A random number drawn at its start: a different one means that it has restarted, whatever
    /// its clock shows.
    pub(crate) instance: u64,
    /// The bits of the protocol's features that it supports.
    pub(crate) features: u32,
    /// The number of its paths.
    pub(crate) paths: u8,
}

/// The decrypted payload of a response.
pub(crate) struct ResponsePayload {
    pub(crate) remote: HandshakeInfo,
    secret: Zeroizing<Tag>,
}

/// The keys of a completed handshake, and the description of the peer.
pub(crate) struct CompletedHandshake {
    pub(crate) remote: HandshakeInfo,
    pub(crate) transport: StatelessTransportState,
    /// The key of the session MAC in later initiations.
    pub(crate) session_mac: MacKey,
}

/// An initiation of this node, pending until its response is received.
pub(crate) struct Initiation {
    pub(crate) index: u32,
    /// The datagram, without a cookie MAC.
    pub(crate) datagram: Bytes,
    state: HandshakeState,
}

impl Initiation {
    /// Writes an initiation with the wall-clock time `timestamp`, in nanoseconds since 1970, and
    /// with a session MAC if an earlier session gave its key.
    pub(crate) fn write(
        static_keys: &StaticKeys,
        mac: &MacKey,
        session_mac: Option<&MacKey>,
        ephemeral: Ephemeral,
        timestamp: u64,
        own: HandshakeInfo,
    ) -> Result<Self, snow::Error> {
        let mut state = static_keys.initiator(ephemeral)?;
        let mut payload = [0; INITIATION_PAYLOAD];
        payload[..8].copy_from_slice(&timestamp.to_be_bytes());
        payload[8..].copy_from_slice(&own.to_bytes());
        let mut bytes = vec![0; INITIATION_LEN];
        bytes[0] = INITIATION;
        state.write_message(&payload, &mut bytes[1..SESSION_MAC_OFFSET - MAC_LEN])?;
        write_mac(&mut bytes[..SESSION_MAC_OFFSET], mac);
        if let Some(key) = session_mac {
            write_mac(&mut bytes[..COOKIE_MAC_OFFSET], key);
        }
        Ok(Self {
            index: own.index,
            datagram: bytes.into(),
            state,
        })
    }

    /// The datagram with a cookie MAC.
    pub(crate) fn with_cookie(&self, cookie: &Tag) -> Bytes {
        let mut bytes = self.datagram.to_vec();
        write_mac(&mut bytes, &MacKey::from_short(cookie));
        bytes.into()
    }

    /// Its MAC, which a cookie reply covers.
    pub(crate) fn mac(&self) -> &[u8] {
        &self.datagram[SESSION_MAC_OFFSET - MAC_LEN..SESSION_MAC_OFFSET]
    }

    /// Decrypts the response; a forged one leaves the initiation unchanged.
    pub(crate) fn read_response(
        &mut self,
        response: &Handshake<'_>,
    ) -> Result<ResponsePayload, Reject> {
        let mut payload = Zeroizing::new([0; RESPONSE_LEN]);
        match self.state.read_message(response.noise, &mut *payload) {
            Ok(RESPONSE_PAYLOAD) => Ok(ResponsePayload::read(&*payload)),
            _ => Err(Reject::WrongResponse),
        }
    }

    /// Derives the keys, after the response was decrypted.
    pub(crate) fn complete(
        self,
        response: &ResponsePayload,
    ) -> Result<CompletedHandshake, snow::Error> {
        Ok(CompletedHandshake {
            remote: response.remote,
            transport: self.state.into_stateless_transport_mode()?,
            session_mac: MacKey::from_short(&response.secret),
        })
    }
}

/// A decrypted initiation, whose sender has proved its static key.
pub(crate) struct ReceivedInitiation {
    pub(crate) timestamp: u64,
    /// Its ephemeral key, which identifies it.
    pub(crate) ephemeral: [u8; 32],
    pub(crate) remote: HandshakeInfo,
    state: HandshakeState,
}

impl ReceivedInitiation {
    /// Decrypts an initiation, regardless of its sender.
    pub(crate) fn read(
        static_keys: &StaticKeys,
        ephemeral: Ephemeral,
        message: &Handshake<'_>,
    ) -> Result<Self, Reject> {
        let undecryptable = |_| Reject::Undecryptable;
        let mut state = static_keys.responder(ephemeral).map_err(undecryptable)?;
        let mut payload = [0; INITIATION_LEN];
        let len = state
            .read_message(message.noise, &mut payload)
            .map_err(undecryptable)?;
        if len != INITIATION_PAYLOAD {
            return Err(Reject::Truncated);
        }
        let mut timestamp = [0; 8];
        timestamp.copy_from_slice(&payload[..8]);
        Ok(Self {
            timestamp: u64::from_be_bytes(timestamp),
            ephemeral: message.ephemeral(),
            remote: HandshakeInfo::read(&payload[8..]),
            state,
        })
    }

    /// Whether `peer` sent it.
    pub(crate) fn is_from(&self, peer: &PublicKey) -> bool {
        self.state.get_remote_static() == Some(&peer.0[..])
    }

    /// Writes the response, which describes this node and contains `secret`, and derives the keys.
    pub(crate) fn respond(
        mut self,
        mac: &MacKey,
        own: HandshakeInfo,
        secret: &Tag,
    ) -> Result<(Bytes, CompletedHandshake), snow::Error> {
        let mut bytes = vec![0; RESPONSE_LEN];
        bytes[0] = RESPONSE;
        bytes[1..5].copy_from_slice(&self.remote.index.to_be_bytes());
        let mut payload = Zeroizing::new([0; RESPONSE_PAYLOAD]);
        payload[..HANDSHAKE_INFO_LEN].copy_from_slice(&own.to_bytes());
        payload[HANDSHAKE_INFO_LEN..].copy_from_slice(secret);
        self.state.write_message(&*payload, &mut bytes[5..])?;
        write_mac(&mut bytes, mac);
        let completed = CompletedHandshake {
            remote: self.remote,
            transport: self.state.into_stateless_transport_mode()?,
            session_mac: MacKey::from_short(secret),
        };
        Ok((bytes.into(), completed))
    }
}

impl HandshakeInfo {
    fn to_bytes(self) -> [u8; HANDSHAKE_INFO_LEN] {
        let mut bytes = [0; HANDSHAKE_INFO_LEN];
        bytes[..4].copy_from_slice(&self.index.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.instance.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.features.to_be_bytes());
        bytes[16] = self.paths;
        bytes
    }

    /// Parses the first [`HANDSHAKE_INFO_LEN`] bytes of `bytes`.
    fn read(bytes: &[u8]) -> Self {
        let (mut index, mut instance, mut features) = ([0; 4], [0; 8], [0; 4]);
        index.copy_from_slice(&bytes[..4]);
        instance.copy_from_slice(&bytes[4..12]);
        features.copy_from_slice(&bytes[12..16]);
        Self {
            index: u32::from_be_bytes(index),
            instance: u64::from_be_bytes(instance),
            features: u32::from_be_bytes(features),
            paths: bytes[16],
        }
    }
}

impl ResponsePayload {
    /// Parses the first [`RESPONSE_PAYLOAD`] bytes of `bytes`.
    fn read(bytes: &[u8]) -> Self {
        let mut secret = Zeroizing::new(Tag::default());
        secret.copy_from_slice(&bytes[HANDSHAKE_INFO_LEN..RESPONSE_PAYLOAD]);
        Self {
            remote: HandshakeInfo::read(bytes),
            secret,
        }
    }
}

/// Writes a MAC at the end of `bytes`, over those before it.
fn write_mac(bytes: &mut [u8], key: &MacKey) {
    let covered = bytes.len() - MAC_LEN;
    let tag = key.tag(&[&bytes[..covered]]);
    bytes[covered..].copy_from_slice(&tag);
}
