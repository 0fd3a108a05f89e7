//! The receiving half of an endpoint: delivers the first copy, compares probes with data, measures
//! delta T, and requests switches.
//!
//! Epochs: the receiver knows the epoch of the newest data packet that arrived or that a probe
//! stands for. A switch request names the next epoch, and until a packet of that epoch arrives, no
//! comparison counts. A packet newer than all before it carries the sender's current epoch; late
//! data from a slow path does not.
//!
//! With hysteresis ([`crate::combine::hysteresis`]) a probe that wins is a vote, and a lead of
//! votes requests the switch.
//!
//! A sender that restarts numbers its packets from the first again, in epoch 0. The receiver then
//! discards the state of the old sender ([`Input::PeerRestarted`](crate::endpoint::Input)), since
//! new packets would look like duplicates.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::config::{EndpointConfig, ProbingConfig};
use super::io::Output;
use crate::combine::hysteresis::{Hysteresis, MARGIN, Outcome};
use crate::combine::{Comparison, CongestionSignal, Detector, DetectorStatistics, SwitchRequest};
use crate::estimate::{ArrivalQuality, ArrivalStatistics, DeltaT};
use crate::event::{DropReason, Event};
use crate::fragment::FragmentHeader;
use crate::frame::{Attempt, Body, Epoch, Frame, PathId, Payload};
use crate::machine::{Deadline, EarliestDeadline};
use crate::packet::Ecn;
use crate::policy::PolicyConfig;
use crate::repair::{NumberedReport, ReportPaths, Reporter};
use crate::time::Time;
use crate::window::{SlidingWindow, Verdict};

/// Combines the frames of all paths into the packets of the application.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    config: EndpointConfig,
    seen: SlidingWindow,
    epoch: Epoch,
    /// The highest sequence number of data and probes, which count the same packets.
    newest: u64,
    comparison: Comparison,
    /// From the first probe on; never in the paper's form.
    hysteresis: Option<Box<Hysteresis>>,
    request: Option<SwitchRequest>,
    delta_t: Vec<DeltaT>,
    detector: Option<Detector>,
    /// From the first packet on whose sender wants reports.
    reporter: Option<Reporter>,
    quality: ArrivalQuality,
}

impl Receiver {
    /// A receiver for a checked configuration.
    pub(super) fn new(config: &EndpointConfig) -> Self {
        Self {
            config: config.clone(),
            seen: SlidingWindow::new(config.window),
            epoch: Epoch::default(),
            newest: 0,
            comparison: comparison(config.policy, config.probing.threshold),
            hysteresis: None,
            request: None,
            delta_t: vec![DeltaT::default(); usize::from(config.paths)],
            detector: detector(config),
            reporter: None,
            quality: ArrivalQuality::default(),
        }
    }

    /// Applies another policy and probing configuration.
    pub(super) fn adjust(&mut self, policy: PolicyConfig, probing: &ProbingConfig) {
        if policy.has_hysteresis() != self.config.policy.has_hysteresis() {
            self.hysteresis = None;
            self.comparison = comparison(policy, probing.threshold);
        }
        let before = self.config.detector();
        self.config.policy = policy;
        self.config.probing = *probing;
        if self.config.detector() != before {
            self.detector = detector(&self.config);
        }
        self.comparison.set_threshold(probing.threshold);
    }

    /// Discards the state of the sender, which has restarted.
    pub(super) fn restart(&mut self) {
        *self = Self::new(&self.config);
    }

    /// The data frames that have arrived.
    pub(super) const fn seen(&self) -> &SlidingWindow {
        &self.seen
    }

    /// Notes the arrival of any frame.
    pub(super) fn on_frame(&mut self, now: Time, header: FrameHeader) {
        if let Some(reporter) = &mut self.reporter {
            reporter.on_frame(now, header.path, header.sent);
        }
    }

