//! The packets that wait until their path has carried those before them.
//!
//! A path with a limited rate has a schedule: the time at which what was sent on it has left.
//! Packets that do not wait, copies and repairs count, so that those that wait give way to them.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::super::io::Output;
use super::Sender;
use super::reported::transmit;
use crate::event::{DropReason, Event};
use crate::frame::{Attempt, PathId, Payload};
use crate::metering::CellRate;
use crate::pmtu::TooLong;
use crate::policy::{PathSet, Paths, Plan};
use crate::repair::{OutgoingPacket, PathLimit};
use crate::tariff::Tariffs;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// Packets leave by this much earlier than scheduled, so that several leave at a time: a driver
/// that woke for each would have no time for anything else.
const GRAIN: Duration = Duration::from_micros(500);
/// The most that a driver that wakes late catches up.
const CATCH_UP: Duration = Duration::from_millis(5);
/// The longest time for which packets that do not wait delay those that do.
const MAX_DEBT: Duration = Duration::from_millis(200);
/// A packet that has waited for longer leaves in any case.
const MAX_SOJOURN: Duration = Duration::from_millis(500);
/// The maximum number of packets that wait. They are numbered when they come: the receiver's window
/// has to hold them, and those that leave before them.
pub(super) const MAX_WAITING: usize = 2048;

/// A path that is ahead of its ceiling is tried again after this.
const RETRY: Duration = Duration::from_millis(1);
/// The part of a ceiling that reports and heartbeats take.
const REPORT_SHARE: (u64, u64) = (1, 64);
/// The length of packets on a path that has carried none, in bytes.
const USUAL_LEN: u32 = 1000;
/// The mean length moves by this part towards that of each packet.
const LEN_WEIGHT: u32 = 16;
/// The longest IP packet.
const MAX_LEN: u32 = 65_535;

/// The schedules of the paths, and the packets that wait for each, in the order of the application.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    paths: Vec<Schedule>,
    /// The bytes that headers add to a packet on the wire.
    overhead: u32,
    /// The number of packets that wait.
    waiting: usize,
}

#[derive(Clone, Debug)]
struct Schedule {
    waiting: VecDeque<Waiting>,
    /// Their bytes.
    bytes: u64,
    /// `None` as long as no limit is known.
    rate: Option<Rate>,
    /// The most that the path may carry on the wire.
    ceiling: Option<Rate>,
    /// The mean length of packets, in bytes.
    mean_len: u32,
    /// The time at which what was sent has left.
    free: Time,
    /// The lead of the path over its ceiling, as of this wake: its meter counts what leaves.
    sent: CellRate,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    sequence: u64,
    since: Time,
    len: u32,
}

/// A packet whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Departure {
    path: PathId,
    packet: Waiting,
    /// Its scheduled time.
    start: Time,
    /// Whether its path is ahead of its ceiling: it has waited for the longest time.
    is_full: bool,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            rate: None,
            ceiling: None,
            mean_len: USUAL_LEN,
            free: Time::ZERO,
            sent: CellRate::default(),
        }
    }
}

impl Schedule {
    /// The most that packets may take, without their headers on the wire: all rates of the pacing
    /// and of reports are those of packets.
    fn packet_ceiling(&self, overhead: u32) -> Option<Rate> {
        let ceiling = Duration(self.ceiling?.0);
        let (part, whole) = REPORT_SHARE;
        let rest = ceiling - ceiling.scale(part, whole);
        let len = u64::from(self.mean_len);
        Some(Rate(rest.scale(len, len + u64::from(overhead)).0))
    }

    /// The time at which the next packet leaves.
    fn next(&self) -> Option<Time> {
        let first = self.waiting.front()?;
        Some(self.free.min(first.since + MAX_SOJOURN))
    }

