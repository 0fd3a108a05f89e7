//! The paths of a sender that have reached their limits ([`crate::metering`]).

use super::super::io::Output;
use super::{BlockedPaths, Sender};
use crate::event::Event;
use crate::frame::{Body, Frame, PathId, Payload};
use crate::metering::{CellRate, Notice};
use crate::packet::PacketMeta;
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

    /// Sends a packet of an application after others of the same wake: those count for the ceilings of
    /// the paths.
    pub(in super::super) fn on_spaced_packet(
        &mut self,
        now: Time,
        meta: PacketMeta,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) {
        if !self.tariffs.is_limited() {
            return self.on_packet(now, meta, payload, out);
        }
        self.outgoing.block_further(self.pacing.full(now, self.all));
        let mut lens = [0_u32; PathSet::CAPACITY as usize];
        self.on_packet(now, meta, payload, &mut |output| {
            if let Output::Event(Event::FrameOut { path, len, .. }) = &output
                && let Some(sum) = lens.get_mut(path.index())
            {
                *sum = sum.saturating_add(*len);
            }
            out(output);
        });
        // Those that are reported are counted when they leave.
        if !self.are_losses_repaired() {
            for (path, len) in (0..).map(PathId).zip(lens).filter(|(_, len)| *len > 0) {
                self.pacing.count(now, path, len);
            }
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
