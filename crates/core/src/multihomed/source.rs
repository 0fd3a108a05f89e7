//! A source of datagrams over several paths: a source of even intervals whose every datagram a path
//! policy routes.

use super::MultihomedFrame;
use crate::cbr::Cbr;
use crate::frame::PathId;
use crate::machine::{Deadline, Machine};
use crate::packet::PacketMeta;
use crate::policy::{Action, DelayCentric, Feedback, PathPolicy, PathSet, Paths};
use crate::time::Time;

/// The number of datagrams that are sent at once after a late wake, at most.
const MAX_BURST: u32 = 64;

/// An output of a source over several paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultihomedOutput {
    /// Send this datagram or heartbeat on its path.
    Send(MultihomedFrame),
    /// Another path carries the data from now on.
    Path {
        /// The previous path; `None` at the start.
        from: Option<PathId>,
        /// The new path.
        to: PathId,
    },
}

/// The datagrams of a source, and their times.
#[derive(Clone, Debug)]
pub struct SourceSchedule {
    /// The time of the first datagram.
    pub start: Time,
    /// Nothing is due at this time or later; [`Time::MAX`] for no stop.
    pub stop: Time,
    /// The intervals between datagrams.
    pub intervals: Cbr,
    /// The number of datagrams.
    pub packets: u64,
    /// The size of a datagram on the wire in bytes.
    pub size: u32,
}

/// A limited number of datagrams, each on the path that the policy chooses; heartbeats end with the
/// last datagram.
#[derive(Clone, Debug)]
pub struct MultihomedSource {
    schedule: SourceSchedule,
    /// The time of the next datagram.
    next: Time,
    /// The number of datagrams sent.
    sent: u32,
    policy: DelayCentric,
    paths: Paths,
}

impl MultihomedSource {
    /// A source over the first `paths` paths.
    #[must_use]
    pub fn new(schedule: SourceSchedule, policy: DelayCentric, paths: u8) -> Self {
        Self {
            next: schedule.start,
            schedule,
            sent: 0,
            policy,
            paths: Paths::trusted(PathSet::first(paths)),
        }
    }

    /// The number of paths.
    #[must_use]
    pub fn paths(&self) -> u32 {
        self.paths.alive.len()
    }

    /// The deadline, given that of the policy, which takes long to compute.
    fn with_policy(&self, of_policy: Option<Deadline>) -> Option<Deadline> {
        if self.schedule.packets == 0 {
            return None;
        }
        let datagram = Deadline {
            at: self.next,
            why: "next datagram",
        };
        let next = Deadline::earlier(of_policy, Some(datagram));
        next.filter(|deadline| deadline.at < self.schedule.stop)
    }

    /// Whether nothing more is sent at `now` or later.
    fn is_over(&self, now: Time) -> bool {
        self.schedule.packets == 0 || now >= self.schedule.stop
    }

    fn send(&mut self, now: Time, out: &mut impl FnMut(MultihomedOutput)) {
        let meta = PacketMeta::udp(self.schedule.size);
        if self.sent == 0 {
            let to = self.policy.current();
            out(MultihomedOutput::Path { from: None, to });
        }
        let act = &mut |action| emit(action, out);
        let plan = self.policy.route(now, &meta, &self.paths, act);
        self.schedule.packets -= 1;
        self.sent = self.sent.saturating_add(1);
        let (number, sent) = (self.sent, now);
        for path in plan.copies {
            let frame = MultihomedFrame::Data { path, number, sent };
            out(MultihomedOutput::Send(frame));
        }
    }
}

fn emit(action: Action, out: &mut impl FnMut(MultihomedOutput)) {
    match action {
        Action::Heartbeat { path, id } => {
            out(MultihomedOutput::Send(MultihomedFrame::Heartbeat {
                path,
                id,
            }));
        }
        Action::Switched { from, to } => {
            let from = Some(from);
            out(MultihomedOutput::Path { from, to });
        }
        // A source is one flow, and sends no pairs.
        Action::FlowSwitched { .. } | Action::SendPair(_) => {}
    }
}

impl Machine for MultihomedSource {
    type Input = Feedback;
    type Output = MultihomedOutput;

    /// Feedback after the last datagram is ignored.
    fn handle_input(
        &mut self,
        now: Time,
        feedback: Feedback,
        out: &mut impl FnMut(MultihomedOutput),
    ) {
        if !self.is_over(now) {
            self.policy
                .handle_feedback(now, feedback, &mut |action| emit(action, out));
        }
    }

    /// The policy first, then the datagram of the same time.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(MultihomedOutput)) {
        let of_policy = self.policy.deadline();
        let is_due = self.with_policy(of_policy).is_some_and(|due| due.at <= now);
        if !is_due {
            return;
        }
        if of_policy.is_some_and(|d| d.at <= now) {
            let out = &mut |action| emit(action, out);
            self.policy.handle_timeout(now, &self.paths, out);
        }
        let mut burst = 0;
        while self.next <= now && self.next < self.schedule.stop && self.schedule.packets > 0 {
            if burst == MAX_BURST {
                // The sender was stalled: what is missing is not sent late.
                self.next = now + self.schedule.intervals.interval();
                return;
            }
            self.send(now, out);
            self.next += self.schedule.intervals.interval();
            burst += 1;
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.with_policy(self.policy.deadline())
    }
}
