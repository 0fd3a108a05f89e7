//! The paths of a sender that have reached their limits ([`crate::metering`]).

use super::super::io::Output;
use super::{BlockedPaths, Sender};
use crate::frame::{Body, Frame, PathId, Payload};
use crate::policy::PathSet;
use crate::time::Time;

impl<P: Payload> Sender<P> {
    /// Keeps packets off the paths that have reached their limits.
    pub(in super::super) fn block(&mut self, blocked: BlockedPaths) {
        self.outgoing.block(blocked);
    }

    /// Tells the peer for the time `number` that `path` carries nothing: on the other paths, or on the
    /// path itself if there is none.
    pub(in super::super) fn send_path_closed(
        &self,
        now: Time,
        path: PathId,
        number: u64,
        out: &mut impl FnMut(Output<P>),
    ) {
        let others = self.outgoing.open;
        let paths = if others.is_empty() {
            PathSet::only(path)
        } else {
            others
        };
        let frame = Frame {
            path,
            epoch: self.policy.epoch(),
            sequence: number,
            sent: now,
            body: Body::PathClosed { path },
        };
        self.outgoing.send_copies(paths, frame, out);
    }
}
