//! The sending half of an endpoint: numbers packets, sends copies, probes and pairs over the live
//! paths that its policy selects, and heartbeats that measure the liveness and MTU of the paths.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::config::{Adjustment, EndpointConfig};
use super::io::Output;
use crate::class::{Class, ClassStatistics};
use crate::event::{DropReason, Event};
use crate::frame::{Body, Frame, PathId, Payload, Purpose};
use crate::liveness::{Liveness, LivenessOutput, PathHealth};
use crate::packet::PacketMeta;
use crate::pmtu::{Discovery, PathMtu, TooLong};
use crate::policy::{Feedback, PathPolicy, PathSet, Paths, Plan, PolicyConfig};
use crate::repair::{OutgoingPacket, Repair};
use crate::spacing;
use crate::tariff::Tariffs;
use crate::time::{Duration, Time};
use class_counters::ClassCounters;
use fragments::PathFragment;
pub(super) use outgoing::BlockedPaths;
use outgoing::Outgoing;
use paced::{MAX_WAITING, Pacing};
use policy_state::PolicyState;
use requests::PolicyRequests;

mod class_counters;
mod deadlines;
mod fragments;
mod limited;
mod outgoing;
mod paced;
mod policy_state;
mod reported;
mod requests;

/// Numbers the packets of an application and sends them over the paths that the policy selects.
#[derive(Clone, Debug)]
pub(super) struct Sender<P> {
    policy: PolicyState,
    outgoing: Outgoing,
    sequence: u64,
    pair_len: u16,
    /// The number of the next pair on each path.
    pairs: Vec<u64>,
    liveness: Option<Liveness>,
    sizes: Discovery,
    /// All configured paths, live or not.
    all: PathSet,
    repair: Option<Repair<P>>,
    pacing: Pacing,
    tariffs: Tariffs,
    classes: ClassCounters,
    peer_reports: bool,
    peer_restores: bool,
}

impl<P: Payload> Sender<P> {
    /// A sender for a checked configuration.
    pub(super) fn new(config: &EndpointConfig) -> Self {
        Self {
            policy: PolicyState::new(config),
            outgoing: Outgoing::new(config.paths, config.encapsulation),
            sequence: config.first_sequence,
            pair_len: config.probing.pair_len,
            pairs: vec![config.first_sequence; usize::from(config.paths)],
            liveness: config
                .liveness
                .map(|liveness| Liveness::new(&liveness, config.paths)),
            sizes: Discovery::default(),
            all: PathSet::first(config.paths),
            repair: config.policy.repair().map(|repair| {
                let tariffs = config.tariffs.clone();
                Repair::new(repair, config.paths, config.encapsulation, tariffs)
            }),
            tariffs: config.tariffs.clone(),
            classes: ClassCounters::new(config.classes.clone()),
            pacing: Pacing::new(config.paths, &config.tariffs, config.encapsulation.data),
            peer_reports: true,
            peer_restores: true,
        }
    }

    /// Sends one packet of an application.
    pub(super) fn on_packet(
        &mut self,
        now: Time,
        mut meta: PacketMeta,
        mut payload: P,
        out: &mut impl FnMut(Output<P>),
    ) {
        let mut paths = match self.outgoing.carriers(&self.sizes, &meta) {
            Ok(paths) => paths,
            Err(TooLong { limit, is_final }) => {
                return out(Output::Refused {
                    payload,
                    limit,
                    is_final,
                });
            }
        };
        out(Output::Event(Event::PacketIn {
            kind: meta.kind,
            len: meta.size,
        }));
        let mut requests = PolicyRequests::default();
        self.classes.assign(&mut meta);
        let mut plan = self
            .policy
            .current
            .route(now, &meta, &paths, &mut |action| {
                requests.add(action);
            });
        let probed = self.act(now, requests, out);
        if !probed.is_empty() {
            self.apply_ceilings_again(now, probed, &mut plan, &mut paths);
        }
        if let Some(reason) = self.refusal(&plan, &paths) {
            let len = meta.size;
            return out(Output::Event(Event::Dropped { reason, len }));
        }
        if plan.is_congested {
            payload.mark_ce();
        }
        let sequence = self.sequence;
        self.sequence += 1;
        if self.are_losses_repaired() {
            let packet = OutgoingPacket {
                sequence,
                epoch: self.policy.epoch(),
                meta,
                payload,
            };
            return self.pace(now, packet, &plan, out);
        }
        self.send_plain(now, sequence, meta.size, &plan, payload, out);
    }

