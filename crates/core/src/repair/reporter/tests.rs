//! The times, paths and limits of reports.

use super::*;
use crate::repair::credit::{CEILING, FLOOR, MAX_CREDIT};

const MS: Duration = Duration::from_millis(1);
const LEN: u32 = 1395;
const OVERHEAD: u32 = 60;

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

/// A receiver, of two paths if nothing else is said.
struct Receiver {
    reporter: Reporter,
    seen: SlidingWindow,
    /// The time and length of each report with its paths.
    reports: Vec<(Time, NumberedReport)>,
    all: PathSet,
    usual: PathSet,
}

impl Receiver {
    fn new() -> Self {
        Self::of(2)
    }

    /// A receiver of `paths` paths.
    fn of(paths: u8) -> Self {
        Self {
            reporter: Reporter::new(Time::ZERO, paths, 0),
            seen: SlidingWindow::new(4096),
            reports: Vec::new(),
            all: PathSet::first(paths),
            usual: PathSet::first(paths),
        }
    }

    /// Makes all reports that are due until `until`.
    fn run(&mut self, until: Time) {
        while let Some(due) = self.reporter.deadline().filter(|due| *due <= until) {
            let (all, usual) = (self.all, self.usual);
            let paths = ReportPaths { all, usual };
            let made = self
                .reporter
                .handle_timeout(due, &self.seen, paths, OVERHEAD);
            self.reports.extend(made.map(|report| (due, report)));
            assert!(self.reporter.deadline().is_none_or(|next| next > due));
        }
    }

    fn receive(&mut self, now: Time, sequence: u64) {
        self.receive_on(PathId(0), now, sequence);
    }

    fn receive_on(&mut self, path: PathId, now: Time, sequence: u64) {
        self.run(now);
        let leaves_gap = sequence > self.seen.end();
        self.seen.accept(sequence);
        self.reporter.on_frame(now, path, now - MS * 20);
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

/// After the failure of a path, the first missing packet is reported at once and on all paths,
/// although the packet before it was late, and each further one on the other path.
#[test]
fn each_packet_on_a_failed_path_is_reported_on_another() {
    for phase in 0..100 {
        let mut receiver = Receiver::new();
        receiver.receive(Time(phase * 100_000), 0);
        for n in 1..100 {
            receiver.receive(at(20 * n), n);
        }
        receiver.receive(at(2000) + Duration(500_000), 100);
        receiver.run(at(2095));
        let is_reported = |ms: u64, paths: PathSet| {
            let missing = at(ms) + MARGIN;
            let within = missing..=missing + MS * 3;
            let mut reports = receiver.reports.iter();
            reports.any(|(time, made)| within.contains(time) && made.paths.and(paths) == paths)
        };
        assert!(is_reported(2020, receiver.all), "{phase}");
        for ms in [2040, 2060, 2080] {
            assert!(is_reported(ms, PathSet::only(PathId(1))), "{phase}: {ms}");
        }
    }
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

/// A packet that stays lost makes reports longer for two seconds; they go on all the same, however
/// many paths there are.
#[test]
fn a_packet_that_stays_lost_does_not_stop_reports() {
    for (paths, per_second) in [(2, 475), (3, 2000), (4, 1500), (8, 475), (64, 475)] {
        let mut receiver = Receiver::of(paths);
        for n in (0..per_second * 4).filter(|n| *n != per_second) {
            receiver.receive(Time(n * 1_000_000_000 / per_second), n);
        }
        let times = receiver.reports.iter().map(|(at, _)| *at);
        let pauses = times
            .clone()
            .zip(times.skip(1))
            .map(|(one, next)| next.since(one));
        let longest = pauses.max().unwrap();
        assert!(longest < MS * 30, "{paths} paths: {longest}");
    }
}

/// While packets arrive on a costly path alone, the cheapest has failed: reports go there, too.
#[test]
fn reports_go_where_packets_arrive() {
    let mut receiver = Receiver::new();
    receiver.usual = PathSet::only(PathId(0));
    for n in 0..600 {
        let path = PathId(u8::from((200..400).contains(&n)));
        receiver.receive_on(path, at(n * 2), n);
    }
    let on = |path, from, until| {
        let reports = receiver.reports.iter();
        let within = reports.filter(|(time, _)| (at(from)..at(until)).contains(time));
        within.filter(|(_, made)| made.paths.contains(path)).count()
    };
    let (first, second) = (PathId(0), PathId(1));
    assert_eq!([on(second, 0, 400), on(first, 440, 800)], [0, 0]);
    assert!(on(second, 440, 800) > 30 && on(first, 810, 1200) > 30);
    assert_eq!(on(second, 810, 1200), 0);
}