    /// Adds a packet of `len` bytes with `overhead` bytes of headers that leaves; `start` is its
    /// scheduled time.
    fn add(&mut self, now: Time, start: Time, len: u32, overhead: u32) {
        self.sent.add(now, len.saturating_add(overhead));
        if self.ceiling.is_some() {
            let sum = self.mean_len * (LEN_WEIGHT - 1) + len.min(MAX_LEN);
            self.mean_len = sum / LEN_WEIGHT;
        }
        if let Some(rate) = self.rate {
            let time = rate.transmission_time(Bytes(len.into()));
            self.free = (start + time).min(now + MAX_DEBT);
        }
    }
}

impl Pacing {
    pub(super) fn new(paths: u8, tariffs: &Tariffs, overhead: u32) -> Self {
        let mut pacing = Self {
            paths: vec![Schedule::default(); usize::from(paths)],
            overhead,
            waiting: 0,
        };
        pacing.set_ceilings(tariffs);
        pacing
    }

    /// Applies the ceilings of other tariffs.
    pub(super) fn set_ceilings(&mut self, tariffs: &Tariffs) {
        for (id, path) in (0..).map(PathId).zip(&mut self.paths) {
            path.ceiling = tariffs.of(id).ceiling;
            path.rate = lower(path.rate, path.packet_ceiling(self.overhead));
        }
    }

    /// Notes how far each path is ahead of its ceiling at the beginning of a wake.
    pub(super) fn set_sent(&mut self, sent: impl Iterator<Item = CellRate>) {
        for (path, sent) in self.paths.iter_mut().zip(sent) {
            path.sent = sent;
        }
    }

    /// The number of packets that wait, at most [`MAX_WAITING`].
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The time at which a packet leaves.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Time> {
        if self.waiting == 0 {
            return None;
        }
        self.paths.iter().filter_map(Schedule::next).min()
    }

    /// The bytes that have to leave on `path` before a packet that begins to wait now.
    pub(super) fn unsent(&self, now: Time, path: PathId) -> Bytes {
        let Some(path) = self.paths.get(path.index()) else {
            return Bytes(0);
        };
        let owed = |rate: Rate| rate.bytes_in(path.free.since(now)).0;
        Bytes(path.bytes + path.rate.map_or(0, owed))
    }

    /// Limits `path` to what was measured and to its ceiling, and returns this limit.
    pub(super) fn set_limit(
        &mut self,
        now: Time,
        path: PathId,
        measured: Option<PathLimit>,
    ) -> Option<PathLimit> {
        let unsent = self.unsent(now, path);
        let path = self.paths.get_mut(path.index())?;
        let limit = match path.packet_ceiling(self.overhead) {
            None => measured,
            Some(ceiling) => Some(with_ceiling(
                measured,
                ceiling,
                path.free.since(now),
                unsent,
            )),
        };
        path.rate = limit.map(|limit| limit.rate);
        limit
    }

    /// Notes a packet of `len` bytes that leaves now on each of `paths`.
    pub(super) fn on_sent(&mut self, now: Time, paths: PathSet, len: u32) {
        for path in paths {
            if let Some(path) = self.paths.get_mut(path.index()) {
                path.add(now, path.free.max(now), len, self.overhead);
            }
        }
    }

    /// Counts `len` bytes on the wire that do not wait for the ceiling of their path.
    pub(super) fn count(&mut self, now: Time, path: PathId, len: u32) {
        if let Some(path) = self.paths.get_mut(path.index()) {
            path.sent.add(now, len);
        }
    }

    /// Those of `paths` that are ahead of their ceilings after what was sent in this wake.
    pub(super) fn full(&self, now: Time, paths: PathSet) -> PathSet {
        let is_full = |path: &PathId| self.is_full(now, *path);
        paths.into_iter().filter(is_full).collect()
    }

    fn is_full(&self, now: Time, path: PathId) -> bool {
        let path = self.paths.get(path.index());
        path.is_some_and(|path| path.sent.is_ahead(now))
    }

    /// Whether a packet has to wait for its turn on `path`.
    fn must_wait(&self, now: Time, path: PathId) -> bool {
        let path = self.paths.get(path.index());
        path.is_some_and(|path| {
            !path.waiting.is_empty() || path.free > now + GRAIN || path.sent.is_ahead(now)
        })
    }

