//! The reports of a receiver.
//!
//! A report is due [`INTERVAL`] after the last one when a packet arrives, and [`GAP_INTERVAL`] after
//! it when the packet leaves a gap. When no more packets arrive, reports go on: the path of a packet
//! may have become silent, and the last packets of a burst are to be covered. After [`BUSY`] their
//! interval is [`IDLE_INTERVAL`], and they end [`IDLE`] after the last packet.
//!
//! Reports are limited to 2 % of the bytes of the packets, or to 6000 bytes per second where that is
//! more ([`Credit`]). Each goes on the next of the cheapest paths in turn. One that shows a gap goes
//! on all of these if the limit permits it; one that shows that a packet is overdue by the interval of
//! those before it, at most [`OVERDUE`], on all paths: the cheapest may have failed.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::credit::Credit;
use super::report::{MAX_BITMAP, PATH_LEN, PathArrival, REPORT_LEN, Report, SendTime};
use crate::estimate::Srtt;
use crate::frame::PathId;
use crate::machine::Deadline;
use crate::policy::PathSet;
use crate::time::{Duration, Time};
use crate::window::{SlidingWindow, Verdict};

/// The interval of reports while packets arrive.
pub(super) const INTERVAL: Duration = Duration::from_millis(10);
/// The minimum interval of reports that show gaps.
const GAP_INTERVAL: Duration = Duration::from_millis(2);
/// A packet is overdue after the interval of those before it and as much again, at most this.
const OVERDUE: Duration = Duration::from_millis(5);
/// The time after a packet in which another is expected.
const BUSY: Duration = Duration::from_millis(100);
/// The interval of reports when no packet is expected.
const IDLE_INTERVAL: Duration = Duration::from_millis(25);
/// The time after the last packet at which reports end.
const IDLE: Duration = Duration::from_secs(1);
/// The time after which a packet is no longer awaited.
const LIFETIME: Duration = Duration::from_secs(2);
/// The interval at which the newest packet is noted.
const TICK: Duration = Duration::from_millis(200);
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
    has_gap: bool,
    last: Option<Time>,
    last_packet: Time,
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
            has_gap: false,
            last: None,
            last_packet: now,
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
            });
            return;
        };
        if sent >= known.newest {
            (known.newest, known.arrived) = (sent, now);
        } else {
            known.reordering = known.reordering.max(known.newest.since(sent));
        }
    }

    /// Notes the arrival of a packet of `len` bytes on the wire; `leaves_gap` states whether one
    /// before it is missing that was not missing before.
    pub fn on_packet(&mut self, now: Time, len: u32, leaves_gap: bool) {
        let interval = now.since(self.last_packet);
        if interval < BUSY {
            self.packet_interval.update(interval);
        }
        self.last_packet = now;
        self.packet_bytes += u64::from(len);
        self.has_gap |= leaves_gap;
        let interval = if leaves_gap { GAP_INTERVAL } else { INTERVAL };
        let due = self.last.map_or(now, |last| now.max(last + interval));
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// The number of notes of arrivals, at most [`MAX_TICKS`].
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.ticks.len()
    }

    /// The time at which the next report is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, why: "report" })
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
        if self.due.is_none_or(|due| due > now) {
            return None;
        }
        self.add_credit(now);
        self.advance_base(now, seen);
        let pause = now.since(self.last_packet);
        let interval = self.packet_interval.value();
        let overdue = interval + interval.min(OVERDUE);
        let is_overdue = pause < BUSY && pause > overdue;
        self.has_gap |= is_overdue;
        let wanted = if is_overdue { paths.all } else { paths.usual };
        let report = self.report(now, seen);
        let len = report.len() as u64 + u64::from(overhead);
        let on_wanted = len * u64::from(wanted.len());
        // A report without a gap leaves what one on all paths needs.
        let on_all = len * u64::from(paths.all.len());
        let needed = if self.has_gap { len } else { len + on_all };
        let available = self.credit.available();
        if available < needed {
            self.due = Some(now + self.credit.wait(needed).max(GAP_INTERVAL));
            return None;
        }
        let paths = if self.has_gap && available >= on_wanted {
            wanted
        } else {
            self.next_path(paths.usual)
        };
        self.credit.spend(len * u64::from(paths.len()));
        let number = self.number;
        self.number += 1;
        self.has_gap = false;
        let next = if pause < BUSY {
            INTERVAL
        } else {
            IDLE_INTERVAL
        };
        self.due = (pause < IDLE).then(|| now + next);
        Some(NumberedReport {
            number,
            report,
            paths,
        })
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
        let most = seen.span().min(8 * MAX_BITMAP as u64);
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
mod tests {
    use super::*;
    use crate::repair::credit::{CEILING, FLOOR, MAX_CREDIT};

