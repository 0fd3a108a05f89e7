//! Paths with scripted round-trip times, and a source of packets at constant intervals.

use std::collections::BTreeMap;

use super::*;

/// Drives a policy as a simulator would.
pub(super) struct Network {
    pub(super) policy: DelayCentric,
    pub(super) now: Time,
    /// The round-trip time of each path; `None` for a dead path.
    pub(super) round_trips: Vec<Option<Duration>>,
    /// The live paths.
    pub(super) usable: PathSet,
    /// The interval between packets; `None` while there are none.
    pub(super) interval: Option<Duration>,
    /// The number of flows, of which each sends in turn.
    pub(super) flows: u64,
    /// The actions of the policy.
    pub(super) actions: Vec<(Time, Action)>,
    /// The send time and path of each packet.
    pub(super) sent: Vec<(Time, PathId)>,
    /// The flow of each packet.
    pub(super) flow_of: Vec<FlowId>,
    next_packet: Time,
    /// The answers in flight, by arrival time and then by order of sending.
    answers: BTreeMap<(Time, u64), Feedback>,
    order: u64,
}

impl Network {
    pub(super) fn new(policy: DelayCentric, round_trips_ms: &[u64]) -> Self {
        let count = u8::try_from(round_trips_ms.len()).unwrap();
        Self {
            policy,
            usable: PathSet::first(count),
            now: Time::ZERO,
            round_trips: round_trips_ms.iter().map(|&ms| Some(MS * ms)).collect(),
            interval: Some(INTERVAL),
            flows: 1,
            actions: Vec::new(),
            sent: Vec::new(),
            flow_of: Vec::new(),
            next_packet: Time::ZERO,
            answers: BTreeMap::new(),
            order: 0,
        }
    }

    /// Processes all events until `end`.
    pub(super) fn run(&mut self, end: Time) {
        while let Some(next) = self.next().filter(|next| *next <= end) {
            self.now = next;
            if let Some(entry) = self.answers.first_entry()
                && entry.key().0 <= next
            {
                let feedback = entry.remove();
                self.feedback(feedback);
            } else if self.interval.is_some() && self.next_packet <= next {
                self.packet();
            } else {
                self.deadline();
            }
        }
        self.now = end;
    }

    pub(super) fn switches(&self) -> Vec<(Time, PathId)> {
        let to = |(at, action): &(Time, Action)| match action {
            Action::Switched { to, .. } => Some((*at, *to)),
            _ => None,
        };
        self.actions.iter().filter_map(to).collect()
    }

    pub(super) fn heartbeats(&self, of: PathId) -> Vec<Time> {
        let sent = |(at, action): &(Time, Action)| match action {
            Action::Heartbeat { path, .. } if *path == of => Some(*at),
            _ => None,
        };
        self.actions.iter().filter_map(sent).collect()
    }

    fn next(&self) -> Option<Time> {
        let packet = self.interval.map(|_| self.next_packet);
        let answer = self.answers.keys().next().map(|(at, _)| *at);
        let deadline = self.policy.deadline().map(|deadline| deadline.at);
        [packet, answer, deadline].into_iter().flatten().min()
    }

    fn packet(&mut self) {
        let mut actions = Vec::new();
        let paths = self.paths();
        let flow = FlowId(self.sent.len() as u64 % self.flows);
        let packet = PacketMeta { flow, ..packet() };
        let plan = self.policy.route(self.now, &packet, &paths, &mut |action| {
            actions.push(action);
        });
        self.flow_of.push(flow);
        for path in plan.copies {
            self.sent.push((self.now, path));
            let rtt = self.round_trips[path.index()];
            self.answer(rtt, |rtt| Feedback::Acknowledged { path, rtt });
        }
        self.next_packet = self.now + self.interval.unwrap_or_default();
        self.handle_actions(actions);
    }

    fn feedback(&mut self, feedback: Feedback) {
        let mut actions = Vec::new();
        self.policy
            .handle_feedback(self.now, feedback, &mut |action| actions.push(action));
        self.handle_actions(actions);
    }

    fn deadline(&mut self) {
        let mut actions = Vec::new();
        let paths = self.paths();
        self.policy
            .handle_timeout(self.now, &paths, &mut |action| actions.push(action));
        self.handle_actions(actions);
        let next = self.policy.deadline();
        assert!(next.is_none_or(|next| next.at > self.now), "{next:?}");
    }

    fn handle_actions(&mut self, actions: Vec<Action>) {
        for action in actions {
            if let Action::Heartbeat { path, id } = action {
                let rtt = self.round_trips[path.index()];
                self.answer(rtt, |_| Feedback::HeartbeatReply { path, id });
            }
            self.actions.push((self.now, action));
        }
    }

    fn answer(&mut self, rtt: Option<Duration>, feedback: impl Fn(Duration) -> Feedback) {
        if let Some(rtt) = rtt {
            self.answers
                .insert((self.now + rtt, self.order), feedback(rtt));
            self.order += 1;
        }
    }

    fn paths(&self) -> Paths {
        Paths::trusted(self.usable)
    }
}