    /// Sends a packet of which no report is expected, as its plan states.
    #[inline]
    pub(super) fn send_plain(
        &mut self,
        now: Time,
        sequence: u64,
        size: u32,
        plan: &Plan,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) {
        if let Some(liveness) = &mut self.liveness
            && liveness.on_carried(now, plan.copies)
        {
            self.sizes.refresh(now, liveness);
        }
        let epoch = self.policy.epoch();
        let frame = |path, body| Frame {
            path,
            epoch,
            sequence,
            sent: now,
            body,
        };
        let data_len = u16::try_from(size).unwrap_or(u16::MAX);
        for path in plan.probes {
            let probe = Body::Probe { data_len };
            self.outgoing.send(frame(path, probe), out);
        }
        if plan.needed > 1
            && self.peer_restores
            && let Some(fragments) = fragments::split(plan, &payload)
        {
            for PathFragment { path, body } in fragments {
                self.outgoing.send(frame(path, body), out);
            }
        } else {
            let data = |path, payload| frame(path, Body::Data(payload));
            self.outgoing.send_packet(plan.copies, payload, data, out);
        }
        // An idle path that carries a packet needs a heartbeat immediately, and after a timeout,
        // which may send a packet, nothing may be due.
        let due = self.monitor_deadline();
        if due.is_some_and(|due| due.at <= now) {
            self.monitor_paths(now, out);
        }
    }

    /// The reason for which the packet of a plan over `paths` is dropped.
    fn refusal(&self, plan: &Plan, paths: &Paths) -> Option<DropReason> {
        let is_full = plan.may_wait && self.pacing.waiting() >= MAX_WAITING;
        let is_congested = plan.is_congested || is_full || !paths.full.is_empty();
        // A packet waits for a path that is ahead of its ceiling only if it is reported.
        let carriers = if self.peer_reports {
            plan.copies
        } else {
            plan.copies.without(paths.full)
        };
        match (carriers.is_empty(), is_congested) {
            (true, false) => Some(DropReason::NoPath),
            (true, true) => Some(DropReason::QueueFull),
            (false, _) => is_full.then_some(DropReason::QueueFull),
        }
    }

    /// Handles feedback of the peer: a switch request, or the answer to a heartbeat.
    pub(super) fn on_feedback(
        &mut self,
        now: Time,
        feedback: Feedback,
        out: &mut impl FnMut(Output<P>),
    ) {
        if let Feedback::Switch { to, .. } = feedback
            && !self.all.contains(to)
        {
            out(Output::Event(Event::Dropped {
                reason: DropReason::UnknownPath,
                len: 0,
            }));
            return;
        }
        let mut requests = PolicyRequests::default();
        self.policy
            .current
            .handle_feedback(now, feedback, &mut |action| {
                requests.add(action);
            });
        self.act(now, requests, out);
    }

    /// Answers heartbeat `id` on the path that it arrived on.
    pub(super) fn on_heartbeat(
        &mut self,
        now: Time,
        path: PathId,
        id: u64,
        purpose: Purpose,
        out: &mut impl FnMut(Output<P>),
    ) {
        self.send_heartbeat_frame(now, path, id, Body::HeartbeatReply(purpose.answered()), out);
    }

