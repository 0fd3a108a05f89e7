//! Packets that leave in fragments.

use alloc::vec::Vec;

use super::Sender;
use crate::fragment::{Code, FragmentHeader};
use crate::frame::{Body, PathId, Payload};
use crate::policy::Plan;

/// A fragment and the path that carries it.
pub(super) struct PathFragment<P> {
    pub(super) path: PathId,
    pub(super) body: Body<P>,
}

/// The fragments of a packet on the paths of its plan, in their order. `None` if copies are to be
/// sent: on a single path, and of a packet that cannot be split.
#[cold]
pub(super) fn split<P: Payload>(plan: &Plan, packet: &P) -> Option<Vec<PathFragment<P>>> {
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

impl<P: Payload> Sender<P> {
    /// Notes whether the peer restores packets from fragments; otherwise it gets copies.
    pub(in super::super) fn on_peer_fragments(&mut self, restores: bool) {
        self.peer_restores = restores;
    }
}