    const MS: Duration = Duration::from_millis(1);
    const LEN: u32 = 1395;
    const OVERHEAD: u32 = 60;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// A receiver of two paths.
    struct Receiver {
        reporter: Reporter,
        seen: SlidingWindow,
        /// The time and length of each report with its paths.
        reports: Vec<(Time, NumberedReport)>,
        usual: PathSet,
    }

    impl Receiver {
        fn new() -> Self {
            Self {
                reporter: Reporter::new(Time::ZERO, 2, 0),
                seen: SlidingWindow::new(4096),
                reports: Vec::new(),
                usual: PathSet::first(2),
            }
        }

        /// Makes all reports that are due until `until`.
        fn run(&mut self, until: Time) {
            while let Some(due) = self.reporter.deadline().filter(|due| due.at <= until) {
                let all = PathSet::first(2);
                let usual = self.usual;
                let paths = ReportPaths { all, usual };
                let made = self
                    .reporter
                    .handle_timeout(due.at, &self.seen, paths, OVERHEAD);
                self.reports.extend(made.map(|report| (due.at, report)));
                assert!(self.reporter.deadline().is_none_or(|next| next.at > due.at));
            }
        }

        fn receive(&mut self, now: Time, sequence: u64) {
            self.run(now);
            let leaves_gap = sequence > self.seen.end();
            self.seen.accept(sequence);
            self.reporter.on_frame(now, PathId(0), now - MS * 20);
            self.reporter.on_packet(now, LEN, leaves_gap);
        }

        fn bytes(&self) -> u64 {
            let bytes = |(_, made): &(Time, NumberedReport)| {
                (made.report.len() as u64 + u64::from(OVERHEAD)) * u64::from(made.paths.len())
            };
            self.reports.iter().map(bytes).sum()
        }
    }

    /// A costly path carries a report only while packets are overdue.
    #[test]
    fn a_costly_path_carries_the_reports_of_overdue_packets() {
        let mut receiver = Receiver::new();
        receiver.usual = PathSet::only(PathId(0));
        for n in (0..200).filter(|n| n % 10 != 5) {
            receiver.receive(at(n * 2), n);
        }
        let costly = |made: &NumberedReport| made.paths.contains(PathId(1));
        assert!(receiver.reports.len() > 40);
        assert!(!receiver.reports.iter().any(|(_, made)| costly(made)));
        receiver.run(at(2000));
        let on_costly = receiver.reports.iter().filter(|(_, made)| costly(made));
        let times: Vec<_> = on_costly.map(|(time, _)| *time).collect();
        let (first, last) = (times[0], times[times.len() - 1]);
        assert!(first <= at(398 + 20) && last <= at(398 + 110), "{times:?}");
    }