    /// Handles the answer to heartbeat `id`.
    pub(super) fn on_heartbeat_reply(
        &mut self,
        now: Time,
        path: PathId,
        id: u64,
        purpose: Purpose,
        out: &mut impl FnMut(Output<P>),
    ) {
        match (purpose, &mut self.liveness) {
            (Purpose::Policy, _) => {
                self.on_feedback(now, Feedback::HeartbeatReply { path, id }, out);
            }
            (Purpose::Liveness, Some(liveness)) => {
                let Some(answer) = liveness.on_reply(now, path, id) else {
                    return;
                };
                self.outgoing.set_live(Some(liveness.paths()));
                self.sizes.refresh(now, liveness);
                answer
                    .event
                    .map(Output::Event)
                    .into_iter()
                    .for_each(&mut *out);
                let health = Feedback::Health {
                    path,
                    rtt: answer.rtt,
                    latest: answer.latest,
                    lost: answer.lost,
                };
                self.on_feedback(now, health, out);
            }
            (Purpose::Size { .. }, Some(liveness)) => {
                let change = self.sizes.on_reply(now, path, id);
                self.sizes.refresh(now, liveness);
                change.map(Output::Event).into_iter().for_each(out);
            }
            (Purpose::Liveness | Purpose::Size { .. }, None) => {}
        }
    }

    /// Notes that frames on `paths` can reach the peer from now on.
    pub(super) fn on_reachable(&mut self, now: Time, paths: PathSet) {
        if let Some(liveness) = &mut self.liveness {
            liveness.on_reachable(now, paths);
        }
    }

    /// Notes that the driver is behind: nothing is sent before `present`.
    pub(super) fn on_driver_behind(&mut self, present: Time) {
        if let Some(liveness) = &mut self.liveness {
            liveness.on_driver_behind(present);
        }
        self.sizes.on_driver_behind(present);
    }

    /// Sets the MTU of the interface of a path; `rerouted` discards the path MTU found so far.
    pub(super) fn on_interface_mtu(
        &mut self,
        now: Time,
        path: PathId,
        mtu: u16,
        rerouted: bool,
        out: &mut impl FnMut(Output<P>),
    ) {
        let change = self.sizes.set_interface_mtu(now, path, mtu, rerouted);
        if let Some(liveness) = &self.liveness {
            self.sizes.refresh(now, liveness);
        }
        change.map(Output::Event).into_iter().for_each(out);
    }

    /// The number of heartbeats that are not yet answered, of packets kept for repairs, and of
    /// those of them that wait for their turn.
    pub(super) fn buffered(&self) -> usize {
        let heartbeats = self.liveness.as_ref().map_or(0, Liveness::buffered);
        let kept = self.repair.as_ref().map_or(0, Repair::buffered);
        heartbeats + kept + self.pacing.waiting()
    }

    /// The largest possible value of [`Self::buffered`].
    pub(super) fn capacity(&self) -> usize {
        let heartbeats = self.liveness.as_ref().map_or(0, Liveness::capacity);
        let repair = self.repair.as_ref();
        heartbeats + repair.map_or(0, |_| Repair::<P>::capacity() + MAX_WAITING)
    }

    /// The path MTU of `path`; `None` without path MTU discovery.
    pub(super) fn path_mtu(&self, path: PathId) -> Option<PathMtu> {
        self.liveness.as_ref().and(self.sizes.of(path))
    }

    /// The health of `path`; `None` if paths are not monitored.
    pub(super) fn health(&self, path: PathId) -> Option<PathHealth> {
        self.liveness.as_ref()?.health(path)
    }

