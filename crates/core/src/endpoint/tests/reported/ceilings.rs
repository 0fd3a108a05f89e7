//! Packets, repairs, reports and heartbeats on a path with a ceiling, wake by wake.

use alloc::vec::Vec;

use super::*;
use crate::class::{Class, Classes, Protocol, Treatment};
use crate::frame::{Attempt, OVER_IPV4, Purpose};
use crate::repair::{PathArrival, Report, SendTime};
use crate::units::{Bytes, Rate};

const CEILING: Rate = Rate(500_000);

/// An endpoint whose paths have the ceiling, and the time at which each has carried what was sent.
struct Limited {
    endpoint: Endpoint<Packet>,
    free: [Time; 2],
    ceiling: Rate,
    /// The number of packets sent, without their copies and repairs.
    sent: u64,
    dropped: usize,
    /// Those for which a path was not ahead of its ceiling.
    dropped_with_room: usize,
}

impl Limited {
    fn new(paths: u8, repair: RepairConfig, classes: Classes) -> Self {
        let config = EndpointConfig {
            paths,
            classes,
            ..config(PolicyConfig::InTime(repair))
        };
        Self::with_ceiling(CEILING, config)
    }

    fn with_ceiling(ceiling: Rate, config: EndpointConfig) -> Self {
        let limited = Tariff {
            ceiling: Some(ceiling),
            ..Tariff::FREE
        };
        let endpoint = Endpoint::new(&EndpointConfig {
            tariffs: [limited, limited].into_iter().collect(),
            encapsulation: Encapsulation::deployed(OVER_IPV4),
            ..config
        });
        Self {
            endpoint: endpoint.unwrap(),
            free: [Time::ZERO; 2],
            ceiling,
            sent: 0,
            dropped: 0,
            dropped_with_room: 0,
        }
    }

    /// Handles a wake, and checks that no packet is sent on a path that is ahead of its ceiling.
    /// Returns the repairs.
    fn wake(&mut self, now: Time, what: Wake<Input<Packet>>) -> Vec<u32> {
        let mut repairs = Vec::new();
        for output in wake(&mut self.endpoint, now, what) {
            match output {
                Output::Event(Event::FrameOut { path, kind, len }) => {
                    let free = &mut self.free[path.index()];
                    assert!(
                        !kind.carries_packet() || *free <= now + MS * 100,
                        "{kind:?} at {now}"
                    );
                    *free = (*free).max(now) + self.ceiling.transmission_time(Bytes(len.into()));
                }
                Output::Event(Event::Dropped {
                    reason: DropReason::QueueFull,
                    ..
                }) => {
                    self.dropped += 1;
                    let is_ahead = |free: &Time| *free > now + MS * 100;
                    self.dropped_with_room += usize::from(!self.free.iter().all(is_ahead));
                }
                Output::Transmit(Frame {
                    body: Body::Reported { payload, attempt },
                    ..
                }) => match attempt {
                    Attempt::Repair => repairs.push(payload.0),
                    Attempt::First => self.sent += 1,
                    Attempt::Copy => {}
                },
                _ => {}
            }
        }
        repairs
    }

    /// Handles the deadlines up to `until`.
    fn run(&mut self, until: Time) {
        while let Some(due) = self.endpoint.deadline().filter(|due| due.at <= until) {
            self.wake(due.at, Wake::Timeout);
        }
    }

    fn send(&mut self, now: Time, number: u32, meta: PacketMeta) -> Vec<u32> {
        self.run(now);
        let payload = Packet(number, meta.size as usize);
        self.wake(now, Wake::Input(Input::Packet { meta, payload }))
    }
}

/// Segments beyond the ceiling wait or are dropped, whether the peer reports or not, and the
/// reports that this end sends count.
#[test]
fn bulk_stays_within_a_ceiling_beside_reports() {
    for (reports, len) in [(true, 100), (false, 100), (true, 1400), (false, 1400)] {
        let mut limited = Limited::new(1, policy(200, 10), Classes::default());
        limited.wake(at(0), Wake::Input(Input::PeerReports(reports)));
        // 1.2 times the ceiling, with 60 B of headers.
        let interval = CEILING.transmission_time(Bytes(len + 60)).scale(5, 6);
        let mut next = at(10);
        for ms in 1..5000_u64 {
            let frame = Frame {
                path: FIRST,
                epoch: Epoch(0),
                sequence: ms,
                sent: at(ms),
                body: Body::Reported {
                    payload: Packet(0, 1400),
                    attempt: Attempt::First,
                },
            };
            limited.run(at(ms));
            limited.wake(at(ms), Wake::Input(Input::Frame(frame)));
            while next < at(ms + 1) {
                let size = u32::try_from(len).unwrap();
                limited.send(next, 0, meta(Kind::Data, size));
                next += interval;
            }
        }
        assert!(limited.dropped > 0);
    }
}

