//! The requests of a policy in one call.

use alloc::vec::Vec;

use super::super::io::Output;
use super::Sender;
use super::policy_state::PathSwitch;
use crate::event::Event;
use crate::frame::{Body, Frame, PROBE_LEN, PathId, Payload, Purpose};
use crate::policy::{Action, PathSet};
use crate::time::Time;

/// The actions that a policy requested in one call.
#[derive(Debug, Default)]
pub(super) struct PolicyRequests {
    pub(super) pairs: PathSet,
    pub(super) heartbeats: Vec<(PathId, u64)>,
    pub(super) switched: Option<PathSwitch>,
    /// The number of flows that have moved to another path by themselves.
    pub(super) flow_switches: u64,
}

impl PolicyRequests {
    #[inline]
    fn is_empty(&self) -> bool {
        self.pairs.is_empty()
            && self.heartbeats.is_empty()
            && self.switched.is_none()
            && self.flow_switches == 0
    }

    /// The paths of the pairs and heartbeats.
    fn paths(&self) -> PathSet {
        let heartbeats = self.heartbeats.iter().map(|(path, _)| *path);
        self.pairs.or(heartbeats.collect())
    }

    pub(super) fn add(&mut self, action: Action) {
        match action {
            Action::SendPair(path) => self.pairs = self.pairs.with(path),
            Action::Heartbeat { path, id } => self.heartbeats.push((path, id)),
            Action::Switched { from, to } => self.switched = Some(PathSwitch { from, to }),
            Action::FlowSwitched { .. } => self.flow_switches += 1,
        }
    }
}

impl<P: Payload> Sender<P> {
    /// Performs `requests`, and returns the paths of their pairs and heartbeats.
    #[inline]
    pub(super) fn act(
        &mut self,
        now: Time,
        requests: PolicyRequests,
        out: &mut impl FnMut(Output<P>),
    ) -> PathSet {
        if requests.is_empty() {
            PathSet::EMPTY
        } else {
            self.act_on(now, requests, out)
        }
    }

    #[inline(never)]
    fn act_on(
        &mut self,
        now: Time,
        requests: PolicyRequests,
        out: &mut impl FnMut(Output<P>),
    ) -> PathSet {
        let probed = requests.paths();
        if let Some(PathSwitch { from, to }) = requests.switched {
            let epoch = self.policy.epoch();
            self.policy.switches += 1;
            out(Output::Event(Event::Switched { from, to, epoch }));
        }
        self.policy.switches += requests.flow_switches;
        self.send_pairs(now, requests.pairs, out);
        for (path, id) in requests.heartbeats {
            self.send_heartbeat_frame(now, path, id, Body::Heartbeat(Purpose::Policy), out);
        }
        probed
    }

    /// Sends a heartbeat or the answer to one. It does not wait for a ceiling; packets later in the
    /// wake do.
    pub(super) fn send_heartbeat_frame(
        &mut self,
        now: Time,
        path: PathId,
        id: u64,
        body: Body<P>,
        out: &mut impl FnMut(Output<P>),
    ) {
        let epoch = self.policy.epoch();
        let frame = Frame {
            path,
            epoch,
            sequence: id,
            sent: now,
            body,
        };
        self.send_without_waiting(now, frame, out);
    }

    /// Sends a frame that counts against the ceiling of its path, but does not wait for it.
    fn send_without_waiting(
        &mut self,
        now: Time,
        frame: Frame<P>,
        out: &mut impl FnMut(Output<P>),
    ) {
        let len = self.outgoing.encapsulation.size(&frame.body);
        self.pacing.count(now, frame.path, len);
        self.outgoing.send(frame, out);
    }

    fn send_pairs(&mut self, now: Time, on: PathSet, out: &mut impl FnMut(Output<P>)) {
        for path in on {
            let number = &mut self.pairs[path.index()];
            let sequence = core::mem::replace(number, *number + 1);
            for (trailing, len) in [(false, PROBE_LEN), (true, self.pair_len)] {
                let body = Body::Pair { trailing, len };
                let epoch = self.policy.epoch();
                let frame = Frame {
                    path,
                    epoch,
                    sequence,
                    sent: now,
                    body,
                };
                self.send_without_waiting(now, frame, out);
            }
        }
    }
}
