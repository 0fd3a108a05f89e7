//! The two messages of Noise IK, with the checks that come before any answer.

use bytes::Bytes;
use snow::{HandshakeState, StatelessTransportState};

use crate::datagram::{
    Handshake, INITIATION, INITIATION_LEN, INITIATION_PAYLOAD, RESPONSE, RESPONSE_LEN,
    RESPONSE_PAYLOAD,
};
use crate::event::Reject;
use crate::key::PublicKey;
use crate::noise::{Ephemeral, Identity, MAC_LEN, Mac};

/// What an end says of itself in a handshake, sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Introduction {
    /// The index by which it knows the keys.
    pub(crate) index: u32,
    /// A random number that it drew once: another one tells that it has started anew, whatever its clock shows.
    pub(crate) instance: u64,
    /// How many paths it has.
    pub(crate) paths: u8,
}

/// The keys of a finished handshake and what the other end said of itself.
pub(crate) struct Agreed {
    pub(crate) remote: Introduction,
    pub(crate) transport: StatelessTransportState,
}

/// An initiation under way.
pub(crate) struct Initiation {
    pub(crate) index: u32,
    pub(crate) datagram: Bytes,
    state: HandshakeState,
}

impl Initiation {
    /// Writes an initiation at the wall-clock time `timestamp`, in ns since 1970.
    pub(crate) fn begin(
        identity: &Identity,
        mac: &mut Mac,
        ephemeral: Ephemeral,
        timestamp: u64,
        own: Introduction,
    ) -> Result<Self, snow::Error> {
        let mut state = identity.initiator(ephemeral)?;
        let mut payload = [0; INITIATION_PAYLOAD];
        payload[..8].copy_from_slice(&timestamp.to_be_bytes());
        payload[8..].copy_from_slice(&own.to_bytes());
        let mut bytes = vec![0; INITIATION_LEN];
        bytes[0] = INITIATION;
        state.write_message(&payload, &mut bytes[1..])?;
        finish(&mut bytes, mac);
        Ok(Self {
            index: own.index,
            datagram: bytes.into(),
            state,
        })
    }

    /// Reads the response; a forged one leaves the initiation as it was.
    pub(crate) fn read(&mut self, response: &Handshake<'_>) -> Result<Introduction, Reject> {
        let mut payload = [0; RESPONSE_LEN];
        match self.state.read_message(response.noise, &mut payload) {
            Ok(RESPONSE_PAYLOAD) => Ok(Introduction::read(&payload)),
            _ => Err(Reject::Undecryptable),
        }
    }

    /// Takes the keys after the response was read.
    pub(crate) fn into_agreed(self, remote: Introduction) -> Result<Agreed, snow::Error> {
        let transport = self.state.into_stateless_transport_mode()?;
        Ok(Agreed { remote, transport })
    }
}

/// An initiation that whoever wrote it has proved to be its own.
pub(crate) struct Opened {
    pub(crate) timestamp: u64,
    /// Its ephemeral key, which names it.
    pub(crate) ephemeral: [u8; 32],
    remote: Introduction,
    state: HandshakeState,
}

impl Opened {
    /// Opens an initiation, of whomever it is.
    pub(crate) fn read(
        identity: &Identity,
        ephemeral: Ephemeral,
        message: &Handshake<'_>,
    ) -> Result<Self, Reject> {
        let undecryptable = |_| Reject::Undecryptable;
        let mut state = identity.responder(ephemeral).map_err(undecryptable)?;
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
            remote: Introduction::read(&payload[8..]),
            state,
        })
    }

    /// Whether it is that of `peer`.
    pub(crate) fn is_of(&self, peer: &PublicKey) -> bool {
        self.state.get_remote_static() == Some(&peer.0[..])
    }

    /// Writes the response, which introduces this end, and takes the keys.
    pub(crate) fn answer(
        mut self,
        mac: &mut Mac,
        own: Introduction,
    ) -> Result<(Bytes, Agreed), snow::Error> {
        let mut bytes = vec![0; RESPONSE_LEN];
        bytes[0] = RESPONSE;
        bytes[1..5].copy_from_slice(&self.remote.index.to_be_bytes());
        self.state.write_message(&own.to_bytes(), &mut bytes[5..])?;
        finish(&mut bytes, mac);
        let agreed = Agreed {
            remote: self.remote,
            transport: self.state.into_stateless_transport_mode()?,
        };
        Ok((bytes.into(), agreed))
    }
}

impl Introduction {
    fn to_bytes(self) -> [u8; RESPONSE_PAYLOAD] {
        let mut bytes = [0; RESPONSE_PAYLOAD];
        bytes[..4].copy_from_slice(&self.index.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.instance.to_be_bytes());
        bytes[12] = self.paths;
        bytes
    }

    /// Reads the first [`RESPONSE_PAYLOAD`] of `bytes`.
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

/// Writes the MAC behind a message.
fn finish(bytes: &mut [u8], mac: &mut Mac) {
    let covered = bytes.len() - MAC_LEN;
    let tag = mac.of(&bytes[..covered]);
    bytes[covered..].copy_from_slice(&tag);
}
