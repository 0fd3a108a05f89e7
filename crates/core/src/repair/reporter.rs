//! The reports of a receiver.
//!
//! A report is due [`INTERVAL`] after the last one when a packet arrives, and [`GAP_INTERVAL`] after
//! it when the packet leaves a gap. When no more packets arrive, one is due as soon as each packet is
//! overdue, but not more often than at [`INTERVAL`]: the path of a packet may have become silent, and
//! the last packets of a burst are to be covered. [`BUSY`] after the last packet the interval becomes
//! [`IDLE_INTERVAL`], and they end [`IDLE`] after it.
//!
//! Reports are limited to 2 % of the bytes of the packets, or to 6000 bytes per second where that is
//! more ([`Credit`]). Each goes on the next of the cheapest paths in turn. One that shows a gap goes
//! on all of these if the limit permits it. One that shows that a packet is overdue goes on all paths
//! or, if the limit does not permit that and nothing has arrived for [`FAILED`], on another path than
//! that of the last first transmission, which may have failed. While packets arrive on others alone,
//! reports go there, too.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::credit::Credit;
use super::delay::{OneWayDelay, difference, span};
use super::report::{MAX_BITMAP, PATH_LEN, PathArrival, REPORT_LEN, Report, SendTime};
use super::sender::MARGIN;
use crate::estimate::Srtt;
use crate::frame::PathId;
use crate::policy::PathSet;
use crate::time::{Duration, Time};
use crate::window::{SlidingWindow, Verdict};

/// The interval of reports while packets arrive.
pub(super) const INTERVAL: Duration = Duration::from_millis(10);
/// The minimum interval of reports that show gaps.
const GAP_INTERVAL: Duration = Duration::from_millis(2);
/// A packet is overdue when the sender takes it for missing, and this long after: the intervals of
/// packets vary.
const OVERDUE: Duration = Duration::from_millis(1);
/// A packet is overdue this long after it is expected at the latest, also where the delay varies so much
/// that the sender waits longer: the reports that follow show it then.
const MAX_MISSING: Duration = Duration::from_millis(50);
/// The time after a packet in which another is expected.
const BUSY: Duration = Duration::from_millis(100);
/// The path of the last first transmission may have failed when no packet has arrived for this long
/// and one is overdue; the cheapest paths when nothing has arrived on them for this long, or for three
/// intervals of packets, and something has on another.
const FAILED: Duration = Duration::from_millis(30);
/// The interval of reports when no packet is expected.
const IDLE_INTERVAL: Duration = Duration::from_millis(25);
/// The time after the last packet at which reports end.
const IDLE: Duration = Duration::from_secs(1);
/// The time after which a packet is no longer awaited.
pub(super) const LIFETIME: Duration = Duration::from_secs(2);
/// The interval at which the newest packet is noted.
const TICK: Duration = Duration::from_millis(200);
/// The number of packets behind the newest from which on none is awaited, or fewer if the window is
/// smaller.
pub(super) const MAX_AWAITED: u64 = 8 * MAX_BITMAP as u64;
/// The maximum number of notes.
pub const MAX_TICKS: usize = 16;
/// A path without arrivals for this long is left out.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// The measured reordering of a path decays by one part in this many with each report, to half
/// within 7 s.
const REORDERING_DECAY: u64 = 1024;
/// The unit of reordering.
const REORDERING_UNIT: u64 = 100_000;

/// Makes the reports of a receiver.
#[derive(Clone, Debug)]
pub struct Reporter {
    paths: Vec<Option<Arrivals>>,
    base: u64,
    /// The ends of what had arrived, by time: the oldest becomes the base.
    ticks: VecDeque<Tick>,
    due: Option<Time>,
    /// The time at which the next packet is overdue; `None` once it is.
    overdue: Option<Time>,
    has_gap: bool,
    last: Option<Time>,
    last_packet: Time,
    /// The path of the newest packet whose first transmission arrived.
    last_path: Option<PathId>,
    /// The mean interval of packets.
    packet_interval: Srtt,
    /// The bytes of packets since the last report.
    packet_bytes: u64,
    credit: Credit,
    number: u64,
    /// The path of the last report.
    turn: PathId,
}

