//! Datagrams that a node has sent.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_session::address::Source;
use polypath_session::datagram::{INITIATION, RECEIVER_OFFSET, RESPONSE, is_transport};

use crate::world::NodeId;

/// A datagram that a node has sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) from: NodeId,
    /// The run of the sender: the number of its restarts before.
    pub(crate) run: u8,
    pub(crate) path: PathId,
    pub(crate) bytes: Bytes,
    pub(crate) source: Source,
    pub(crate) destination: Source,
    /// The number of times it has arrived and had an effect.
    pub(crate) deliveries: u8,
    /// The index under which the sender of a response knows the keys.
    pub(crate) answered_with: Option<u32>,
}

impl Sent {
    /// The receiver's index of a response or a transport datagram.
    pub(crate) fn receiver(&self) -> u32 {
        let mut index = [0; 4];
        index.copy_from_slice(&self.bytes[RECEIVER_OFFSET..][..4]);
        u32::from_be_bytes(index)
    }

    pub(crate) fn is_response(&self) -> bool {
        self.bytes[0] == RESPONSE
    }

    pub(crate) fn is_transport(&self) -> bool {
        is_transport(self.bytes[0])
    }

    pub(crate) fn is_initiation(&self) -> bool {
        self.bytes[0] == INITIATION
    }
}
