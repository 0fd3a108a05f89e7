//! Packets that leave in fragments.

use alloc::vec::Vec;

use super::Sender;
use crate::fragment::{Code, FragmentHeader};
use crate::frame::{Body, PathId, Payload};
use crate::policy::Plan;

/// The state of a sender of fragments.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragmentation {
    /// The peer does not restore packets.
    is_unknown_to_peer: bool,
}

/// A fragment and the path that carries it.
pub(super) struct PathFragment<P> {
    pub(super) path: PathId,
    pub(super) body: Body<P>,
}

impl Fragmentation {
    /// The fragments of a packet on the paths of its plan, in their order. `None` if copies are to
    /// be sent: to a peer that does not restore packets, on a single path, and of a packet that
    /// cannot be split.
    #[cold]
    pub(super) fn split<P: Payload>(
        &self,
        plan: &Plan,
        packet: &P,
    ) -> Option<Vec<PathFragment<P>>> {
        if self.is_unknown_to_peer {
            return None;
        }
        let total = u8::try_from(plan.copies.len()).ok()?;
        let code = Code::new(plan.needed.min(total), total).ok()?;
        let packet_len = u16::try_from(packet.len()).ok().filter(|len| *len > 0)?;
        let traffic_class = packet.traffic_class();
        let payloads = packet.split(code)?;
        let fragment = |((index, path), payload)| PathFragment {
            path,
            body: Body::Fragment {
                header: FragmentHeader {
                    code,
                    index,
                    packet_len,
                    traffic_class,
                },
                payload,
            },
        };
        let places = (0..).zip(plan.copies);
        Some(places.zip(payloads).map(fragment).collect())
    }
}

impl<P: Payload> Sender<P> {
    /// Takes note of whether the peer restores packets from fragments.
    pub(in super::super) fn on_peer_fragments(&mut self, restores: bool) {
        self.fragmentation.is_unknown_to_peer = !restores;
    }
}