    #[test]
    fn reports_follow_packets_within_the_interval_and_end_after_them() {
        let mut receiver = Receiver::new();
        for n in 0..500 {
            receiver.receive(at(2 * n), n);
        }
        receiver.run(at(10_000));
        let times: Vec<_> = receiver.reports.iter().map(|(at, _)| *at).collect();
        assert_eq!(times[0], at(0), "the first packet is reported at once");
        let busy = times.windows(2).filter(|pair| pair[1] < at(1000));
        let longest = busy.map(|pair| pair[1].since(pair[0])).max();
        assert!(longest <= Some(MS * 12), "{longest:?}");
        let last = times.last().copied();
        assert!(last >= Some(at(1900)) && last <= Some(at(2030)), "{last:?}");
        let newest = &receiver.reports.last().unwrap().1.report;
        assert_eq!((newest.base, &newest.arrived[..]), (500, &[][..]));
        let turns = receiver.reports.iter().map(|(_, made)| made.paths);
        let turns: Vec<_> = turns.filter(|paths| paths.len() == 1).collect();
        assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "in turn");
    }

    #[test]
    fn a_gap_is_reported_at_once_on_all_paths() {
        let mut receiver = Receiver::new();
        for n in 0..100 {
            receiver.receive(at(5 * n), n);
        }
        receiver.receive(at(503), 101);
        receiver.run(at(504));
        let (time, made) = receiver.reports.last().unwrap();
        assert!(*time <= at(504), "{time}");
        assert_eq!(made.paths, PathSet::first(2));
        assert!(!made.report.has(100) && made.report.has(101) && !made.report.has(102));
        receiver.receive(at(560), 100);
        // At this rate the limit permits a report every 18 ms.
        receiver.run(at(640));
        assert!(receiver.reports.last().unwrap().1.report.has(100));
    }

    /// A stream of 475 packets/s that becomes one of 50 has reports within 100 ms.
    #[test]
    fn a_stream_that_becomes_slower_is_reported() {
        for lost in [u64::MAX, 50, 10] {
            let mut receiver = Receiver::new();
            for n in 0..2000 {
                if n % lost != 1 {
                    receiver.receive(at(2 * n), n);
                }
            }
            for n in 0..100 {
                receiver.receive(at(4000 + 20 * n), 2000 + n);
            }
            let times: Vec<_> = receiver.reports.iter().map(|(time, _)| *time).collect();
            let pauses = times.windows(2).map(|pair| pair[1].since(pair[0]));
            let longest = pauses.max().unwrap();
            assert!(longest <= MS * 100, "one in {lost} lost: {longest}");
        }
    }

    #[test]
    fn reports_stay_below_their_ceiling() {
        // One packet in ten is missing, for ever.
        let mut receiver = Receiver::new();
        for n in 0..20_000 {
            if n % 10 != 0 {
                receiver.receive(at(n), n);
            }
        }
        let (sent, most) = (18_000 * u64::from(LEN), MAX_CREDIT);
        assert!(
            receiver.bytes() <= sent / CEILING + most,
            "{}",
            receiver.bytes()
        );
        assert!(receiver.bytes() > sent / CEILING / 2);
        // A slow stream has the floor.
        let mut receiver = Receiver::new();
        for n in 0..1000 {
            receiver.receive(at(20 * n), n);
        }
        assert!(
            receiver.bytes() <= FLOOR * 20 + most,
            "{}",
            receiver.bytes()
        );
        assert!(receiver.reports.len() > 600, "{}", receiver.reports.len());
    }

    #[test]
    fn a_gap_is_not_awaited_for_ever() {
        let mut receiver = Receiver::new();
        for n in 1..2000 {
            receiver.receive(at(2 * n), n);
        }
        let report = &receiver.reports.last().unwrap().1.report;
        assert!(report.has(0) && report.base > 1900, "{}", report.base);
        assert!(receiver.reporter.ticks.len() <= MAX_TICKS);
    }

    #[test]
    fn reordering_is_measured_and_decays() {
        let mut reporter = Reporter::new(Time::ZERO, 1, 0);
        reporter.on_frame(at(100), PathId(0), at(90));
        reporter.on_frame(at(101), PathId(0), at(60));
        let seen = SlidingWindow::new(64);
        let report = reporter.report(at(103), &seen);
        let [path] = report.paths[..] else {
            panic!("{report:?}")
        };
        assert_eq!((path.age, path.newest), (MS * 3, SendTime::of(at(90))));
        assert_eq!(path.reordering, MS * 30);
        for _ in 0..10_000 {
            reporter.report(at(103), &seen);
        }
        let decayed = reporter.report(at(103), &seen).paths[0].reordering;
        assert!(decayed < MS, "{decayed:?}");
    }
}
