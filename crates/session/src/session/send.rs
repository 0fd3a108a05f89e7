//! Frames for the peer: sealed and sent, or queued until the session is established.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::packet::TrafficClass;
use polypath_core::time::Time;

use super::{Output, QUEUE_LEN, Session};
use crate::event::SessionEvent;
use crate::keypair::KeyPair;

/// A frame that waits for keys.
pub(super) struct QueuedFrame {
    pub(super) path: PathId,
    pub(super) frame: Bytes,
    pub(super) traffic_class: TrafficClass,
}

impl Session {
    /// Seals `frame` for `path`, in a datagram of this traffic class, or queues it until the session
    /// is established.
    pub(crate) fn seal(
        &mut self,
        now: Time,
        path: PathId,
        frame: &[u8],
        traffic_class: TrafficClass,
        out: &mut impl FnMut(Output),
    ) {
        if self.keys.current.is_none() {
            let queued = QueuedFrame {
                path,
                frame: Bytes::copy_from_slice(frame),
                traffic_class,
            };
            return self.queue(queued, out);
        }
        if self.send_sealed(path, frame, traffic_class, out) {
            self.counters.sealed += 1;
            self.hellos.on_sent(now);
        } else {
            self.discard(out);
        }
        let is_exhausted = |pair: &KeyPair| pair.sent() >= self.limits.rekey_after_count;
        if self.keys.current.as_ref().is_some_and(is_exhausted) {
            self.attempts.schedule_rekey(now);
        }
    }

    fn queue(&mut self, frame: QueuedFrame, out: &mut impl FnMut(Output)) {
        if self.queued.len() == QUEUE_LEN {
            self.queued.pop_front();
            self.discard(out);
        }
        self.queued.push_back(frame);
    }

    /// Counts a frame that is dropped.
    pub(crate) fn discard(&mut self, out: &mut impl FnMut(Output)) {
        self.counters.discarded += 1;
        out(Output::Event(SessionEvent::Discarded));
    }

    /// Returns false if the frame is too long for a datagram, the path unknown or the counter
    /// exhausted.
    pub(super) fn send_sealed(
        &mut self,
        path: PathId,
        frame: &[u8],
        traffic_class: TrafficClass,
        out: &mut impl FnMut(Output),
    ) -> bool {
        let pair = self.keys.current.as_mut();
        let Some(datagram) = pair.and_then(|pair| pair.seal(path, frame, &mut self.arena)) else {
            return false;
        };
        out(Output::Send {
            path,
            datagram,
            traffic_class,
        });
        true
    }
}
