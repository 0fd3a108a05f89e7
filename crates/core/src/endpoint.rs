//! An endpoint of the overlay: a sender and a receiver as one machine.
//!
//! The simulator and the live node drive the same machine. Packets of an application go in with the
//! metadata that the policy may use, and frames for the paths come out; frames of the peer go in,
//! and the packets of its application come out, each once.
//!
//! Packets that are not TCP, fragments and malformed TCP segments count as data
//! ([`crate::packet::Kind::Opaque`]). Packets that are not IP never get here, because
//! [`crate::packet::parse`] refuses them.

use alloc::boxed::Box;

use crate::class::{Class, ClassStatistics};
use crate::combine::{DetectorStatistics, MAX_TIMERS, MAX_WINDOWS};
use crate::estimate::ArrivalStatistics;
use crate::event::{DropReason, Event};
use crate::fragment::{MAX_INCOMPLETE, Reassembly};
use crate::frame::{Attempt, Body, Encapsulation, Frame, PathId, Payload};
use crate::liveness::PathHealth;
use crate::machine::{Deadline, EarliestDeadline, Machine, Wake};
use crate::metering::{ClosedPaths, Meters, PathUsage};
use crate::order::{MAX_HELD, Order, OrderStatistics, ReorderBuffer};
use crate::pmtu::PathMtu;
use crate::policy::{Feedback, GuardTime, MeasuredRtt, PathSet, PolicyConfig};
use crate::repair::{MAX_TICKS, PathEstimate, RepairStatistics};
use crate::spacing::MAX_WAITING;
use crate::time::Time;
pub use config::{Adjustment, ConfigError, EndpointConfig, MIN_PAIR_LEN, ProbingConfig};
pub use io::{Input, Output};
use receiver::{FrameHeader, Receiver};
use sender::Sender;
use spaced::Spacing;

mod config;
mod fragments;
mod io;
mod metered;
mod receiver;
mod sender;
mod spaced;

/// The maximum number of probe timers, packet windows, notes of arrivals, packets behind a gap and
/// incomplete packets that an endpoint holds, whatever it receives.
pub const CAPACITY: usize = MAX_TIMERS + MAX_WINDOWS + 1 + MAX_TICKS + MAX_HELD + MAX_INCOMPLETE;

/// An endpoint of the overlay.
#[derive(Clone, Debug)]
pub struct Endpoint<P> {
    sender: Sender<P>,
    receiver: Receiver,
    order: ReorderBuffer<P>,
    /// From the first fragment on.
    reassembly: Option<Box<Reassembly<P>>>,
    paths: PathSet,
    encapsulation: Encapsulation,
    /// `None` as long as no path is limited or closed.
    meters: Option<Box<Meters>>,
    spacing: Spacing<P>,
}