    /// Handles a data frame of `len` bytes on the wire, whose arrival is to be reported; returns
    /// the packet of the first copy.
    pub(super) fn on_reported<P: Payload>(
        &mut self,
        now: Time,
        header: FrameHeader,
        attempt: Attempt,
        len: u32,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) -> Option<P> {
        let end = self.seen.end();
        let first = self.config.first_sequence.max(end);
        let paths = self.config.paths;
        let reporter = self.reporter.get_or_insert_with(|| {
            let mut reporter = Reporter::new(now, paths, first);
            reporter.on_frame(now, header.path, header.sent);
            reporter
        });
        let is_first = attempt == Attempt::First && header.sequence >= end;
        let first_on = is_first.then_some(header.path);
        reporter.on_packet(now, len, header.sequence > end, first_on);
        self.on_data(now, header, payload, out)
    }

    /// The report that is due on some of `paths`, if any.
    pub(super) fn report(&mut self, now: Time, paths: ReportPaths) -> Option<NumberedReport> {
        let overhead = self.config.encapsulation.data;
        let reporter = self.reporter.as_mut()?;
        reporter.handle_timeout(now, &self.seen, paths, overhead)
    }

    /// Handles a data frame: returns the packet of the first copy, drops the others.
    pub(super) fn on_data<P: Payload>(
        &mut self,
        now: Time,
        header: FrameHeader,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) -> Option<P> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an IP packet has at most 64 KiB"
        )]
        let len = payload.len() as u32;
        self.observe_copy(now, header, || payload.ecn());
        let verdict = self.seen.accept(header.sequence);
        if let Some(event) = self.refusal(verdict, header, len) {
            out(Output::Event(event));
            return None;
        }
        self.accept(now, header, payload, out)
    }

    /// Shows a copy or fragment to the detector.
    #[inline]
    fn observe_copy(&mut self, now: Time, header: FrameHeader, ecn: impl FnOnce() -> Ecn) {
        if let Some(detector) = &mut self.detector {
            let FrameHeader {
                path,
                sequence,
                sent,
                ..
            } = header;
            detector.on_copy(now, path, sequence, sent, ecn());
        }
    }

    /// The event of a frame of `len` bytes whose packet is not needed; `None` if it is.
    #[inline]
    fn refusal(&mut self, verdict: Verdict, header: FrameHeader, len: u32) -> Option<Event> {
        let reason = match verdict {
            Verdict::Fresh => return None,
            Verdict::Duplicate => DropReason::Duplicate,
            Verdict::Behind => DropReason::BehindWindow,
        };
        if let Some(hysteresis) = &mut self.hysteresis
            && verdict == Verdict::Duplicate
        {
            // A copy, of a packet without a probe.
            hysteresis.on_arrival(header.path, header.sequence);
        }
        Some(Event::Dropped { reason, len })
    }

    /// Handles a fragment of `len` bytes; returns whether its packet is still needed.
    pub(super) fn on_fragment<P>(
        &mut self,
        now: Time,
        header: FrameHeader,
        fragment: FragmentHeader,
        out: &mut impl FnMut(Output<P>),
    ) -> bool {
        self.observe_copy(now, header, || fragment.traffic_class.ecn);
        let verdict = self.seen.classify(header.sequence);
        let refusal = self.refusal(verdict, header, fragment.fragment_len().into());
        refusal.map(Output::Event).map(out).is_none()
    }

    /// Handles a packet restored from fragments, the last of which had this header.
    ///
    /// If one of their outer headers was marked, the packet is, too (RFC 3168, section 5.3), as far
    /// as its own field permits: one that is not ECN-capable is dropped (RFC 6040, section 4.2).
    pub(super) fn on_restored<P: Payload>(
        &mut self,
        now: Time,
        header: FrameHeader,
        mut packet: P,
        outer: Ecn,
        out: &mut impl FnMut(Output<P>),
    ) -> Option<P> {
        self.seen.accept(header.sequence);
        match packet.ecn().decapsulated(outer) {
            None => {
                self.quality.note(now, header.sequence, header.sent);
                let len = u32::try_from(packet.len()).unwrap_or(u32::MAX);
                let reason = DropReason::WrongMark;
                out(Output::Event(Event::Dropped { reason, len }));
                return None;
            }
            Some(Ecn::Ce) => packet.mark_ce(),
            // ECT(1) of a fragment: of the others only CE counts.
            Some(_) => {}
        }
        self.accept(now, header, packet, out)
    }

    /// Handles the first copy of a packet: returns it, with a congestion signal if one is due.
    #[inline]
    fn accept<P: Payload>(
        &mut self,
        now: Time,
        header: FrameHeader,
        mut payload: P,
        out: &mut impl FnMut(Output<P>),
    ) -> Option<P> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an IP packet has at most 64 KiB"
        )]
        let len = payload.len() as u32;
        self.quality.note(now, header.sequence, header.sent);
        let signal = self.signal(now, header.sequence, &payload);
        let path = header.path;
        out(Output::Event(match signal {
            CongestionSignal::Drop => Event::Dropped {
                reason: DropReason::Congestion,
                len,
            },
            CongestionSignal::None | CongestionSignal::Mark => Event::Delivered { path, len },
        }));
        if signal == CongestionSignal::Mark {
            payload.mark_ce();
            out(Output::Event(Event::CongestionMarked { len }));
        }
        if self.hysteresis.is_some() {
            self.count_data(now, header);
        } else {
            self.comparison.on_data(&self.seen, |_| {});
        }
        self.note_epoch(now, header);
        (signal != CongestionSignal::Drop).then_some(payload)
    }

    /// The signal of a packet before delivery, by the congestion that its copies mask.
    fn signal(&mut self, now: Time, sequence: u64, payload: &impl Payload) -> CongestionSignal {
        let detector = self.detector.as_mut();
        detector.map_or(CongestionSignal::None, |detector| {
            detector.signal(now, sequence, || payload.flow(), payload.ecn())
        })
    }

    /// The quality of the stream of first copies.
    pub(super) fn arrival_statistics(&self) -> ArrivalStatistics {
        self.quality.statistics()
    }

    /// The counters of the detector of congestion; `None` without one.
    pub(super) fn detector_statistics(&self) -> Option<DetectorStatistics> {
        self.detector.as_ref().map(Detector::statistics)
    }

    /// Handles a probe that stands for a data packet of `data_len` bytes.
    pub(super) fn on_probe(&mut self, now: Time, header: FrameHeader, data_len: u16) {
        self.note_epoch(now, header);
        if header.epoch != self.epoch || self.request.is_some() {
            return;
        }
        let encapsulation = self.config.encapsulation;
        let data_size = u32::from(data_len) + encapsulation.data;
        let larger = data_size.saturating_sub(encapsulation.probe);
        if let Some(delta_t) = self.delta_t[header.path.index()].of(larger) {
            self.comparison
                .on_probe(now, header.path, header.sequence, delta_t, &self.seen);
            self.vote_for_active(now, header);
        }
    }

    /// Counts the probes that data has followed in time, under hysteresis.
    #[inline(never)]
    fn count_data(&mut self, now: Time, header: FrameHeader) {
        let Some(hysteresis) = &mut self.hysteresis else {
            return;
        };
        hysteresis.on_arrival(header.path, header.sequence);
        self.comparison.on_data(&self.seen, |path| {
            hysteresis.count(now, path, Outcome::Neither);
        });
    }

    /// Votes for the active path if a probe arrives after its data, and for each earlier probe on
    /// its path that has not arrived although its data has.
    fn vote_for_active(&mut self, now: Time, header: FrameHeader) {
        if !self.config.policy.has_hysteresis() {
            return;
        }
        let paths = self.config.paths;
        let hysteresis = &mut self.hysteresis;
        let hysteresis = hysteresis.get_or_insert_with(|| Box::new(Hysteresis::new(paths)));
        let FrameHeader { path, sequence, .. } = header;
        let missing = hysteresis.on_arrival(path, sequence);
        for sequence in missing.chain([sequence]) {
            if self.seen.classify(sequence) != Verdict::Fresh {
                hysteresis.count(now, path, Outcome::Active);
            }
        }
    }

    /// The path to which data has to switch, after the timers that are due.
    fn better_path(&mut self, now: Time) -> Option<PathId> {
        let Some(hysteresis) = &mut self.hysteresis else {
            return self.comparison.handle_timeout(now, &self.seen);
        };
        self.comparison.expire(now, &self.seen, |path, outcome| {
            hysteresis.count(now, path, outcome);
        });
        let winner = hysteresis.winner(now)?;
        hysteresis.on_switch(now);
        Some(winner)
    }

    /// Handles one half of a packet pair, of `size` bytes on the wire.
    pub(super) fn on_pair<P>(
        &mut self,
        now: Time,
        header: FrameHeader,
        trailing: bool,
        size: u32,
        out: &mut impl FnMut(Output<P>),
    ) {
        let path = header.path;
        let delta_t = &mut self.delta_t[path.index()];
        if !trailing {
            delta_t.on_leading(now, header.sequence, size);
        } else if let Some(measured) = delta_t.on_trailing(now, header.sequence, size) {
            let (span, bytes) = (measured.span, measured.bytes);
            out(Output::Event(Event::DeltaT { path, span, bytes }));
        }
    }

    /// Ends the timers that are due, and returns the switch frame that is due on all paths, if any.
    pub(super) fn handle_timeout<P>(
        &mut self,
        now: Time,
        out: &mut impl FnMut(Output<P>),
    ) -> Option<Frame<P>> {
        if let Some(detector) = &mut self.detector {
            detector.handle_timeout(now);
        }
        if let Some(to) = self.better_path(now) {
            let epoch = self.epoch.next();
            self.comparison.clear();
            self.request = Some(SwitchRequest::new(now, to, epoch));
            out(Output::Event(Event::SwitchWanted { to, epoch }));
        }
        let request = self.request.as_mut()?;
        let sequence = u64::from(request.due(now)?);
        let (path, to, epoch) = (PathId::default(), request.to(), request.epoch());
        Some(Frame {
            path,
            epoch,
            sequence,
            sent: now,
            body: Body::Switch { to },
        })
    }

    /// Whether only the comparison of probes with data has deadlines.
    #[inline]
    pub(super) fn only_comparison_has_deadlines(&self) -> bool {
        self.request.is_none() && self.detector.is_none() && self.reporter.is_none()
    }

    /// The next deadline of the comparison of probes with data.
    #[inline]
    pub(super) fn comparison_deadline(&self) -> Option<Deadline> {
        self.comparison.deadline()
    }

    /// Adds the deadlines of timers, of the next switch frame and of the next report.
    #[inline]
    pub(super) fn add_deadlines(&self, next: &mut EarliestDeadline) {
        next.add_deadline(self.comparison_deadline());
        if let Some(reporter) = &self.reporter {
            next.add(reporter.deadline(), "report");
        }
        if let Some(detector) = &self.detector {
            next.add_deadline(detector.deadline());
        }
        if let Some(request) = &self.request {
            next.add_deadline(request.deadline());
        }
    }

    /// The number of timers and windows in progress.
    pub(super) fn buffered(&self) -> usize {
        let detector = self.detector.as_ref().map_or(0, Detector::buffered);
        let reporter = self.reporter.as_ref().map_or(0, Reporter::buffered);
        self.comparison.buffered() + detector + reporter
    }

    /// Updates the epoch from data or a probe: the newest packet carries the current epoch of the
    /// sender.
    fn note_epoch(&mut self, now: Time, header: FrameHeader) {
        let epoch = header.epoch;
        if let Some(request) = &mut self.request {
            if epoch < request.epoch() {
                request.on_older_epoch(now);
            } else {
                self.request = None;
            }
        }
        let newest = header.sequence >= self.newest;
        self.newest = self.newest.max(header.sequence);
        if epoch > self.epoch || (newest && epoch != self.epoch) {
            self.epoch = epoch;
            self.comparison.clear();
            if let Some(hysteresis) = &mut self.hysteresis {
                hysteresis.restart();
            }
        }
    }
}

/// The detector of congestion of a receiver, if it has one.
fn detector(config: &EndpointConfig) -> Option<Detector> {
    let detector = config.detector()?;
    Some(Detector::new(&detector, config.paths))
}

/// The comparison for a receiver with this policy.
fn comparison(policy: PolicyConfig, threshold: f64) -> Comparison {
    let mut comparison = Comparison::new(threshold);
    comparison.set_margin(policy.has_hysteresis().then_some(MARGIN));
    comparison
}

/// The header of a frame, without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// The path it arrived on.
    pub(super) path: PathId,
    /// The sender's epoch.
    pub(super) epoch: Epoch,
    /// The sequence number; its meaning depends on the kind of the frame.
    pub(super) sequence: u64,
    /// The time at which it was sent, by the sender's clock.
    pub(super) sent: Time,
}
