//! The times, paths and limits of reports.

use super::*;
use crate::repair::credit::{CEILING, FLOOR, MAX_CREDIT};
use crate::repair::estimates::Estimates;

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
        self.receive_sent(path, now, now - MS * 20, sequence);
    }

    fn receive_sent(&mut self, path: PathId, now: Time, sent: Time, sequence: u64) {
        self.run(now);
        let leaves_gap = sequence > self.seen.end();
        self.seen.accept(sequence);
        self.reporter.on_frame(now, path, sent);
        self.reporter.on_packet(now, LEN, leaves_gap, Some(path));
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
    assert!(first <= at(398 + 10) && last <= at(398 + 110), "{times:?}");
}

/// A stream of 50 packets/s on the first path, which fails at 2 s, and reports until 2095 ms. The last
/// packet arrives this many microseconds after 1995 ms. The phase of the reports differs.
fn failed_path(phase: u64, last_after: u64) -> Receiver {
    let mut receiver = Receiver::new();
    receiver.receive(Time(phase * 100_000), 0);
    for n in 1..100 {
        receiver.receive(at(20 * n), n);
    }
    let last = at(1995) + Duration::from_micros(last_after);
    receiver.receive_sent(PathId(0), last, at(1980), 100);
    receiver
}

/// Whether a packet that was `due` then is reported on `paths` within `span` after it counts as missing.
fn is_reported(receiver: &Receiver, due: Time, span: Duration, paths: PathSet) -> bool {
    let missing = due + MARGIN;
    let within = missing..=missing + span;
    let mut reports = receiver.reports.iter();
    reports.any(|(time, made)| within.contains(time) && made.paths.and(paths) == paths)
}

/// After the failure of a path, the first missing packet is reported at once and on all paths,
/// although the packet before it was late, and each further one on the other path.
#[test]
fn each_packet_on_a_failed_path_is_reported_on_another() {
    for phase in 0..100 {
        let mut receiver = failed_path(phase, 5500);
        receiver.run(at(2095));
        let all = receiver.all;
        assert!(is_reported(&receiver, at(2020), MS * 3, all), "{phase}");
        for ms in [2040, 2060, 2080] {
            let other = PathSet::only(PathId(1));
            let is_reported = is_reported(&receiver, at(ms), MS * 3, other);
            assert!(is_reported, "{phase}: {ms}");
        }
    }
}

/// The first report on all paths that shows a packet as missing which was sent on the first path at 2 s,
/// and the earliest time at which one could, by the estimates of the sender.
fn first_missing(receiver: &Receiver) -> (Time, Time) {
    let mut estimates = Estimates::new(2);
    let is_missing =
        |estimates: &Estimates, made| estimates.was_due(PathId(0), at(2000), MARGIN, made);
    let mut first = None;
    for (made, report) in &receiver.reports {
        estimates.on_report(*made + MS * 20, *made, &report.report);
        let shows = report.paths == receiver.all && is_missing(&estimates, *made);
        first = first.or_else(|| shows.then_some(*made));
    }
    let mut times = (0..1000).map(|n| at(2000) + Duration::from_micros(100 * n));
    let earliest = times.find(|time| is_missing(&estimates, *time));
    (first.unwrap(), earliest.unwrap())
}

/// The last packet may be early or late, also on a path with jitter, and a report that is too early
/// would not show the next one as missing.
#[test]
fn the_first_report_of_an_overdue_packet_shows_it_as_missing() {
    let check = |receiver: &Receiver, case: (u64, u64)| {
        let (first, earliest) = first_missing(receiver);
        let late = first.since(earliest);
        assert!(late <= MS * 3, "{case:?}: {first} in place of {earliest}");
    };
    for (phase, last_after) in [(0, 1000), (33, 2500), (66, 4000), (50, 7000), (99, 9000)] {
        let mut receiver = failed_path(phase, last_after);
        receiver.run(at(2095));
        check(&receiver, (phase, last_after));
    }
    for (jitter, phase) in [(2, 0), (2, 1), (4, 0), (4, 1), (8, 0), (8, 1)] {
        let mut receiver = Receiver::new();
        for n in 0..=100 {
            let sent = at(20 * n) - MS * 20;
            let delay = MS * (20 + jitter * ((n + phase) % 2));
            receiver.receive_sent(PathId(0), sent + delay, sent, n);
        }
        receiver.run(at(2099));
        check(&receiver, (jitter, phase));
    }
}

/// A variation of 17 ms takes the time beyond that in which packets are expected.
#[test]
fn a_failure_is_reported_on_a_costly_path_however_much_the_delay_varies() {
    let mut receiver = Receiver::new();
    receiver.usual = PathSet::only(PathId(0));
    for n in 0..=60 {
        let delay = MS * (20 + 34 * (n % 2));
        receiver.receive_sent(PathId(0), at(33 * n) + delay, at(33 * n), n);
    }
    receiver.run(at(2200));
    let costly = receiver
        .reports
        .iter()
        .filter(|(_, made)| made.paths.contains(PathId(1)));
    let times: Vec<Time> = costly
        .map(|(time, _)| *time)
        .filter(|time| *time > at(1980))
        .collect();
    assert!(times.iter().any(|time| *time < at(2100)), "{times:?}");
}

/// The last arrival may be of a repair or a heartbeat: only first transmissions show which path failed.
#[test]
fn repairs_and_heartbeats_do_not_hide_a_failed_path() {
    let mut receiver = failed_path(0, 5000);
    receiver.run(at(2003));
    receiver.reporter.on_frame(at(2003), PathId(1), at(1983));
    receiver.reporter.on_packet(at(2003), LEN, false, None);
    receiver.run(at(2030));
    receiver.reporter.on_frame(at(2030), PathId(0), at(2010));
    receiver.run(at(2095));
    let later = receiver.reports.iter().filter(|(time, _)| *time > at(2033));
    let mut paths = later.map(|(_, made)| made.paths);
    assert!(paths.clone().count() > 2);
    assert!(paths.all(|paths| paths.contains(PathId(1))));
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