/// The earliest deadline is repaired first when the budget does not suffice for all.
#[test]
fn the_earliest_deadline_is_repaired_first() {
    let urgent = Class {
        name: "urgent".into(),
        dscp: Vec::new(),
        protocol: Some(Protocol::new(17)),
        ports: Vec::new(),
        treatment: Treatment::Media,
        deadline: Some(MS * 4500),
    };
    // A head start of 10 kB.
    let mut limited = Limited::new(2, policy(8000, 1), [urgent].into_iter().collect());
    for number in 0..30 {
        limited.send(at(u64::from(number) * 60), number, meta(Kind::Opaque, 1000));
    }
    let urgent = PacketMeta {
        protocol: 17,
        ..meta(Kind::Opaque, 1000)
    };
    limited.send(at(1800), 30, urgent);
    let repairs = limited.wake(at(6000), Wake::Timeout);
    assert_eq!(repairs.first(), Some(&30), "{repairs:?}");
    assert!((5..=12).contains(&repairs.len()), "{repairs:?}");
    // The others wait for the budget until it is too late for them.
    limited.run(at(12_000));
    let spent = limited.endpoint.repair_statistics().unwrap();
    let unrepaired = 31 - repairs.len() as u64;
    assert!(spent.unaffordable >= unrepaired, "{spent:?}");
}

/// Losses without a budget are counted as that.
#[test]
fn losses_without_a_budget_are_unaffordable() {
    let mut network = Network::new(policy(200, 0), randomly_lossy().into(), 1);
    network.stream(20);
    let spent = network.statistics();
    assert_eq!(spent.given_up, 0, "{spent:?}");
    assert!(spent.unaffordable > 100, "{spent:?}");
}

/// Heartbeats and the answers to those of the peer count before the packet that follows in a wake,
/// and before its copy: bulk waits, and media is dropped only if both paths are ahead of their
/// ceilings.
#[test]
fn heartbeats_count_before_the_packet() {
    let (mut waited, mut dropped, mut sent, mut copies) = (0, 0, 0, 0);
    for seed in (0..20).map(Seed) {
        let config = config(PolicyConfig::InTime(policy(300, 100)));
        let mut limited = Limited::with_ceiling(Rate(100_000), config);
        let mut stream = seed.stream("heartbeats");
        let are_repairs_late = seed.0 % 2 == 0;
        for number in 0..2000_u64 {
            // As much in answers as the ceiling.
            let now = at(number * 5);
            for path in [FIRST, SECOND] {
                if stream.chance(0.98) {
                    limited.run(now);
                    limited.wake(now, Wake::Input(Input::Frame(heartbeat(now, path, number))));
                }
            }
            if are_repairs_late && number % 10 == 9 {
                limited.run(now);
                limited.wake(
                    now,
                    Wake::Input(Input::Frame(late_report(now, number, limited.sent))),
                );
            }
            if stream.chance(0.01) {
                let kind = [Kind::Opaque, Kind::Data][usize::from(stream.chance(0.5))];
                limited.run(now);
                let before = limited.endpoint.sender.waiting();
                let with_room = limited.dropped_with_room;
                limited.send(now, 0, meta(kind, 100));
                // Bulk may be dropped since it has waited for too long.
                let is_bulk = kind == Kind::Data;
                assert!(is_bulk || limited.dropped_with_room == with_room);
                waited += limited.endpoint.sender.waiting() - before;
                sent += 1;
            }
        }
        dropped += limited.dropped;
        copies += limited.endpoint.repair_statistics().unwrap().copies;
    }
    assert!(waited > 0 && dropped > 0, "{waited} {dropped}");
    assert!(waited + dropped < sent, "{waited} {dropped} {sent}");
    assert!(copies > 0);
}

fn heartbeat(now: Time, path: PathId, number: u64) -> Frame<Packet> {
    Frame {
        path,
        epoch: Epoch(0),
        sequence: number,
        sent: now,
        body: Body::Heartbeat(Purpose::Liveness),
    }
}

/// A report that all packets below `base` have arrived, with which a repair arrives after half a second.
fn late_report(now: Time, number: u64, base: u64) -> Frame<Packet> {
    let paths = [FIRST, SECOND].map(|path| PathArrival {
        path,
        newest: SendTime::of(now - MS * 250),
        age: Duration::ZERO,
        reordering: Duration::ZERO,
    });
    let report = Report {
        base,
        paths: paths.to_vec(),
        arrived: Vec::new(),
    };
    Frame {
        path: FIRST,
        epoch: Epoch(0),
        sequence: number,
        sent: now,
        body: Body::Report(report.into()),
    }
}
