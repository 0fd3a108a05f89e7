//! The two messages of the Noise IK handshake, and the checks before a response.

use bytes::Bytes;
use snow::{HandshakeState, StatelessTransportState};

use crate::datagram::{
    Handshake, INITIATION, INITIATION_LEN, INITIATION_PAYLOAD, RESPONSE, RESPONSE_LEN,
    RESPONSE_PAYLOAD,
};
use crate::event::Reject;
use crate::key::PublicKey;
use crate::noise::{Ephemeral, MAC_LEN, Mac, StaticKeys};

/// The description of a node in a handshake message, encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandshakeInfo {
    /// The receiver index of its keys.
    pub(crate) index: u32,
    /// A random number drawn at its start: a different one means that it has restarted, whatever
    /// its clock shows.
    pub(crate) instance: u64,
    /// The number of its paths.
    pub(crate) paths: u8,
}

/// The keys of a completed handshake, and the description of the peer.
pub(crate) struct CompletedHandshake {
    pub(crate) remote: HandshakeInfo,
    pub(crate) transport: StatelessTransportState,
}

/// An initiation of this node, pending until its response is received.
pub(crate) struct Initiation {
    pub(crate) index: u32,
    pub(crate) datagram: Bytes,
    state: HandshakeState,
}

impl Initiation {
    /// Writes an initiation with the wall-clock time `timestamp`, in nanoseconds since 1970.
    pub(crate) fn write(
        static_keys: &StaticKeys,
        mac: &mut Mac,
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
        state.write_message(&payload, &mut bytes[1..])?;
        write_mac(&mut bytes, mac);
        Ok(Self {
            index: own.index,
            datagram: bytes.into(),
            state,
        })
    }

    /// Decrypts the response; a forged one leaves the initiation unchanged.
    pub(crate) fn read_response(
        &mut self,
        response: &Handshake<'_>,
    ) -> Result<HandshakeInfo, Reject> {
        let mut payload = [0; RESPONSE_LEN];
        match self.state.read_message(response.noise, &mut payload) {
            Ok(RESPONSE_PAYLOAD) => Ok(HandshakeInfo::read(&payload)),
            _ => Err(Reject::Undecryptable),
        }
    }

    /// Derives the keys, after the response was decrypted.
    pub(crate) fn complete(self, remote: HandshakeInfo) -> Result<CompletedHandshake, snow::Error> {
        let transport = self.state.into_stateless_transport_mode()?;
        Ok(CompletedHandshake { remote, transport })
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

    /// Writes the response, which describes this node, and derives the keys.
    pub(crate) fn respond(
        mut self,
        mac: &mut Mac,
        own: HandshakeInfo,
    ) -> Result<(Bytes, CompletedHandshake), snow::Error> {
        let mut bytes = vec![0; RESPONSE_LEN];
        bytes[0] = RESPONSE;
        bytes[1..5].copy_from_slice(&self.remote.index.to_be_bytes());
        self.state.write_message(&own.to_bytes(), &mut bytes[5..])?;
        write_mac(&mut bytes, mac);
        let completed = CompletedHandshake {
            remote: self.remote,
            transport: self.state.into_stateless_transport_mode()?,
        };
        Ok((bytes.into(), completed))
    }
}

impl HandshakeInfo {
    fn to_bytes(self) -> [u8; RESPONSE_PAYLOAD] {
        let mut bytes = [0; RESPONSE_PAYLOAD];
        bytes[..4].copy_from_slice(&self.index.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.instance.to_be_bytes());
        bytes[12] = self.paths;
        bytes
    }

    /// Parses the first [`RESPONSE_PAYLOAD`] bytes of `bytes`.
    fn read(bytes: &[u8]) -> Self {
        let (mut index, mut instance) = ([0; 4], [0; 8]);
        index.copy_from_slice(&bytes[..4]);
        instance.copy_from_slice(&bytes[4..12]);
        Self {
            index: u32::from_be_bytes(index),
            instance: u64::from_be_bytes(instance),
            paths: bytes[12],
        }
    }
}

/// Writes the MAC at the end of a message.
fn write_mac(bytes: &mut [u8], mac: &mut Mac) {
    let covered = bytes.len() - MAC_LEN;
    let tag = mac.tag(&bytes[..covered]);
    bytes[covered..].copy_from_slice(&tag);
}
