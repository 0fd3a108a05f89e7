//! The sender's half of repairs: keeps packets, finds those that are missing, and sends them again.

use alloc::vec;
use alloc::vec::Vec;

use self::timing::Derived;
use super::budget::Budget;
use super::config::RepairConfig;
use super::estimates::{Estimates, PathEstimate};
use super::outstanding::{Entry, Outstanding, State};
use super::rate::{Arrival, PathLimit, PathRate};
use super::report::Report;
use super::statistics::RepairStatistics;
use crate::frame::{Encapsulation, Epoch, PathId, Payload};
use crate::packet::PacketMeta;
use crate::policy::{PathSet, Paths};
use crate::tariff::Tariffs;
use crate::time::{Duration, Time};
use crate::units::Bytes;

mod missing;
mod resend;
mod timing;

/// A packet that a report does not contain is missing this long after it was due.
pub const MARGIN: Duration = Duration::from_millis(5);
/// A packet that no report covers is missing this long after the time in which one usually does:
/// with reports every 10 ms, 22 ms after a round trip.
pub const SLACK: Duration = Duration::from_millis(12);
/// As long as no report has arrived, a packet is missing after the deadline divided by this.
const UNREPORTED_DIVISOR: u64 = 2;
/// The most losses of a path, in millionths, that are borne if there is no time to repair them.
pub const MAX_UNREPAIRED: u32 = 5_000;
/// A queueing delay above this that rises is the beginning of congestion.
pub const RISING_QUEUE: Duration = Duration::from_millis(15);
/// The minimum number of losses in one report that is a burst.
const BURST: u32 = 3;
/// The time after a burst in which packets get a copy.
const AFTER_BURST: Duration = Duration::from_millis(30);
/// The number of consecutive missing packets that make a path silent.
const SILENT: u32 = 3;
/// The interval at which packets that wait for the budget or a ceiling are tried again.
const RETRY: Duration = Duration::from_millis(2);
/// With more packets than this, those that may be missing are looked for once in [`RETRY`].
const MANY_KEPT: usize = 1024;
/// The most packets that are kept, whatever the rate.
const MAX_PACKETS: usize = 1 << 16;

/// Keeps the packets of a sender, and repairs losses.
#[derive(Clone, Debug)]
pub struct Repair<P> {
    config: RepairConfig,
    encapsulation: Encapsulation,
    tariffs: Tariffs,
    budget: Budget,
    estimates: Estimates,
    rates: Vec<PathRate>,
    outstanding: Outstanding<P>,
    /// The number of packets that wait for the budget or a ceiling.
    waiting: u32,
    /// The losses of each path.
    misses: Vec<Misses>,
    /// The values that follow from the estimates: these change with reports alone, and are used
    /// for every packet.
    derived: Vec<Derived>,
    /// The number of the newest report.
    newest_report: Option<u64>,
    /// The time at which the next packet may be missing, at the earliest.
    check: Option<Time>,
    statistics: RepairStatistics,
}

/// The packets that are missing on a path.
#[derive(Clone, Copy, Debug, Default)]
struct Misses {
    /// Their number since the last arrival on the path.
    count: u32,
    /// The time at which the first of these was sent.
    since: Time,
    /// Those that the report in progress shows.
    burst: u32,
    /// The end of the time after a burst.
    burst_end: Time,
}

/// A packet that is sent, and kept to be sent again.
#[derive(Clone, Debug)]
pub struct OutgoingPacket<P> {
    /// Its sequence number.
    pub sequence: u64,
    /// Its epoch.
    pub epoch: Epoch,
    /// Its metadata.
    pub meta: PacketMeta,
    /// Its content.
    pub payload: P,
}

/// An output of the sender's half.
#[derive(Clone, Debug)]
pub enum RepairOutput<P> {
    /// Send this packet again.
    Resend {
        /// The packet.
        packet: OutgoingPacket<P>,
        /// The paths.
        paths: PathSet,
    },
    /// This packet of `len` bytes is missing and would arrive late.
    GivenUp {
        /// Its length in bytes.
        len: u32,
    },
}

impl<P: Payload> Repair<P> {
    /// Repairs over `paths` paths with a checked configuration; `tariffs` has their costs.
    #[must_use]
    pub fn new(
        config: RepairConfig,
        paths: u8,
        encapsulation: Encapsulation,
        tariffs: Tariffs,
    ) -> Self {
        let mut new = Self {
            config,
            encapsulation,
            tariffs,
            budget: Budget::new(config.redundancy),
            estimates: Estimates::new(paths),
            rates: (0..paths).map(|path| PathRate::new(PathId(path))).collect(),
            outstanding: Outstanding::default(),
            waiting: 0,
            misses: vec![Misses::default(); usize::from(paths)],
            derived: Vec::new(),
            newest_report: None,
            check: None,
            statistics: RepairStatistics::default(),
        };
        new.derive();
        new
    }

