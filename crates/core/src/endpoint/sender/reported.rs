//! The part of a sender whose packets are reported and repaired.

use core::cell::Cell;

use super::super::io::Output;
use super::super::receiver::FrameHeader;
use super::Sender;
use super::outgoing::Outgoing;
use super::paced::Pacing;
use crate::event::{DropReason, Event};
use crate::frame::{Attempt, Body, Frame, PathId, Payload};
use crate::packet::PacketMeta;
use crate::pmtu::Discovery;
use crate::policy::{Feedback, PathSet, Paths, PolicyConfig};
use crate::repair::{
    NumberedReport, OutgoingPacket, PathEstimate, Repair, RepairOutput, RepairStatistics, Report,
    ReportPaths,
};
use crate::time::Time;

impl<P: Payload> Sender<P> {
    /// The counters of repairs; `None` if losses are not repaired.
    pub(in super::super) fn repair_statistics(&self) -> Option<RepairStatistics> {
        self.repair.as_ref().map(Repair::statistics)
    }

    /// The delay and losses of `path` that reports have measured.
    pub(in super::super) fn path_estimate(&self, path: PathId) -> Option<PathEstimate> {
        self.repair.as_ref()?.estimate(path)
    }

    /// Notes whether the peer reports which packets arrive.
    #[cold]
    pub(in super::super) fn on_peer_reports(
        &mut self,
        now: Time,
        reports: bool,
        out: &mut impl FnMut(Output<P>),
    ) {
        self.peer_reports = reports;
        if reports {
            return;
        }
        self.send_all_waiting(now, out);
        // It cannot read what would be sent again.
        if let Some(repair) = &mut self.repair {
            repair.end_sent();
        }
        self.go_on_without_reports(now, out);
    }

    /// Whether packets are reported and repaired.
    pub(super) fn are_losses_repaired(&self) -> bool {
        self.repair.is_some() && self.peer_reports
    }

    /// If losses should be repaired, and the peer reports none: says so, and only the ceilings limit
    /// the paths.
    pub(super) fn go_on_without_reports(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        if self.repair.is_some() && !self.peer_reports {
            self.apply_ceilings(now, out);
            out(Output::Event(Event::RepairUnavailable));
        }
    }

    /// Passes on the ceilings to the policy.
    fn apply_ceilings(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        for path in self.all {
            let feedback = Feedback::Measured {
                path,
                estimate: None,
                limit: self.pacing.set_limit(now, path, None),
                is_silent: false,
            };
            self.on_feedback(now, feedback, out);
        }
    }

    /// The paths that may carry a report.
    pub(in super::super) fn report_paths(&self) -> ReportPaths {
        let all = self.outgoing.open;
        ReportPaths {
            all,
            usual: self.tariffs.cheapest(all),
        }
    }

    /// Notes that the peer has restarted: it reports from the beginning, by another clock.
    pub(in super::super) fn on_peer_restarted(&mut self) {
        if let Some(repair) = &mut self.repair {
            repair.on_peer_restarted();
        }
    }

    /// Applies the repairs of another policy.
    pub(super) fn adjust_repair(&mut self, policy: PolicyConfig) {
        let paths = u8::try_from(self.all.len()).unwrap_or(PathSet::CAPACITY);
        let encapsulation = self.outgoing.encapsulation;
        match (&mut self.repair, policy.repair()) {
            (Some(repair), Some(config)) => repair.adjust(config, self.tariffs.clone()),
            (repair, config) => {
                *repair = config
                    .map(|config| Repair::new(config, paths, encapsulation, self.tariffs.clone()));
            }
        }
    }

    /// Sends a packet on `paths`, and a copy on another one if a repair would be late.
    ///
    /// The liveness monitor is not notified: reports detect a silent path sooner than the frequent
    /// heartbeats of busy paths would.
    #[inline]
    pub(super) fn send_reported(
        &mut self,
        now: Time,
        packet: OutgoingPacket<P>,
        paths: PathSet,
        out: &mut impl FnMut(Output<P>),
    ) {
        let Some(repair) = &mut self.repair else {
            return;
        };
        // Heartbeats of this wake may have put a path ahead of its ceiling.
        let usable = || {
            let carriers = carriers(&self.sizes, &self.outgoing, &packet.meta);
            carriers.with_full(self.pacing.full(now, self.all)).copies
        };
        let first = paths.into_iter().next().unwrap_or_default();
        let copies = repair.copy(now, first, usable, &packet.meta);
        repair.on_sent(now, packet.clone(), paths.or(copies));
        self.pacing.on_sent(now, paths.or(copies), packet.meta.size);
        if !copies.is_empty() {
            transmit(
                &self.outgoing,
                now,
                packet.clone(),
                Attempt::Copy,
                copies,
                out,
            );
        }
        transmit(&self.outgoing, now, packet, Attempt::First, paths, out);
    }