    /// Applies another policy, probing or liveness configuration.
    #[cold]
    pub(super) fn adjust(&mut self, now: Time, to: &Adjustment, out: &mut impl FnMut(Output<P>)) {
        let switched = self.policy.adjust(to);
        self.pair_len = to.probing.pair_len;
        if to.policy.repair().is_none() {
            self.send_all_waiting(now, out);
        }
        self.tariffs.clone_from(&to.tariffs);
        self.classes.adjust(&to.classes);
        self.adjust_repair(to.policy);
        self.pacing.set_ceilings(&to.tariffs);
        self.go_on_without_reports(now, out);
        match (&mut self.liveness, &to.liveness) {
            (Some(liveness), Some(config)) => liveness.adjust(now, config),
            (liveness, config) => {
                let paths = u8::try_from(self.all.len()).unwrap_or(PathSet::CAPACITY);
                *liveness = config.map(|config| Liveness::new(&config, paths));
                self.outgoing.set_live(None);
                self.sizes.restart(|event| out(Output::Event(event)));
            }
        }
        let requests = PolicyRequests {
            switched,
            ..PolicyRequests::default()
        };
        self.act(now, requests, out);
        self.monitor_paths(now, out);
    }

    /// The policy.
    pub(super) fn policy(&self) -> PolicyConfig {
        self.policy.config()
    }

    /// The state of the policy.
    pub(super) fn current_policy(&self) -> &dyn PathPolicy {
        &*self.policy.current
    }

    /// The path that carries data now.
    pub(super) fn active(&self) -> Option<PathId> {
        let active = self.policy.current.active()?;
        self.outgoing
            .paths()
            .usable
            .preferred_or_lowest(active)
            .into_iter()
            .next()
    }

    /// Each class of packets with its counters.
    pub(super) fn class_statistics(&self) -> impl Iterator<Item = (&Class, ClassStatistics)> {
        self.classes.all()
    }

    /// The cost tier of `path`.
    pub(super) fn cost(&self, path: PathId) -> u8 {
        self.tariffs.cost(path)
    }

    /// The number of times that the policy moved data to another path.
    pub(super) fn switches(&self) -> u64 {
        self.policy.switches
    }

    /// Performs the work of the policy and the liveness monitor that is due.
    pub(super) fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        self.monitor_paths(now, out);
        let mut requests = PolicyRequests::default();
        self.policy
            .current
            .handle_timeout(now, &self.outgoing.paths(), &mut |action| {
                requests.add(action);
            });
        self.act(now, requests, out);
        self.send_paced(now, out);
        self.repair_losses(now, out);
    }

    /// The number of the next packet.
    pub(super) const fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// The smoothed round-trip time of the path that carries data now, if heartbeats have measured it.
    pub(super) fn active_rtt(&self) -> Option<Duration> {
        self.health(self.active()?)?.rtt
    }

    /// Sends a message of packet spacing on the path that carries data now, or on all paths if several
    /// do.
    pub(super) fn send_spacing(
        &self,
        now: Time,
        message: spacing::Message,
        out: &mut impl FnMut(Output<P>),
    ) {
        let paths = self.active().map_or(self.outgoing.open, PathSet::only);
        let frame = Frame {
            path: PathId::default(),
            epoch: self.policy.epoch(),
            sequence: 0,
            sent: now,
            body: Body::Spacing(Box::new(message)),
        };
        self.outgoing.send_all(paths, &frame, out);
    }

    /// Sends a frame of the receiver on every path.
    pub(super) fn broadcast(&self, frame: &Frame<P>, out: &mut impl FnMut(Output<P>)) {
        self.outgoing.send_all(self.outgoing.open, frame, out);
    }

    fn monitor_paths(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        let Some(liveness) = &mut self.liveness else {
            return;
        };
        let mut heartbeats = Vec::new();
        let mut act = |output| match output {
            LivenessOutput::Heartbeat { path, id, purpose } => heartbeats.push((path, id, purpose)),
            LivenessOutput::Event(event) => out(Output::Event(event)),
        };
        liveness.handle_timeout(now, &mut act);
        self.sizes.handle_timeout(now, liveness, act);
        self.outgoing.set_live(Some(liveness.paths()));
        for (path, id, purpose) in heartbeats {
            self.send_heartbeat_frame(now, path, id, Body::Heartbeat(purpose), out);
        }
    }
}