    /// Applies another checked configuration; packets that are kept retain their deadline.
    pub fn adjust(&mut self, config: RepairConfig, tariffs: Tariffs) {
        self.config = config;
        self.tariffs = tariffs;
        self.budget.set_share(config.redundancy);
        self.derive();
    }

    /// Notes that the peer has restarted: it numbers reports from the beginning, by another clock.
    ///
    /// What was sent before is not sent again: the peer may have delivered it before it restarted,
    /// and does not remember it.
    pub fn on_peer_restarted(&mut self) {
        self.end_sent();
        self.newest_report = None;
        self.estimates.restart();
        self.rates.iter_mut().for_each(PathRate::restart);
        self.misses.fill(Misses::default());
        self.derive();
    }

    /// Sends nothing again of what was sent before.
    pub fn end_sent(&mut self) {
        let sent = self.outstanding.iter_mut().map(|(_, entry)| entry);
        for entry in sent.filter(|entry| entry.state != State::Queued) {
            entry.end();
        }
        self.waiting = 0;
    }

    /// The counters.
    #[must_use]
    pub const fn statistics(&self) -> RepairStatistics {
        self.statistics
    }

    /// The number of packets that are kept.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.outstanding.len()
    }

    /// The most packets that are kept.
    #[must_use]
    pub const fn capacity() -> usize {
        MAX_PACKETS
    }

    /// The measured delay, losses and capacity of `path`, and the time that a repair takes.
    #[must_use]
    pub fn estimate(&self, path: PathId) -> Option<PathEstimate> {
        let capacity = self.rates.get(path.index())?.capacity();
        let estimate = self.estimates.path(path)?;
        let repair_time = self.repair_time(path);
        Some(PathEstimate {
            capacity,
            repair_time,
            repair_is_late: repair_time.is_some_and(|time| time > self.config.deadline),
            ..estimate
        })
    }

    /// The limit of `path` at `now`, for which `unsent` bytes wait; `None` before it was used
    /// beyond its capacity.
    #[must_use]
    pub fn limit(&self, now: Time, path: PathId, unsent: Bytes) -> Option<PathLimit> {
        self.rates.get(path.index())?.limit(now, unsent)
    }

    /// Whether packets on `path` have been missing since the last arrival on it.
    #[must_use]
    pub fn is_silent(&self, path: PathId) -> bool {
        self.misses
            .get(path.index())
            .is_some_and(|misses| misses.count >= SILENT)
    }

    /// Keeps a packet that is sent for the first time now, on `paths`.
    #[inline]
    pub fn on_sent(&mut self, now: Time, packet: OutgoingPacket<P>, paths: PathSet) {
        let (sequence, meta) = (packet.sequence, packet.meta);
        self.make_room(sequence);
        let mut entry = Entry::queued(packet.into());
        self.note_first_sent(now, &mut entry, meta, paths);
        self.outstanding.push(sequence, entry);
    }

    /// Keeps a packet that will be sent for the first time later, with [`depart`](Self::depart).
    pub fn enqueue(&mut self, packet: OutgoingPacket<P>) {
        self.make_room(packet.sequence);
        self.outstanding
            .push(packet.sequence, Entry::queued(packet.into()));
    }

    /// Forgets the packets that cannot be kept beside packet `sequence`.
    fn make_room(&mut self, sequence: u64) {
        // Packets in between were sent to a peer that did not report.
        let follows = sequence == self.outstanding.end();
        while self.outstanding.len() >= MAX_PACKETS || (!follows && self.outstanding.len() > 0) {
            let oldest = self.outstanding.forget_oldest();
            self.waiting -= u32::from(oldest == Some(State::Missing));
        }
    }

    /// Sends packet `sequence` for the first time, on `paths`, if it is still kept.
    pub fn depart(&mut self, now: Time, sequence: u64, paths: PathSet) {
        let mut outstanding = core::mem::take(&mut self.outstanding);
        if let Some(entry) = outstanding.get_mut(sequence)
            && let Some(meta) = entry.packet.as_ref().map(|packet| packet.meta)
        {
            self.note_first_sent(now, entry, meta, paths);
        }
        self.outstanding = outstanding;
    }

    /// Notes the first transmission of a packet.
    #[inline]
    fn note_first_sent(
        &mut self,
        now: Time,
        entry: &mut Entry<P>,
        meta: PacketMeta,
        paths: PathSet,
    ) {
        let timeouts = paths.into_iter().map(|path| self.timeout(path));
        let covered = now + timeouts.max().unwrap_or_default();
        let len = meta.size;
        let size = len + self.encapsulation.data;
        entry.deadline = now + meta.deadline_or(self.config.deadline);
        entry.covered = covered;
        entry.state = State::InFlight;
        entry.transmit(now, paths);
        self.budget.earn(now, size);
        self.statistics.packets += 1;
        self.statistics.packet_bytes += u64::from(size);
        self.note_sent(now, paths, len);
        self.schedule(covered);
    }

    /// Notes a packet of `len` bytes that is sent on each of `paths`.
    #[inline]
    fn note_sent(&mut self, now: Time, paths: PathSet, len: u32) {
        for path in paths {
            if let Some(rate) = self.rates.get_mut(path.index()) {
                rate.on_sent(now, len);
            }
        }
    }

    /// Ends packet `sequence`, which waits for its first transmission.
    pub fn cancel(&mut self, sequence: u64) {
        if let Some(entry) = self.outstanding.get_mut(sequence) {
            entry.end();
        }
    }

    /// Packet `sequence`, if it waits for its first transmission.
    #[must_use]
    pub fn queued(&self, sequence: u64) -> Option<OutgoingPacket<P>> {
        let entry = self.outstanding.get(sequence)?;
        let packet = entry.packet.as_ref()?;
        (entry.state == State::Queued).then(|| packet.numbered(sequence))
    }

    /// Handles report `number`, which the receiver made at `made` by its clock. `carriers` returns
    /// the paths that can carry a packet.
    pub fn on_report(
        &mut self,
        now: Time,
        number: u64,
        made: Time,
        report: &Report,
        carriers: impl Fn(&PacketMeta) -> Paths,
        out: &mut impl FnMut(RepairOutput<P>),
    ) {
        self.statistics.reports += 1;
        // An overtaken report lacks what arrived after it, which is not missing.
        if self.newest_report.is_some_and(|newest| number <= newest) {
            return;
        }
        self.newest_report = Some(number);
        self.estimates.on_report(now, made, report);
        self.derive();
        for (path, misses) in (0..).map(PathId).zip(&mut self.misses) {
            if !self.estimates.is_silent_since(path, misses.since) {
                misses.count = 0;
            }
        }
        self.find_missing(now, Some((made, report)), out);
        self.measure_rates(now, made, report);
        self.repair(now, carriers, out);
        self.outstanding.expire(now);
    }

    fn measure_rates(&mut self, now: Time, made: Time, report: &Report) {
        for arrival in &report.paths {
            let path = arrival.path;
            let estimates = &self.estimates;
            if let (Some(newest), Some(feedback_time), Some(rate)) = (
                estimates.newest(path),
                estimates.feedback_time(path),
                self.rates.get_mut(path.index()),
            ) {
                let at = made - arrival.age;
                let was_limited = rate.capacity().is_some();
                rate.on_arrival(Arrival { at, newest }, feedback_time);
                // What was lost so far was more than the path carries.
                if rate.capacity().is_some() && !was_limited {
                    self.estimates.forget_losses(now, path);
                }
            }
        }
    }

    /// Sends again what is missing because no report has covered it, or what waited for the budget
    /// or a ceiling.
    pub fn handle_timeout(
        &mut self,
        now: Time,
        carriers: impl Fn(&PacketMeta) -> Paths,
        out: &mut impl FnMut(RepairOutput<P>),
    ) {
        if self.check.is_some_and(|check| check <= now) {
            self.find_missing(now, None, out);
            self.repair(now, carriers, out);
            self.outstanding.expire(now);
        }
    }

    /// The time at which a packet may be missing.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.check
    }

    /// Those of `paths` that cost least among those that are not silent; none if all are.
    fn cheapest(&self, paths: PathSet) -> PathSet {
        let delivering = paths.into_iter().filter(|path| !self.is_silent(*path));
        self.tariffs.cheapest(delivering.collect())
    }

    /// The path that is expected to deliver a frame first; a silent one only if all are.
    pub(crate) fn fastest(&self, paths: PathSet) -> Option<PathId> {
        let order = |path: &PathId| {
            let one_way = self.estimates.one_way(*path);
            (self.is_silent(*path), one_way.unwrap_or(Duration::MAX))
        };
        paths.into_iter().min_by_key(order)
    }

    /// The fastest of the cheapest of `paths` that are not silent; of all if these are.
    pub(crate) fn cheapest_fastest(&self, paths: PathSet) -> Option<PathId> {
        self.fastest(self.cheapest(paths))
            .or_else(|| self.fastest(paths))
    }

    /// Notes that a packet may be missing at `at`. While many are kept, that is checked in steps:
    /// each check looks at all of them.
    fn schedule(&mut self, at: Time) {
        let at = if self.outstanding.len() > MANY_KEPT {
            Time(at.0.next_multiple_of(RETRY.0))
        } else {
            at
        };
        self.check = Some(self.check.map_or(at, |before| before.min(at)));
    }
}