    /// Handles a report of the peer: repairs losses, and passes on what it measures to the policy.
    pub(in super::super) fn on_report(
        &mut self,
        now: Time,
        header: FrameHeader,
        report: &Report,
        out: &mut impl FnMut(Output<P>),
    ) {
        let Some(repair) = &mut self.repair else {
            return;
        };
        let (sizes, outgoing, pacing) = (&self.sizes, &self.outgoing, &mut self.pacing);
        let full = Cell::new(pacing.full(now, self.all));
        let carriers = |meta: &PacketMeta| carriers(sizes, outgoing, meta).with_full(full.get());
        let (number, made) = (header.sequence, header.sent);
        repair.on_report(now, number, made, report, carriers, &mut |output| {
            full.set(full.get().or(perform(outgoing, pacing, now, output, out)));
        });
        self.measure(now, out);
    }

    /// Performs the work of repairs that is due.
    pub(super) fn repair_losses(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        let Some(repair) = &mut self.repair else {
            return;
        };
        if repair.deadline().is_none_or(|due| due > now) {
            return;
        }
        let (sizes, outgoing, pacing) = (&self.sizes, &self.outgoing, &mut self.pacing);
        let full = Cell::new(pacing.full(now, self.all));
        let carriers = |meta: &PacketMeta| carriers(sizes, outgoing, meta).with_full(full.get());
        repair.handle_timeout(now, carriers, &mut |output| {
            full.set(full.get().or(perform(outgoing, pacing, now, output, out)));
        });
        self.measure(now, out);
    }

    /// The time at which a packet may be missing.
    #[cfg(test)]
    pub(in super::super) fn repair_deadline(&self) -> Option<Time> {
        self.repair.as_ref().and_then(Repair::deadline)
    }

    /// Sends a report of the receiver on its paths.
    pub(in super::super) fn send_report(
        &self,
        now: Time,
        report: NumberedReport,
        out: &mut impl FnMut(Output<P>),
    ) {
        let frame = Frame {
            path: PathId::default(),
            epoch: self.policy.epoch(),
            sequence: report.number,
            sent: now,
            body: Body::Report(report.report.into()),
        };
        self.outgoing.send_all(report.paths, &frame, out);
    }

    /// Passes on to the policy what is known of the paths.
    fn measure(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        if !self.peer_reports {
            return;
        }
        for path in self.all {
            let Some(repair) = &self.repair else { return };
            let limit = repair.limit(now, path, self.pacing.unsent(now, path));
            let limit = self.pacing.set_limit(now, path, limit);
            let feedback = Feedback::Measured {
                path,
                estimate: repair.estimate(path),
                limit,
                is_silent: repair.is_silent(path),
            };
            self.on_feedback(now, feedback, out);
        }
    }
}

/// The paths that can carry a packet: those that are live, or answer again.
fn carriers(sizes: &Discovery, outgoing: &Outgoing, meta: &PacketMeta) -> Paths {
    let carriers = outgoing.carriers(sizes, meta);
    carriers.unwrap_or(Paths::trusted(PathSet::EMPTY))
}

/// Returns the paths that are ahead of their ceilings after it: a wake may repair more packets than
/// they carry.
fn perform<P: Payload>(
    outgoing: &Outgoing,
    pacing: &mut Pacing,
    now: Time,
    output: RepairOutput<P>,
    out: &mut impl FnMut(Output<P>),
) -> PathSet {
    match output {
        RepairOutput::Resend { packet, paths } => {
            pacing.on_sent(now, paths, packet.meta.size);
            transmit(outgoing, now, packet, Attempt::Repair, paths, out);
            pacing.full(now, paths)
        }
        RepairOutput::GivenUp { len } => {
            let reason = DropReason::PastDeadline;
            out(Output::Event(Event::Dropped { reason, len }));
            PathSet::EMPTY
        }
    }
}

#[inline]
pub(super) fn transmit<P: Payload>(
    outgoing: &Outgoing,
    now: Time,
    packet: OutgoingPacket<P>,
    attempt: Attempt,
    paths: PathSet,
    out: &mut impl FnMut(Output<P>),
) {
    let (epoch, sequence) = (packet.epoch, packet.sequence);
    let frame = |path, payload| Frame {
        path,
        epoch,
        sequence,
        sent: now,
        body: Body::Reported { payload, attempt },
    };
    outgoing.send_packet(paths, packet.payload, frame, out);
}
