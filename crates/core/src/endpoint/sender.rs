//! The sending half of an endpoint: numbers packets, sends copies, probes and pairs as its policy says over the
//! paths that live, and heartbeats to know which do and how long a packet they carry.

use alloc::vec;
use alloc::vec::Vec;

use super::config::{Adjustment, EndpointConfig};
use super::io::Output;
use crate::event::{DropReason, Event};
use crate::frame::{Body, Frame, PROBE_LEN, PathId, Payload, Purpose};
use crate::liveness::{Liveness, LivenessOutput, PathHealth};
use crate::machine::Deadline;
use crate::packet::PacketMeta;
use crate::pmtu::{Discovery, PathMtu, TooLong};
use crate::policy::{Action, Feedback, PathSet, Paths, PolicyConfig};
use crate::time::Time;
use outgoing::Outgoing;
use policy_state::{PathSwitch, PolicyState};

mod outgoing;
mod policy_state;

/// Numbers an application's packets and sends them over the paths that the policy picks.
#[derive(Debug)]
pub(super) struct Sender {
    policy: PolicyState,
    link: Outgoing,
    sequence: u64,
    pair_len: u16,
    /// The number of the next pair on each path.
    pairs: Vec<u64>,
    liveness: Option<Liveness>,
    sizes: Discovery,
    /// The paths of the configuration, whether they live or not.
    all: PathSet,
}

/// What a policy requests for.
#[derive(Debug, Default)]
struct PolicyRequests {
    pairs: PathSet,
    heartbeats: Vec<(PathId, u64)>,
    switched: Option<PathSwitch>,
}

impl Sender {
    /// A sender for a checked configuration.
    pub(super) fn new(config: &EndpointConfig) -> Self {
        Self {
            policy: PolicyState::new(config),
            link: Outgoing {
                paths: Paths::trusted(PathSet::first(config.paths)),
                encapsulation: config.encapsulation,
            },
            sequence: config.first_sequence,
            pair_len: config.probing.pair_len,
            pairs: vec![config.first_sequence; usize::from(config.paths)],
            liveness: config
                .liveness
                .map(|liveness| Liveness::new(&liveness, config.paths)),
            sizes: Discovery::default(),
            all: PathSet::first(config.paths),
        }
    }

