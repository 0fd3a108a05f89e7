//! The frames in datagrams of the peer, and the ECN field of the packets in them (RFC 6040).

use bytes::{Bytes, BytesMut};
use polypath_core::frame::{Body, Frame, PathId};
use polypath_core::packet::{self, Ecn};
use polypath_core::time::Time;
use polypath_core::wire;

use super::Tunnel;
use crate::event::Reject;

impl Tunnel {
    /// Decodes a frame of the peer, whose packet shares the memory of `bytes` unless it gets the
    /// mark of its datagram, whose ECN field was `outer`. The session has verified `path`.
    pub(super) fn decode(
        &mut self,
        now: Time,
        path: PathId,
        outer: Ecn,
        bytes: &Bytes,
    ) -> Result<Frame<Bytes>, Reject> {
        let mut frame = wire::decode(path, bytes).map_err(|_| Reject::Malformed)?;
        let expanded = self.numbers.expand(now, &mut frame);
        expanded.map_err(|_| Reject::Malformed)?;
        let packet = frame.body.payload();
        let ecn = packet.map(|packet| new_ecn(packet, outer)).transpose()?;
        let marked = match (packet, ecn.flatten()) {
            (Some(packet), Some(ecn)) => Some(with_ecn(packet, ecn)?),
            _ => None,
        };
        let mut body = frame.body.map_ref(|packet| {
            let unmarked = || bytes.slice_ref(packet);
            marked.clone().unwrap_or_else(unmarked)
        });
        if let Body::Fragment { header, .. } = &mut body {
            // Its packet has its own field, which is examined once the packet is restored.
            header.traffic_class.ecn = outer;
        }
        Ok(frame.carrying(path, body))
    }
}

/// The ECN field that a packet gets when it leaves its datagram, whose IP header had `outer`; none
/// if it keeps its own.
///
/// # Errors
/// [`Reject::WrongMark`] if the packet must be dropped.
fn new_ecn(packet: &[u8], outer: Ecn) -> Result<Option<Ecn>, Reject> {
    let inner = packet::ecn(packet);
    let ecn = inner.decapsulated(outer).ok_or(Reject::WrongMark)?;
    Ok((ecn != inner).then_some(ecn))
}

/// A copy of the packet with this ECN field: its bytes are shared with the frame.
///
/// # Errors
/// [`Reject::Malformed`] if its IP header is truncated.
fn with_ecn(packet: &[u8], ecn: Ecn) -> Result<Bytes, Reject> {
    let mut bytes = BytesMut::from(packet);
    if packet::set_ecn(&mut bytes, ecn) {
        Ok(bytes.freeze())
    } else {
        Err(Reject::Malformed)
    }
}
