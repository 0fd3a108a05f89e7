//! The way of a frame from the endpoint to a datagram.

use bytes::Bytes;
use polypath_core::frame::{Frame, FrameKind, PathId};
use polypath_core::packet::{Ecn, TrafficClass};
use polypath_core::time::Time;
use polypath_core::wire::{self, Numbers};

use super::closed::ClosedPaths;
use super::forward;
use super::io::Output;
use super::relays::RelaySessions;
use crate::handshake::{CLOSED_PATHS, ECN, SPACING};
use crate::session::Session;

/// The parts of a tunnel that a frame passes through.
pub(super) struct Outgoing<'a> {
    pub(super) session: &'a mut Session,
    pub(super) relays: &'a mut RelaySessions,
    pub(super) numbers: &'a mut Numbers,
    pub(super) scratch: &'a mut Vec<u8>,
    pub(super) closed: ClosedPaths,
}

impl Outgoing<'_> {
    /// Whether a frame counts only now and cannot be sent, or is of a kind that the peer does not know.
    pub(super) fn is_useless(&self, kind: FrameKind, path: PathId) -> bool {
        let is_sent = self.session.can_send(path) && self.relays.can_send(path);
        let needed = match kind {
            FrameKind::PathClosed => CLOSED_PATHS,
            FrameKind::Spacing => SPACING,
            _ => 0,
        };
        let is_unknown = self.session.features() & needed != needed;
        (must_be_sent_now(kind) && !is_sent) || is_unknown
    }

    /// Encodes, seals and sends a frame.
    pub(super) fn transmit(
        &mut self,
        now: Time,
        frame: &Frame<Bytes>,
        out: &mut impl FnMut(Output),
    ) {
        let traffic_class = self.traffic_class(frame);
        self.scratch.clear();
        self.numbers.on_sent(frame);
        wire::encode(frame, self.scratch);
        // The endpoint does not send on closed paths, but sealing may start a handshake.
        let closed = self.closed.without(frame.path);
        let relays = &mut *self.relays;
        let forward = &mut |output| {
            if !closed.forbid(&output) {
                forward(now, output, relays, out);
            }
        };
        self.session
            .seal(now, frame.path, self.scratch, traffic_class, forward);
    }

    /// That of the packet in the frame; not ECN-capable where a mark would be lost.
    fn traffic_class(&self, frame: &Frame<Bytes>) -> TrafficClass {
        let of_packet = frame.body.traffic_class();
        if self.session.features() & ECN == 0 || !self.relays.passes_on_ecn(frame.path) {
            return TrafficClass {
                ecn: Ecn::NotEct,
                ..of_packet
            };
        }
        of_packet
    }
}

/// Whether a frame is useful only if it is sent immediately.
const fn must_be_sent_now(kind: FrameKind) -> bool {
    matches!(
        kind,
        FrameKind::Heartbeat
            | FrameKind::HeartbeatReply
            | FrameKind::Report
            | FrameKind::PathClosed
            | FrameKind::Spacing
    )
}