impl<P: Payload> Endpoint<P> {
    /// An endpoint that has sent and received nothing.
    ///
    /// # Errors
    /// If the configuration is invalid.
    pub fn new(config: &EndpointConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            order: ReorderBuffer::new(config.policy.order(), config.classes.clone()),
            reassembly: None,
            paths: PathSet::first(config.paths),
            encapsulation: config.encapsulation,
            meters: metered::meters(config),
            spacing: Spacing::new(config),
        })
    }

    /// The number of timers, windows, unanswered heartbeats, incomplete packets and packets kept
    /// for repairs or held for their order, at most [`capacity`](Self::capacity).
    #[must_use]
    pub fn buffered(&self) -> usize {
        let incomplete = self
            .reassembly
            .as_ref()
            .map_or(0, |buffer| buffer.buffered());
        let (order, spacing) = (self.order.buffered(), self.spacing.buffered());
        self.receiver.buffered() + order + self.sender.buffered() + incomplete + spacing
    }

    /// The maximum of [`buffered`](Self::buffered): [`CAPACITY`], plus the heartbeats that are
    /// stored for each path if paths are monitored, plus the packets that are kept if losses are
    /// repaired, plus those that wait if they are spaced.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let waiting = if self.spacing.delays_packets() {
            MAX_WAITING
        } else {
            0
        };
        CAPACITY + self.sender.capacity() + waiting
    }

    /// The health of `path`; `None` if paths are not monitored.
    #[must_use]
    pub fn health(&self, path: PathId) -> Option<PathHealth> {
        self.sender.health(path)
    }

    /// The path MTU of `path`; `None` without path MTU discovery.
    #[must_use]
    pub fn path_mtu(&self, path: PathId) -> Option<PathMtu> {
        self.sender.path_mtu(path)
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> PolicyConfig {
        self.sender.policy()
    }

    /// The path that carries data now, or on which new flows begin; `None` if several do, or if it
    /// differs from packet to packet.
    #[must_use]
    pub fn active(&self) -> Option<PathId> {
        self.sender.active()
    }

    /// The round-trip time of `path` as the policy measures it by itself; `None` if it does not, or
    /// has not yet.
    #[must_use]
    pub fn measured_rtt(&self, path: PathId) -> Option<MeasuredRtt> {
        self.sender.current_policy().measured_rtt(path)
    }

    /// The number of flows on `path`; `None` if flows do not choose their paths by themselves.
    #[must_use]
    pub fn flows_on(&self, path: PathId) -> Option<usize> {
        self.sender.current_policy().flows_on(path)
    }

    /// The running guard time of the policy, if there is one.
    #[must_use]
    pub fn guard_time(&self) -> Option<GuardTime> {
        self.sender.current_policy().guard_time()
    }

    /// The one-way delay and losses of `path`, from reports; `None` if losses are not repaired, and
    /// before the first report.
    #[must_use]
    pub fn path_estimate(&self, path: PathId) -> Option<PathEstimate> {
        self.sender.path_estimate(path)
    }

    /// The use of `path`; `None` if what it carries is not limited, and neither end has closed it.
    #[must_use]
    pub fn path_usage(&self, path: PathId) -> Option<PathUsage> {
        self.meters.as_ref()?.usage(path)
    }

    /// The paths that carry nothing because a quota is used up.
    #[must_use]
    pub fn closed_paths(&self) -> ClosedPaths {
        let meters = self.meters.as_ref();
        meters.map_or_else(ClosedPaths::default, |meters| meters.closed_paths())
    }

    /// The counters of repairs; `None` if losses are not repaired.
    #[must_use]
    pub fn repair_statistics(&self) -> Option<RepairStatistics> {
        self.sender.repair_statistics()
    }

    /// The quality of the peer's packets as they arrive, each once, since its last start.
    #[must_use]
    pub fn arrival_statistics(&self) -> ArrivalStatistics {
        self.receiver.arrival_statistics()
    }

    /// The counters of the detector of congestion that copies mask; `None` without one.
    #[must_use]
    pub fn detector_statistics(&self) -> Option<DetectorStatistics> {
        self.receiver.detector_statistics()
    }

    /// Whether packets are classified.
    #[must_use]
    pub fn has_classes(&self) -> bool {
        self.class_statistics().next().is_some()
    }

    /// Each class of packets with its counters, in their order.
    pub fn class_statistics(&self) -> impl Iterator<Item = (&Class, ClassStatistics)> {
        self.sender.class_statistics()
    }

    /// The cost tier of `path` ([`Tariff::cost`](crate::tariff::Tariff::cost)).
    #[must_use]
    pub fn cost(&self, path: PathId) -> u8 {
        self.sender.cost(path)
    }

    /// The counters of packets held for their order; `None` if none are.
    #[must_use]
    pub fn order_statistics(&self) -> Option<OrderStatistics> {
        let is_on = self.policy().order() != Order::None;
        is_on.then(|| self.order.statistics())
    }

    /// The number of times that the policy moved data to another path.
    #[must_use]
    pub fn switches(&self) -> u64 {
        self.sender.switches()
    }

    /// Delivers the packet of data frame `sequence`, if it is the first copy, in its order.
    fn put_in_order(
        &mut self,
        now: Time,
        sequence: u64,
        packet: Option<P>,
        is_repaired: bool,
        out: &mut impl FnMut(Output<P>),
    ) {
        if let Some(packet) = packet {
            let (seen, deliver) = (self.receiver.seen(), &mut deliver(out));
            (self.order).offer(now, sequence, packet, is_repaired, seen, deliver);
        }
    }

    fn on_frame(&mut self, now: Time, frame: Frame<P>, out: &mut impl FnMut(Output<P>)) {
        let len = self.encapsulation.size(&frame.body);
        let Frame {
            path,
            epoch,
            sequence,
            sent,
            body,
        } = frame;
        if !self.paths.contains(path) {
            let reason = DropReason::UnknownPath;
            let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
            return out(Output::Event(Event::Dropped { reason, len }));
        }
        let (kind, delay) = (body.kind(), now.since(sent));
        out(Output::Event(Event::FrameIn {
            path,
            kind,
            len,
            delay,
        }));
        let header = FrameHeader {
            path,
            epoch,
            sequence,
            sent,
        };
        self.receiver.on_frame(now, header);
        match body {
            Body::Data(payload) => {
                let packet = self.receiver.on_data(now, header, payload, out);
                if packet.is_some() {
                    self.spacing.on_arrival(now, header, Attempt::First);
                }
                self.put_in_order(now, sequence, packet, false, out);
            }
            Body::Reported { payload, attempt } => {
                let receiver = &mut self.receiver;
                let packet = receiver.on_reported(now, header, attempt, len, payload, out);
                if packet.is_some() {
                    self.spacing.on_arrival(now, header, attempt);
                }
                self.put_in_order(now, sequence, packet, true, out);
            }
            Body::Report(report) => self.sender.on_report(now, header, &report, out),
            Body::Probe { data_len } => self.receiver.on_probe(now, header, data_len),
            Body::Pair { trailing, .. } => self.receiver.on_pair(now, header, trailing, len, out),
            Body::Switch { to } => {
                self.sender
                    .on_feedback(now, Feedback::Switch { to, epoch }, out);
            }
            Body::Heartbeat(purpose) => {
                self.sender.on_heartbeat(now, path, sequence, purpose, out);
            }
            Body::HeartbeatReply(purpose) => {
                self.sender
                    .on_heartbeat_reply(now, path, sequence, purpose, out);
            }
            Body::Fragment {
                header: fragment,
                payload,
            } => self.on_fragment(now, header, fragment, payload, out),
            Body::Spacing(message) => self.on_spacing(now, *message, out),
            // The meters have taken note of it.
            Body::PathClosed { .. } => {}
        }
    }

    /// The next deadline of an endpoint that repairs losses, reports, holds packets or monitors
    /// paths.
    #[inline(never)]
    fn earliest_deadline(&self) -> Option<Deadline> {
        let mut next = EarliestDeadline::NONE;
        self.sender.add_deadlines(&mut next);
        self.receiver.add_deadlines(&mut next);
        self.spacing.add_deadlines(&mut next);
        next.add(self.order.deadline(), "order");
        next.deadline()
    }

    /// Handles a wake, whatever the limits of the paths.
    #[inline]
    fn run(&mut self, now: Time, wake: Wake<Input<P>>, out: &mut impl FnMut(Output<P>)) {
        match wake {
            Wake::Input(input) => self.on_input(now, input, out),
            Wake::Timeout => self.on_timeout(now, out),
        }
    }

    #[inline]
    fn on_input(&mut self, now: Time, input: Input<P>, out: &mut impl FnMut(Output<P>)) {
        match input {
            Input::Packet { meta, payload } if self.spacing.delays_packets() => {
                self.space(now, meta, payload, out);
            }
            Input::Packet { meta, payload } => self.sender.on_packet(now, meta, payload, out),
            Input::Frame(frame) => self.on_frame(now, frame, out),
            Input::Reachable => {
                self.sender.on_reachable(now, self.paths);
                self.spacing.on_reachable(now);
            }
            Input::PeerRestarted => {
                self.receiver.restart();
                self.restart_reassembly();
                self.order.restart(&mut deliver(out));
                self.sender.on_peer_restarted();
                self.spacing.on_peer_restarted(self.sender.next_sequence());
            }
            Input::PeerReports(reports) => self.sender.on_peer_reports(now, reports, out),
            Input::PeerFragments(fragments) => self.sender.on_peer_fragments(fragments),
            Input::PeerSpacing(spacing) => self.on_peer_spacing(now, spacing, out),
            Input::PathReachable(path) => {
                if self.paths.contains(path) {
                    self.sender.on_reachable(now, PathSet::only(path));
                }
            }
            Input::DriverBehind(present) => {
                self.sender.on_driver_behind(present);
                self.spacing.on_driver_behind(present);
            }
            Input::InterfaceMtu {
                path,
                mtu,
                rerouted,
            } => {
                if self.paths.contains(path) {
                    self.sender.on_interface_mtu(now, path, mtu, rerouted, out);
                }
            }
            // The meters have taken note of it.
            Input::PathUsed { .. } => {}
            Input::Adjust(to) => {
                self.receiver.adjust(to.policy, &to.probing);
                let order = to.policy.order();
                self.order.adjust(order, &to.classes, &mut deliver(out));
                self.sender.adjust(now, &to, out);
                self.adjust_spacing(now, &to, out);
            }
        }
    }

    fn on_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        let seen = self.receiver.seen();
        self.order.handle_timeout(now, seen, &mut deliver(out));
        self.send_spaced(now, out);
        self.sender.handle_timeout(now, out);
        if let Some(frame) = self.receiver.handle_timeout(now, out) {
            self.sender.broadcast(&frame, out);
        }
        if let Some(report) = self.receiver.report(now, self.sender.report_paths()) {
            self.sender.send_report(now, report, out);
        }
        self.send_spacing_feedback(now, out);
    }
}

/// The application's packet in an output.
fn deliver<P>(out: &mut impl FnMut(Output<P>)) -> impl FnMut(P) {
    |packet| out(Output::Deliver(packet))
}

impl<P: Payload> Machine for Endpoint<P> {
    type Input = Input<P>;
    type Output = Output<P>;

    #[inline]
    fn handle_input(&mut self, now: Time, input: Input<P>, out: &mut impl FnMut(Output<P>)) {
        if self.meters.is_none() && !metered::concerns(&input) {
            self.run(now, Wake::Input(input), out);
        } else {
            self.run_metered(now, Wake::Input(input), out);
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        if self.meters.is_none() {
            self.run(now, Wake::Timeout, out);
        } else {
            self.run_metered(now, Wake::Timeout, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let is_plain = sender.only_policy_has_deadlines()
            && receiver.only_comparison_has_deadlines()
            && self.order.buffered() == 0
            && self.spacing.is_off();
        if is_plain {
            let next = Deadline::earlier(sender.policy_deadline(), receiver.comparison_deadline());
            debug_assert_eq!(
                next.map(|next| next.at),
                self.earliest_deadline().map(|next| next.at)
            );
            return next;
        }
        self.earliest_deadline()
    }
}

#[cfg(test)]
mod tests;
