//! The packets that wait until their path has carried those before them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::super::io::Output;
use super::Sender;
use crate::event::{DropReason, Event};
use crate::frame::{Attempt, PathId, Payload};
use crate::machine::Deadline;
use crate::policy::{PathSet, Plan};
use crate::repair::Kept;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// Packets leave by this much earlier than their turn, so that several leave at a time: a driver
/// that woke for each would have no time for anything else.
const GRAIN: Duration = Duration::from_micros(500);
/// The longest time for which what was sent delays what waits.
const MAX_DEBT: Duration = Duration::from_secs(1);
/// The maximum number of packets that wait on a path.
const MAX_PACED: usize = 4096;

/// The packets that wait, in the order of the application on each path.
#[derive(Clone, Debug)]
pub(super) struct PacedQueues(Vec<PacedQueue>);

#[derive(Clone, Debug, Default)]
struct PacedQueue {
    waiting: VecDeque<Waiting>,
    /// The time at which what was sent has left, at the rate of the path.
    free: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    sequence: u64,
    len: u32,
}

impl PacedQueues {
    pub(super) fn new(paths: u8) -> Self {
        Self(alloc::vec![PacedQueue::default(); usize::from(paths)])
    }

    /// The time at which a packet leaves.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let busy = self.0.iter().filter(|queue| !queue.waiting.is_empty());
        let at = busy.map(|queue| queue.free).min()?;
        Some(Deadline {
            at,
            why: "paced packet",
        })
    }

    /// Notes a packet of `len` bytes that leaves on `path`, whose rate is `rate` if that is limited.
    fn on_sent(&mut self, now: Time, path: PathId, len: u32, rate: Option<Rate>) {
        if let (Some(queue), Some(rate)) = (self.0.get_mut(path.index()), rate) {
            let time = rate.transmission_time(Bytes(len.into()));
            queue.free = (queue.free.max(now) + time).min(now + MAX_DEBT);
        }
    }

    /// Whether a packet can leave on `path` now, before which none waits.
    fn is_free(&self, now: Time, path: PathId) -> bool {
        let queue = self.0.get(path.index());
        queue.is_none_or(|queue| {
            let is_full = queue.waiting.len() >= MAX_PACED;
            is_full || (queue.waiting.is_empty() && queue.free <= now + GRAIN)
        })
    }

    /// Takes the next packet that leaves by `until`, with its path.
    fn next(&mut self, until: Time) -> Option<(PathId, Waiting)> {
        let paths = (0..).map(PathId).zip(&mut self.0);
        let mut due = paths.filter(|(_, queue)| queue.free <= until);
        due.find_map(|(path, queue)| queue.waiting.pop_front().map(|next| (path, next)))
    }
}

impl<P: Payload> Sender<P> {
    /// Sends a packet now, or when it is its turn if its plan lets it wait.
    pub(super) fn pace(
        &mut self,
        now: Time,
        packet: Kept<P>,
        plan: &Plan,
        out: &mut impl FnMut(Output<P>),
    ) {
        let path = plan.copies.into_iter().next();
        let (Some(path), Some(repair)) = (path, &mut self.repair) else {
            return;
        };
        if !plan.may_wait || self.paced.is_free(now, path) {
            let rate = repair.rate(now, path);
            self.paced.on_sent(now, path, packet.meta.size, rate);
            return self.send_reported(now, packet, plan.copies, out);
        }
        if let Some(queue) = self.paced.0.get_mut(path.index()) {
            let (sequence, len) = (packet.sequence, packet.meta.size);
            queue.waiting.push_back(Waiting { sequence, len });
            repair.enqueue(packet);
        }
    }

    /// Sends the packets whose turn it is.
    pub(super) fn send_paced(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        while let Some((path, next)) = self.paced.next(now + GRAIN) {
            self.send_waiting(now, path, next, out);
        }
    }

    /// Sends all packets that wait.
    pub(super) fn send_all_paced(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        while let Some((path, next)) = self.paced.next(Time::MAX) {
            self.send_waiting(now, path, next, out);
        }
    }

    fn send_waiting(
        &mut self,
        now: Time,
        path: PathId,
        next: Waiting,
        out: &mut impl FnMut(Output<P>),
    ) {
        let Some(repair) = &mut self.repair else {
            return;
        };
        let Some(packet) = repair.queued(next.sequence) else {
            let (reason, len) = (DropReason::PastDeadline, next.len);
            return out(Output::Event(Event::Dropped { reason, len }));
        };
        let rate = repair.rate(now, path);
        self.paced.on_sent(now, path, next.len, rate);
        // The path may have failed since.
        let usable = super::reported::carriers(&self.sizes, &self.outgoing, &packet.meta);
        let carrying = usable.preferred_or_lowest(path);
        let paths = if carrying.is_empty() {
            PathSet::only(path)
        } else {
            carrying
        };
        repair.depart(now, next.sequence, paths);
        super::reported::transmit(&self.outgoing, now, packet, Attempt::First, paths, out);
    }
}