    /// Lets packets on those of `paths` that are ahead of their ceilings wait.
    fn hold_back(&mut self, now: Time, paths: PathSet) {
        for path in paths {
            if let Some(path) = self.paths.get_mut(path.index())
                && path.sent.is_ahead(now)
            {
                path.free = path.free.max(now + RETRY);
            }
        }
    }

    /// Adds a packet that waits for its turn on `path`.
    fn push(&mut self, path: PathId, packet: Waiting) {
        if let Some(path) = self.paths.get_mut(path.index()) {
            path.waiting.push_back(packet);
            path.bytes += u64::from(packet.len);
            self.waiting += 1;
        }
    }

    /// Adds a packet that waited for another path, in the order of the application.
    fn insert(&mut self, to: PathId, packet: Waiting) {
        if let Some(path) = self.paths.get_mut(to.index()) {
            let before = |other: &Waiting| other.sequence < packet.sequence;
            let at = path.waiting.partition_point(before);
            path.waiting.insert(at, packet);
            path.bytes += u64::from(packet.len);
            self.waiting += 1;
        }
    }

    /// Notes that a packet leaves on its path.
    fn depart(&mut self, now: Time, departure: Departure) {
        if let Some(path) = self.paths.get_mut(departure.path.index()) {
            path.add(now, departure.start, departure.packet.len, self.overhead);
        }
    }

    /// Takes the next packet that leaves by `until`.
    fn next(&mut self, now: Time, until: Time) -> Option<Departure> {
        if self.waiting == 0 {
            return None;
        }
        let paths = (0..).map(PathId).zip(&mut self.paths);
        let mut due = paths.filter(|(_, path)| path.next().is_some_and(|at| at <= until));
        let (id, path) = due.next()?;
        let next = path.waiting.pop_front()?;
        self.waiting -= 1;
        path.bytes -= u64::from(next.len);
        // From its scheduled time, or late wakes would lower the rate.
        let start = path.free.max(Time(now.0.saturating_sub(CATCH_UP.0)));
        Some(Departure {
            path: id,
            packet: next,
            start,
            is_full: path.sent.is_ahead(now),
        })
    }

    /// Moves the packets that wait for `from` to those for `to`.
    fn divert(&mut self, from: PathId, to: PathId) {
        let Some(path) = self.paths.get_mut(from.index()) else {
            return;
        };
        let moved = core::mem::take(&mut path.waiting);
        let bytes = core::mem::take(&mut path.bytes);
        if let Some(path) = self.paths.get_mut(to.index()) {
            path.waiting.extend(moved);
            path.bytes += bytes;
            let waiting = path.waiting.make_contiguous();
            waiting.sort_by_key(|packet| packet.sequence);
        }
    }
}

/// The limit of a path that also has a ceiling, at which what was sent leaves after `backlog`.
fn with_ceiling(
    measured: Option<PathLimit>,
    ceiling: Rate,
    backlog: Duration,
    unsent: Bytes,
) -> PathLimit {
    let at_ceiling = PathLimit {
        rate: ceiling,
        capacity: ceiling,
        queue: backlog,
        unsent,
        drains: false,
    };
    let Some(limit) = measured else {
        return at_ceiling;
    };
    PathLimit {
        rate: limit.rate.min(ceiling),
        capacity: limit.capacity.min(ceiling),
        queue: limit.queue.max(backlog),
        ..limit
    }
}

/// The lower of two rates; `None` is no limit.
fn lower(one: Option<Rate>, other: Option<Rate>) -> Option<Rate> {
    one.into_iter().chain(other).min()
}

impl<P: Payload> Sender<P> {
    /// The number of packets that wait for their turn.
    #[cfg(test)]
    pub(in super::super) fn waiting(&self) -> usize {
        self.pacing.waiting()
    }

