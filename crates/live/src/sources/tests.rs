use std::net::UdpSocket;
use std::thread;

use polypath_core::cbr::{Cbr, CbrConfig};
use polypath_core::frame::{Epoch, PathId};
use polypath_core::multihomed::{
    MultihomedDatagram, MultihomedFrame, MultihomedSource, SourceSchedule,
};
use polypath_core::policy::{DelayCentricConfig, PolicyContext, ReactiveConfig};
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};

use super::*;
use crate::clock::Clock;
use crate::drive::StopHandle;

const MS: Duration = Duration::from_millis(1);
/// The datagrams of each source.
const PACKETS: u64 = 40;

/// A responder with two sockets on a thread of its own, stopped on drop.
struct RunningResponder {
    addresses: Vec<SocketAddr>,
    stop: StopHandle,
    thread: Option<thread::JoinHandle<Result<ResponderReport, SourcesError>>>,
}

impl RunningResponder {
    fn start(clock: Clock) -> Self {
        let any = "127.0.0.1:0".parse().unwrap();
        let mut responder = Responder::open(&[any, any], None, clock).unwrap();
        Self {
            addresses: responder.addresses().unwrap(),
            stop: responder.stop_handle(),
            thread: Some(thread::spawn(move || responder.run())),
        }
    }