#[derive(Clone, Copy, Debug)]
struct Arrivals {
    newest: Time,
    arrived: Time,
    reordering: Duration,
    /// The delay of the newest frame of each report: the sender has the same samples.
    delay: Option<OneWayDelay>,
    /// The send time of the last sample.
    sampled: Time,
}

impl Arrivals {
    /// The delay with that of the newest frame, as the sender has it after a report.
    fn delay(&self) -> OneWayDelay {
        let newest = difference(self.arrived, self.newest);
        let mut delay = match self.delay {
            Some(mut known) if self.newest > self.sampled => {
                known.add(newest);
                known
            }
            Some(known) => known,
            None => OneWayDelay::new(newest),
        };
        delay.reordering = quantize(self.reordering);
        delay
    }

    /// The time after the arrival of the newest frame, and the interval of packets, at which the
    /// sender takes a packet of this path for missing.
    fn missing_after(&self) -> Duration {
        let missing = self.delay().missing_after(MARGIN);
        span(missing.saturating_sub(difference(self.arrived, self.newest)))
    }
}

#[derive(Clone, Copy, Debug)]
struct Tick {
    at: Time,
    end: u64,
}

/// The paths that can carry a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReportPaths {
    /// All that can.
    pub(crate) all: PathSet,
    /// Those that do while packets arrive: the cheapest.
    pub(crate) usual: PathSet,
}

/// A report with its number and the paths that carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedReport {
    pub(crate) number: u64,
    pub(crate) report: Report,
    pub(crate) paths: PathSet,
}

impl Reporter {
    /// A reporter for `paths` paths, whose first packet has the number `first`.
    #[must_use]
    pub fn new(now: Time, paths: u8, first: u64) -> Self {
        Self {
            paths: vec![None; usize::from(paths)],
            base: first,
            ticks: VecDeque::new(),
            due: None,
            overdue: None,
            has_gap: false,
            last: None,
            last_packet: now,
            last_path: None,
            packet_interval: Srtt::new(INTERVAL),
            packet_bytes: 0,
            credit: Credit::full(paths),
            number: 0,
            turn: PathId::default(),
        }
    }

    /// Notes the arrival of any frame on `path`, which was sent at `sent` by the sender's clock.
    pub fn on_frame(&mut self, now: Time, path: PathId, sent: Time) {
        let Some(path) = self.paths.get_mut(path.index()) else {
            return;
        };
        let Some(known) = path else {
            *path = Some(Arrivals {
                newest: sent,
                arrived: now,
                reordering: Duration::ZERO,
                delay: None,
                sampled: Time::ZERO,
            });
            return;
        };
        if sent >= known.newest {
            if now.since(known.arrived) >= FORGOTTEN {
                // The clocks have drifted since; the sender, too, has discarded its estimate.
                known.delay = None;
            }
            (known.newest, known.arrived) = (sent, now);
        } else {
            known.reordering = known.reordering.max(known.newest.since(sent));
        }
    }

    /// Notes the arrival of a packet of `len` bytes on the wire; `leaves_gap` states whether one
    /// before it is missing that was not missing before. `first_on` is its path if it is the newest
    /// packet and this its first transmission.
    pub fn on_packet(&mut self, now: Time, len: u32, leaves_gap: bool, first_on: Option<PathId>) {
        let interval = now.since(self.last_packet);
        if interval < BUSY {
            self.packet_interval.update(interval);
        }
        self.last_packet = now;
        self.last_path = first_on.or(self.last_path);
        self.packet_bytes += u64::from(len);
        self.has_gap |= leaves_gap;
        let interval = if leaves_gap { GAP_INTERVAL } else { INTERVAL };
        let due = self.last.map_or(now, |last| now.max(last + interval));
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        // At the earliest; what the path adds is computed in a silence, not with each packet.
        self.overdue = Some(now + self.packet_interval.value() + MARGIN + OVERDUE);
    }

