//! The paths of a sender that have reached their limits ([`crate::metering`]).

use super::super::io::Output;
use super::{BlockedPaths, Sender};
use crate::frame::{Body, Frame, Payload};
use crate::metering::{CellRate, Notice};
use crate::policy::{PathSet, Paths, Plan};
use crate::time::Time;

impl<P: Payload> Sender<P> {
    /// Keeps packets off the paths that have reached their limits, or reach their ceilings in this
    /// wake; `sent` states how far each is ahead of its ceiling.
    pub(in super::super) fn block(
        &mut self,
        blocked: BlockedPaths,
        sent: impl Iterator<Item = CellRate>,
    ) {
        self.outgoing.block(blocked);
        self.pacing.set_sent(sent);
    }

    /// Keeps a packet off those of its paths that a pair or a heartbeat on `probed` paths has put
    /// ahead of their ceilings in this wake: it waits, or takes the rest of its paths.
    #[cold]
    pub(super) fn apply_ceilings_again(
        &self,
        now: Time,
        probed: PathSet,
        plan: &mut Plan,
        paths: &mut Paths,
    ) {
        let full = self.pacing.full(now, probed);
        paths.full = paths.full.or(full);
        let rest = plan.copies.without(full);
        if rest.is_empty() && self.are_losses_repaired() {
            // Such a path was idle, so hardly anything waits there before the packet.
            plan.may_wait = true;
        } else {
            plan.copies = rest;
            plan.probes = plan.probes.without(full);
        }
    }

    /// Sends a notice that a path carries nothing.
    pub(in super::super) fn send_path_closed(
        &self,
        now: Time,
        Notice { path, number }: Notice,
        out: &mut impl FnMut(Output<P>),
    ) {
        let paths = self.outgoing.notice_paths(path);
        let frame = Frame {
            path,
            epoch: self.policy.epoch(),
            sequence: number,
            sent: now,
            body: Body::PathClosed { path },
        };
        self.outgoing.send_all(paths, &frame, out);
    }
}