    fn finish(mut self) -> ResponderReport {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for RunningResponder {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn source(number: u8, start: Time) -> MultihomedSource {
    let stream = |part| Seed(number.into()).stream(part);
    let intervals = CbrConfig {
        interval: MS * 5,
        jitter: 0.0,
        drift: 0.0,
    };
    let schedule = SourceSchedule {
        start,
        stop: Time::MAX,
        intervals: Cbr::new(intervals, stream("traffic")),
        packets: PACKETS,
        size: 250,
    };
    let policy = DelayCentricConfig::DelayCentric(ReactiveConfig::default());
    let policy = policy.build(PolicyContext {
        paths: 2,
        start: Some(PathId(number % 2)),
        pair_interval: Duration::from_secs(1),
        epoch: Epoch::default(),
        acknowledges: true,
        tariffs: Tariffs::default(),
        stream: stream("policy"),
    });
    MultihomedSource::new(schedule, policy, 2)
}

fn config(to: &[SocketAddr], from: Time) -> SourcesConfig {
    let path = |remote: &SocketAddr| SourcePath {
        name: remote.to_string(),
        local: "127.0.0.1:0".parse().unwrap(),
        remote: *remote,
    };
    SourcesConfig {
        sources: (0..5).map(|number| source(number, from)).collect(),
        paths: to.iter().map(path).collect(),
        packet: 250,
        heartbeat: 250,
        session: 7,
        measured_from: Time::ZERO,
        due_until: Time::MAX,
        has_one_clock: true,
    }
}

#[test]
fn every_datagram_of_every_source_is_acknowledged_on_its_path() {
    let clock = Clock::starting_now();
    let responder = RunningResponder::start(clock);
    let config = config(&responder.addresses, clock.now() + MS * 10);
    let mut changes = Vec::new();
    let mut sources = Sources::open(config, clock, |change| changes.push(change)).unwrap();
    let report = sources.run_until(clock.now() + MS * 600).unwrap();
    drop(sources);
    let answered = responder.finish();
    assert_eq!(report.sent, 5 * PACKETS);
    assert_eq!(report.sent_on.iter().sum::<u64>(), report.sent);
    assert_eq!(report.round_trips.count(), report.sent, "{report:?}");
    assert_eq!((report.refused, report.rejected), (0, 0));
    assert_eq!(answered.datagrams, report.sent);
    assert_eq!(answered.bytes, report.sent * 250);
    // Three begin on the first path, two on the second.
    let begun = changes.iter().filter(|change| change.from.is_none());
    assert_eq!(begun.clone().count(), 5);
    assert_eq!(begun.filter(|c| c.to == PathId(1)).count(), 2);
    let (delay, round_trip) = (report.delays.mean(), report.round_trips.mean());
    assert!(delay < round_trip, "{delay:?} {round_trip:?}");
}

/// The clock of the responder is ten minutes ahead.
#[test]
fn with_two_clocks_delays_are_above_the_lowest() {
    let clock = Clock::starting_now();
    let ahead = Clock::starting_at(clock.origin_ns().saturating_sub(600_000_000_000));
    let responder = RunningResponder::start(ahead);
    let config = SourcesConfig {
        has_one_clock: false,
        ..config(&responder.addresses, clock.now() + MS * 10)
    };
    let mut sources = Sources::open(config, clock, |_| ()).unwrap();
    let report = sources.run_until(clock.now() + MS * 600).unwrap();
    assert_eq!(report.delays.count(), 5 * PACKETS);
    assert!(report.delays.max() < MS * 500, "{:?}", report.delays.max());
}

/// Four sources have long sent everything when the measurement begins, and the fifth starts then.
#[test]
fn datagrams_before_the_measurement_are_not_counted() {
    let clock = Clock::starting_now();
    let responder = RunningResponder::start(clock);
    let start = clock.now() + MS * 10;
    let measured_from = start + MS * 700;
    let mut config = SourcesConfig {
        measured_from,
        ..config(&responder.addresses, start)
    };
    config.sources[4] = source(4, measured_from);
    let mut sources = Sources::open(config, clock, |_| ()).unwrap();
    let report = sources.run_until(measured_from + MS * 700).unwrap();
    drop(sources);
    assert_eq!(report.sent, PACKETS);
    assert_eq!(report.round_trips.count(), PACKETS);
    assert_eq!(responder.finish().datagrams, 5 * PACKETS);
}

#[test]
fn a_stranger_gets_no_answer_that_is_longer_than_its_datagram() {
    let clock = Clock::starting_now();
    let responder = RunningResponder::start(clock);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger
        .set_read_timeout(Some(std::time::Duration::from_millis(200)))
        .unwrap();
    let heartbeat = MultihomedDatagram {
        session: 1,
        source: 9,
        frame: MultihomedFrame::Heartbeat {
            path: PathId(5),
            id: 1,
        },
    };
    let mut buffer = [0; 100];
    for sent in [&[1; 10][..], &[0xff; 60][..], &heartbeat.encode()[..]] {
        stranger.send_to(sent, responder.addresses[0]).unwrap();
    }
    let (len, _) = stranger.recv_from(&mut buffer).unwrap();
    assert_eq!(len, HEADER_LEN);
    let answer = MultihomedDatagram::decode(&buffer[..len]).unwrap();
    assert_eq!(
        answer.frame,
        MultihomedFrame::Reply {
            path: PathId(5),
            id: 1
        }
    );
    assert!(stranger.recv_from(&mut buffer).is_err());
    let report = responder.finish();
    assert_eq!((report.rejected, report.heartbeats), (2, 1));
}

/// Answers of another run, to another source, on another path, or from a stranger are ignored.
#[test]
fn only_answers_of_the_responder_to_this_run_count() {
    let clock = Clock::starting_now();
    let responder = UdpSocket::bind("127.0.0.1:0").unwrap();
    let timeout = Some(std::time::Duration::from_millis(500));
    responder.set_read_timeout(timeout).unwrap();
    let to = responder.local_addr().unwrap();
    let start = clock.now() + MS * 50;
    let config = config(&[to, to], start);
    let mut sources = Sources::open(config, clock, |_| ()).unwrap();
    let answers = thread::spawn(move || {
        let mut buffer = [0; 300];
        let (len, source) = responder.recv_from(&mut buffer).unwrap();
        let asked = MultihomedDatagram::decode(&buffer[..len]).unwrap();
        let frame = asked.frame.answer(Time::ZERO).unwrap();
        let right = MultihomedDatagram { frame, ..asked };
        let other_path = match frame {
            MultihomedFrame::Ack { number, sent, .. } => MultihomedFrame::Ack {
                path: PathId(9),
                number,
                sent,
                delay_micros: 0,
            },
            other => panic!("{other:?}"),
        };
        let wrong = [
            MultihomedDatagram {
                session: 8,
                ..right
            },
            MultihomedDatagram { source: 5, ..right },
            MultihomedDatagram {
                frame: other_path,
                ..right
            },
            asked,
        ];
        for datagram in wrong {
            responder.send_to(&datagram.encode(), source).unwrap();
        }
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(&right.encode(), source).unwrap();
        stranger.send_to(&[0; 3], source).unwrap();
        // The network duplicates it.
        responder.send_to(&right.encode(), source).unwrap();
        responder.send_to(&right.encode(), source).unwrap();
    });
    let report = sources.run_until(start + MS * 300).unwrap();
    answers.join().unwrap();
    assert_eq!((report.rejected, report.duplicates), (6, 1), "{report:?}");
    assert_eq!(report.round_trips.count(), 1);
    assert_eq!(report.acknowledged_on.iter().sum::<u64>(), 1);
}

/// A responder that answers after 100 ms, and sources that are stopped after 60 ms.
#[test]
fn what_is_in_flight_when_the_sending_is_stopped_is_still_acknowledged() {
    let clock = Clock::starting_now();
    let responder = UdpSocket::bind("127.0.0.1:0").unwrap();
    let timeout = Some(std::time::Duration::from_millis(500));
    responder.set_read_timeout(timeout).unwrap();
    let to = responder.local_addr().unwrap();
    let config = config(&[to, to], clock.now() + MS * 10);
    let mut sources = Sources::open(config, clock, |_| ()).unwrap();
    let stop = sources.stop_handle();
    let answers = thread::spawn(move || {
        let mut buffer = [0; 300];
        let mut asked = Vec::new();
        let first = responder.recv_from(&mut buffer).unwrap();
        asked.push((buffer, first));
        let until = clock.now() + MS * 60;
        while clock.now() < until {
            let next = responder.recv_from(&mut buffer).unwrap();
            asked.push((buffer, next));
        }
        stop.stop();
        thread::sleep(std::time::Duration::from_millis(50));
        responder.set_nonblocking(true).unwrap();
        while let Ok(next) = responder.recv_from(&mut buffer) {
            asked.push((buffer, next));
        }
        for (datagram, (len, from)) in asked {
            let asked = MultihomedDatagram::decode(&datagram[..len]).unwrap();
            let frame = asked.frame.answer(Time::ZERO).unwrap();
            let answer = MultihomedDatagram { frame, ..asked };
            responder.send_to(&answer.encode(), from).unwrap();
        }
        // Nothing is sent after the stop, whatever the answers.
        thread::sleep(std::time::Duration::from_millis(50));
        assert!(responder.recv_from(&mut buffer).is_err());
    });
    let report = sources.run_and_wait(Time::MAX, MS * 400).unwrap();
    answers.join().unwrap();
    assert!((20..=5 * PACKETS).contains(&report.sent), "{report:?}");
    assert_eq!(report.round_trips.count(), report.sent, "{report:?}");
    assert!(clock.now() >= report.ended + MS * 400);
}

#[test]
fn answers_have_the_least_size_over_ipv6() {
    let clock = Clock::starting_now();
    let any: SocketAddr = "[::1]:0".parse().unwrap();
    match Responder::open(&[any], None, clock) {
        Ok(responder) => assert_eq!(responder.addresses().unwrap().len(), 1),
        // A machine without IPv6.
        Err(error) => assert!(matches!(error, SourcesError::Udp(_)), "{error}"),
    }
}

#[test]
fn sizes_below_the_headers_are_refused() {
    let clock = Clock::starting_now();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let error = Responder::open(&[any], Some(51), clock).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ACK of 51 B: use 52 B, for the headers alone, to 65 535 B"
    );
}