    /// The time after a packet at which the next is overdue.
    fn overdue_after(&self) -> Duration {
        let path = self.last_path.and_then(|path| self.paths.get(path.index()));
        let missing = path.and_then(|path| Some(path.as_ref()?.missing_after()));
        let missing = missing.unwrap_or(MARGIN).min(MAX_MISSING);
        self.packet_interval.value() + missing + OVERDUE
    }

    /// The number of notes of arrivals, at most [`MAX_TICKS`].
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.ticks.len()
    }

    /// The time at which the next report is due.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        match (self.due, self.overdue) {
            (Some(due), Some(overdue)) => Some(due.min(overdue)),
            (due, overdue) => due.or(overdue),
        }
    }

    /// Returns the report that is due, on some of `paths`. `seen` has the packets that have
    /// arrived; a report of a frame with `overhead` bytes of headers counts against the limit.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Time,
        seen: &SlidingWindow,
        paths: ReportPaths,
        overhead: u32,
    ) -> Option<NumberedReport> {
        if self.overdue.is_some_and(|overdue| overdue <= now) {
            self.overdue = Some(self.last_packet + self.overdue_after());
        }
        if self.deadline().is_none_or(|due| due > now) {
            return None;
        }
        self.add_credit(now);
        self.advance_base(now, seen);
        let pause = now.since(self.last_packet);
        let is_overdue = pause < BUSY && self.overdue.is_none_or(|overdue| overdue <= now);
        self.overdue = self.overdue.filter(|overdue| *overdue > now);
        self.has_gap |= is_overdue;
        let usual = self.usual(now, paths);
        let wanted = if is_overdue { paths.all } else { usual };
        let report = self.report(now, seen);
        let len = report.len() as u64 + u64::from(overhead);
        let on_wanted = len * u64::from(wanted.len());
        // A report without a gap leaves what one on all paths needs, as far as the limit reaches.
        let on_all = len * u64::from(paths.all.len());
        let with_rest = (len + on_all).min(self.credit.most()).max(len);
        let needed = if self.has_gap { len } else { with_rest };
        let available = self.credit.available();
        if available < needed {
            self.due = Some(now + self.credit.wait(needed).max(GAP_INTERVAL));
            return None;
        }
        let paths = if self.has_gap && available >= on_wanted {
            wanted
        } else if is_overdue && pause >= FAILED {
            self.next_path(self.not_failed(paths.all))
        } else {
            self.next_path(usual)
        };
        self.credit.spend(len * u64::from(paths.len()));
        for arrivals in self.paths.iter_mut().flatten() {
            arrivals.delay = Some(arrivals.delay());
            arrivals.sampled = arrivals.newest;
        }
        let number = self.number;
        self.number += 1;
        self.has_gap = false;
        let next = match pause {
            // The packet after the one that is overdue is so after an interval of packets.
            _ if is_overdue => INTERVAL.max(self.packet_interval.value()),
            _ if pause < BUSY => INTERVAL,
            _ => IDLE_INTERVAL,
        };
        self.due = (pause < IDLE).then(|| now + next);
        Some(NumberedReport {
            number,
            report,
            paths,
        })
    }

    /// `paths` without that of the last first transmission, which may have failed; all if there is no
    /// other.
    fn not_failed(&self, paths: PathSet) -> PathSet {
        let last = self.last_path.map_or(PathSet::EMPTY, PathSet::only);
        let others = paths.without(last);
        if others.is_empty() { paths } else { others }
    }

    /// The paths of reports that show no gap: the cheapest, or those on which something arrives
    /// while nothing does on these. The peer has moved its packets, since the cheapest have failed.
    fn usual(&self, now: Time, paths: ReportPaths) -> PathSet {
        let since = |path: PathId| Some(now.since(self.paths.get(path.index())?.as_ref()?.arrived));
        let within =
            |span: Duration| move |path: &PathId| since(*path).is_some_and(|since| since < span);
        let silent = FAILED.max(self.packet_interval.value() * 3);
        if paths.usual.into_iter().any(|path| within(silent)(&path)) {
            return paths.usual;
        }
        let others = paths.all.without(paths.usual).into_iter();
        let others: PathSet = others.filter(within(BUSY)).collect();
        if others.is_empty() {
            paths.usual
        } else {
            others
        }
    }

    /// Adds what the limit permits since the last report.
    fn add_credit(&mut self, now: Time) {
        let since = self.last.map_or(Duration::ZERO, |last| now.since(last));
        self.credit
            .add(since, core::mem::take(&mut self.packet_bytes));
        self.last = Some(now);
    }

    /// The path after that of the last report, in turn.
    fn next_path(&mut self, live: PathSet) -> PathSet {
        let behind = |path: &PathId| *path > self.turn;
        let next = live
            .into_iter()
            .find(behind)
            .or_else(|| live.into_iter().next());
        self.turn = next.unwrap_or(self.turn);
        next.map_or(PathSet::EMPTY, PathSet::only)
    }

    /// Moves the base behind all that arrived, and behind gaps that are too old or too far back.
    fn advance_base(&mut self, now: Time, seen: &SlidingWindow) {
        let end = seen.end();
        if self.ticks.back().is_none_or(|tick| now >= tick.at + TICK) {
            self.ticks.push_back(Tick { at: now, end });
        }
        while let Some(tick) = self.ticks.front().copied()
            && (now >= tick.at + LIFETIME || self.ticks.len() > MAX_TICKS)
        {
            self.ticks.pop_front();
            self.base = self.base.max(tick.end);
        }
        let most = seen.span().min(MAX_AWAITED);
        self.base = self.base.max(end.saturating_sub(most));
        while self.base < end && seen.classify(self.base) != Verdict::Fresh {
            self.base += 1;
        }
    }

    fn report(&mut self, now: Time, seen: &SlidingWindow) -> Report {
        let paths = (0..).map(PathId).zip(&mut self.paths);
        let paths = paths.filter_map(|(path, arrivals)| {
            let arrivals = arrivals.as_mut()?;
            let age = now.since(arrivals.arrived);
            let decay = arrivals.reordering.0.div_ceil(REORDERING_DECAY);
            arrivals.reordering = Duration(arrivals.reordering.0 - decay);
            (age < FORGOTTEN).then(|| PathArrival {
                path,
                newest: SendTime::of(arrivals.newest),
                age: Duration::from_micros(age.0 / 1000),
                reordering: quantize(arrivals.reordering),
            })
        });
        Report {
            base: self.base,
            paths: paths.collect(),
            arrived: bitmap(self.base, seen),
        }
    }
}

/// Rounds up to a unit that a report can have, and limits to its range.
fn quantize(reordering: Duration) -> Duration {
    let units = reordering.0.div_ceil(REORDERING_UNIT);
    Duration(units.min(u64::from(u16::MAX)) * REORDERING_UNIT)
}

/// The packets from `base` on that have arrived.
fn bitmap(base: u64, seen: &SlidingWindow) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (offset, sequence) in (base..seen.end()).enumerate() {
        if offset % 8 == 0 {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut()
            && seen.classify(sequence) != Verdict::Fresh
        {
            *last |= 1 << (offset % 8);
        }
    }
    bytes
}

// A report of all paths and the longest bitmap fits into a packet of 1280 bytes or, with more than
// 50 paths, into one of 1500.
const _: () = assert!(REPORT_LEN + 50 * PATH_LEN + MAX_BITMAP < 1100);

#[cfg(test)]
mod tests;