    /// Sends a packet now or, if its plan lets it wait, when it is its turn.
    #[inline]
    pub(super) fn pace(
        &mut self,
        now: Time,
        packet: OutgoingPacket<P>,
        plan: &Plan,
        out: &mut impl FnMut(Output<P>),
    ) {
        let path = plan.copies.into_iter().next().unwrap_or_default();
        if !plan.may_wait || !self.pacing.must_wait(now, path) {
            return self.send_reported(now, packet, plan.copies, out);
        }
        let Some(repair) = &mut self.repair else {
            return;
        };
        let waiting = Waiting {
            sequence: packet.sequence,
            since: now,
            len: packet.meta.size,
        };
        self.pacing.push(path, waiting);
        repair.enqueue(packet);
    }

    /// Sends the packets whose turn it is.
    pub(super) fn send_paced(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        self.leave_failed_paths();
        self.pacing.hold_back(now, self.all);
        while let Some(next) = self.pacing.next(now, now + GRAIN) {
            if next.is_full {
                self.drop_waiting(next.packet, DropReason::QueueFull, out);
            } else {
                self.send_waiting(now, next, out);
            }
            self.pacing.hold_back(now, PathSet::only(next.path));
        }
    }

    /// Sends all packets that wait, since nothing is paced any more.
    #[cold]
    pub(super) fn send_all_waiting(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        while let Some(next) = self.pacing.next(now, Time::MAX) {
            self.send_waiting(now, next, out);
        }
        let paths = u8::try_from(self.pacing.paths.len()).unwrap_or(u8::MAX);
        let overhead = self.outgoing.encapsulation.data;
        self.pacing = Pacing::new(paths, &self.tariffs, overhead);
    }

    /// Moves the packets that wait for a path which does not deliver to one that does.
    fn leave_failed_paths(&mut self) {
        if self.pacing.waiting == 0 {
            return;
        }
        let Some(repair) = &self.repair else { return };
        let Paths { copies, full, .. } = self.outgoing.paths();
        let usable = copies.or(full);
        for path in self.all {
            let is_busy = !self.pacing.paths[path.index()].waiting.is_empty();
            let delivers = |path| usable.contains(path) && !repair.is_silent(path);
            if is_busy
                && !delivers(path)
                && let Some(other) = repair
                    .cheapest_fastest(usable)
                    .filter(|other| delivers(*other))
            {
                self.pacing.divert(path, other);
            }
        }
    }

    /// Drops a packet that waited.
    fn drop_waiting(
        &mut self,
        packet: Waiting,
        reason: DropReason,
        out: &mut impl FnMut(Output<P>),
    ) {
        if let Some(repair) = &mut self.repair {
            repair.cancel(packet.sequence);
        }
        let len = packet.len;
        out(Output::Event(Event::Dropped { reason, len }));
    }

    fn send_waiting(&mut self, now: Time, next: Departure, out: &mut impl FnMut(Output<P>)) {
        let Some(repair) = &mut self.repair else {
            return;
        };
        let Some(packet) = repair.queued(next.packet.sequence) else {
            return self.drop_waiting(next.packet, DropReason::PastDeadline, out);
        };
        match self.outgoing.carriers(&self.sizes, &packet.meta) {
            Ok(Paths { copies, full, .. }) => {
                let carriers = copies.or(full);
                if !carriers.contains(next.path)
                    && let Some(other) = repair.cheapest_fastest(carriers)
                {
                    // Its turn there is another: that path may have a lower ceiling.
                    return self.pacing.insert(other, next.packet);
                }
                self.pacing.depart(now, next);
                let paths = PathSet::only(next.path);
                repair.depart(now, next.packet.sequence, paths);
                if self.peer_reports {
                    transmit(&self.outgoing, now, packet, Attempt::First, paths, out);
                } else {
                    let (sequence, size) = (packet.sequence, packet.meta.size);
                    self.send_plain(
                        now,
                        sequence,
                        size,
                        &Plan::copies(paths),
                        packet.payload,
                        out,
                    );
                }
            }
            // The path MTU has become smaller since.
            Err(TooLong { limit, is_final }) => {
                repair.cancel(next.packet.sequence);
                out(Output::Refused {
                    payload: packet.payload,
                    limit,
                    is_final,
                });
            }
        }
    }
}