    /// Sends one packet of an application.
    pub(super) fn on_packet<P: Payload>(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) {
        let paths = match self.sizes.carriers(self.link.paths, meta) {
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
        let plan = self.policy.current.route(now, meta, &paths, &mut |action| {
            requests.note(action);
        });
        self.act(now, requests, out);
        if plan.copies.is_empty() {
            out(Output::Event(Event::Dropped {
                reason: DropReason::NoPath,
                len: meta.size,
            }));
            return;
        }
        if let Some(liveness) = &mut self.liveness
            && liveness.on_carried(now, plan.copies)
        {
            self.sizes.refresh(now, liveness);
        }
        let sequence = self.sequence;
        self.sequence += 1;
        let frame = Frame {
            path: PathId::default(),
            epoch: self.policy.epoch(),
            sequence,
            sent: now,
            body: Body::Data(payload),
        };
        let data_len = u16::try_from(meta.size).unwrap_or(u16::MAX);
        for path in plan.probes {
            self.link
                .send(frame.carrying(path, Body::Probe { data_len }), out);
        }
        self.link.send_copies(plan.copies, frame, out);
        // A path at rest that carries a packet is due for a heartbeat, and a packet may be sent at the end of a
        // timeout, after which nothing may be due.
        let due = self.watch_at();
        if due.is_some_and(|due| due.at <= now) {
            self.watch(now, out);
        }
    }

    /// Takes what the other end says: a request to switch, or the answer to a heartbeat of the policy.
    pub(super) fn on_feedback<P: Payload>(
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
                requests.note(action);
            });
        self.act(now, requests, out);
    }

    /// Answers the heartbeat `id`, on the path where it came.
    pub(super) fn on_heartbeat<P: Payload>(
        &self,
        now: Time,
        path: PathId,
        id: u64,
        purpose: Purpose,
        out: &mut impl FnMut(Output<P>),
    ) {
        self.beat(now, path, id, Body::HeartbeatReply(purpose.answered()), out);
    }

    /// Takes the answer to the heartbeat `id`.
    pub(super) fn on_heartbeat_reply<P: Payload>(
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
                let change = liveness.on_reply(now, path, id);
                self.link.paths = liveness.paths();
                self.sizes.refresh(now, liveness);
                change.map(Output::Event).into_iter().for_each(out);
            }
            (Purpose::Size { .. }, Some(liveness)) => {
                let change = self.sizes.on_reply(now, path, id);
                self.sizes.refresh(now, liveness);
                change.map(Output::Event).into_iter().for_each(out);
            }
            (Purpose::Liveness | Purpose::Size { .. }, None) => {}
        }
    }

    /// Notes that what is sent on `paths` from now on can reach the other end.
    pub(super) fn on_reachable(&mut self, now: Time, paths: PathSet) {
        if let Some(liveness) = &mut self.liveness {
            liveness.on_reachable(now, paths);
        }
    }

    /// Notes that whoever drives this is behind: nothing leaves before `present`.
    pub(super) fn on_driver_behind(&mut self, present: Time) {
        if let Some(liveness) = &mut self.liveness {
            liveness.on_driver_behind(present);
        }
        self.sizes.on_driver_behind(present);
    }

    /// Notes how long a packet the interface of a path lets through, and whether the path goes by another way than before.
    pub(super) fn on_interface_mtu<P: Payload>(
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

    /// The number of heartbeats that are not yet answered.
    pub(super) fn buffered(&self) -> usize {
        self.liveness.as_ref().map_or(0, Liveness::buffered)
    }

    /// The largest possible value of [`Self::buffered`].
    pub(super) fn capacity(&self) -> usize {
        self.liveness.as_ref().map_or(0, Liveness::capacity)
    }

    /// How long a packet `path` carries whole; nothing where that is not found out.
    pub(super) fn path_mtu(&self, path: PathId) -> Option<PathMtu> {
        self.liveness.as_ref().and(self.sizes.of(path))
    }

    /// What was observed of `path`; nothing where paths are not watched.

    pub(super) fn health(&self, path: PathId) -> Option<PathHealth> {
        self.liveness.as_ref()?.health(path)
    }

    /// Goes on by another policy, or watches the paths in another way.
    pub(super) fn adjust<P: Payload>(
        &mut self,
        now: Time,
        to: &Adjustment,
        out: &mut impl FnMut(Output<P>),
    ) {
        let switched = self.policy.adjust(to.policy, to.probing.pair_interval);
        self.pair_len = to.probing.pair_len;
        match (&mut self.liveness, &to.liveness) {
            (Some(liveness), Some(config)) => liveness.adjust(now, config),
            (liveness, config) => {
                let paths = u8::try_from(self.all.len()).unwrap_or(PathSet::CAPACITY);
                *liveness = config.map(|config| Liveness::new(&config, paths));
                self.link.paths = Paths::trusted(self.all);
                self.sizes.restart(|event| out(Output::Event(event)));
            }
        }
        let requests = PolicyRequests {
            switched,
            ..PolicyRequests::default()
        };
        self.act(now, requests, out);
        self.watch(now, out);
    }

    /// The policy.
    pub(super) fn policy(&self) -> PolicyConfig {
        self.policy.config()
    }

    /// The path that carries data now.
    pub(super) fn active(&self) -> Option<PathId> {
        let active = self.policy.current.active()?;
        self.link.paths.usable.one(active).into_iter().next()
    }

    /// How often data went to another path because the policy said so.
    pub(super) fn switches(&self) -> u64 {
        self.policy.switches
    }

    /// Does what the policy and the watch over the paths have due.
    pub(super) fn handle_timeout<P: Payload>(
        &mut self,
        now: Time,
        out: &mut impl FnMut(Output<P>),
    ) {
        self.watch(now, out);
        let mut requests = PolicyRequests::default();
        self.policy
            .current
            .handle_timeout(now, &self.link.paths, &mut |action| {
                requests.note(action);
            });
        self.act(now, requests, out);
    }

    /// When the policy or the watch next wants to act.

    pub(super) fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.policy.current.deadline(), self.watch_at())
    }

    /// When the watch over the paths next wants to act.
    fn watch_at(&self) -> Option<Deadline> {
        let liveness = self.liveness.as_ref()?;
        debug_assert!(self.sizes.is_fresh(liveness));
        Deadline::earlier(liveness.deadline(), self.sizes.deadline())
    }

    /// Sends a frame without a payload of its own on every path; for what the receiver has to say.
    pub(super) fn broadcast<P: Payload>(&self, frame: Frame<P>, out: &mut impl FnMut(Output<P>)) {
        self.link.send_copies(self.link.paths.copies, frame, out);
    }

    fn watch<P: Payload>(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        let Some(liveness) = &mut self.liveness else {
            return;
        };
        let mut heartbeats = Vec::new();
        let mut want = |wanted| match wanted {
            LivenessOutput::Heartbeat { path, id, purpose } => heartbeats.push((path, id, purpose)),
            LivenessOutput::Event(event) => out(Output::Event(event)),
        };
        liveness.handle_timeout(now, &mut want);
        self.sizes.handle_timeout(now, liveness, want);
        self.link.paths = liveness.paths();
        for (path, id, purpose) in heartbeats {
            self.beat(now, path, id, Body::Heartbeat(purpose), out);
        }
    }

    fn act<P: Payload>(
        &mut self,
        now: Time,
        requests: PolicyRequests,
        out: &mut impl FnMut(Output<P>),
    ) {
        if let Some(PathSwitch { from, to }) = requests.switched {
            let epoch = self.policy.epoch();
            self.policy.switches += 1;
            out(Output::Event(Event::Switched { from, to, epoch }));
        }
        self.send_pairs(now, requests.pairs, out);
        for (path, id) in requests.heartbeats {
            self.beat(now, path, id, Body::Heartbeat(Purpose::Policy), out);
        }
    }

    fn beat<P: Payload>(
        &self,
        now: Time,
        path: PathId,
        id: u64,
        body: Body<P>,
        out: &mut impl FnMut(Output<P>),
    ) {
        let frame = Frame {
            path,
            epoch: self.policy.epoch(),
            sequence: id,
            sent: now,
            body,
        };
        self.link.send(frame, out);
    }

    fn send_pairs<P: Payload>(&mut self, now: Time, on: PathSet, out: &mut impl FnMut(Output<P>)) {
        for path in on {
            let number = &mut self.pairs[path.index()];
            let sequence = core::mem::replace(number, *number + 1);
            for (trailing, len) in [(false, PROBE_LEN), (true, self.pair_len)] {
                let body = Body::Pair { trailing, len };
                let epoch = self.policy.epoch();
                self.link.send(
                    Frame {
                        path,
                        epoch,
                        sequence,
                        sent: now,
                        body,
                    },
                    out,
                );
            }
        }
    }
}

impl PolicyRequests {
    fn note(&mut self, action: Action) {
        match action {
            Action::SendPair(path) => self.pairs = self.pairs.with(path),
            Action::Heartbeat { path, id } => self.heartbeats.push((path, id)),
            Action::Switched { from, to } => self.switched = Some(PathSwitch { from, to }),
        }
    }
}
