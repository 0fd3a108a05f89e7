//! `CoDel` against a plain transcription of RFC 8289's pseudo-code (section 5), and against
//! drop-tail.

mod common;

use std::collections::VecDeque;

use common::{Arrivals, Fate, arrivals, drive};
use polypath_core::machine::{Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_link::{
    CoDelConfig, DropReason, Link, LinkConfig, Output, QueueConfig, QueueLimit, Trace,
};
use proptest::prelude::*;

const RATE: Rate = Rate::from_mbits(10);
const DELAY: Duration = Duration::from_millis(20);
const UNIT: Duration = Duration::from_micros(100);

/// Short times, so that few packets reach all states.
fn config(ecn: bool) -> CoDelConfig {
    CoDelConfig {
        target: Duration::from_millis(2),
        interval: Duration::from_millis(10),
        ecn,
        ..CoDelConfig::new(QueueLimit::Packets(200))
    }
}

#[derive(Clone, Copy)]
struct Packet {
    number: usize,
    size: u32,
    capable: bool,
    tstamp: u64,
}

/// The variables of the RFC by their names, times in ns.
struct Rfc {
    config: CoDelConfig,
    queue: VecDeque<Packet>,
    bytes: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    fates: Vec<(usize, Fate)>,
}

impl Rfc {
    fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            queue: VecDeque::new(),
            bytes: 0,
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            fates: Vec::new(),
        }
    }

    fn dodequeue(&mut self, now: u64) -> (Option<Packet>, bool) {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= u64::from(packet.size);
        let sojourn_time = now - packet.tstamp;
        let mut ok_to_drop = false;
        if sojourn_time < self.config.target.0 || self.bytes <= self.config.max_packet.0 {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.config.interval.0;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    fn control_law(&self, t: u64) -> u64 {
        let interval = self.config.interval.as_secs_f64();
        t + Duration::from_secs_f64(interval / f64::from(self.count).sqrt()).0
    }

    fn drop(&mut self, packet: Option<Packet>) {
        let number = packet.expect("a packet to drop").number;
        self.fates
            .push((number, Fate::Dropped(DropReason::Sojourn)));
    }

    /// The packet to send, and whether it is marked. Without ECN this is the RFC's `dequeue`, line
    /// by line.
    fn dequeue(&mut self, now: u64) -> (Option<Packet>, bool) {
        let may_mark = |p: Option<Packet>, ecn| ecn && p.is_some_and(|p| p.capable);
        let ecn = self.config.ecn;
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                if may_mark(packet, ecn) {
                    self.count += 1;
                    self.drop_next = self.control_law(self.drop_next);
                    return (packet, true);
                }
                self.drop(packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let marked = may_mark(packet, ecn);
            if !marked {
                self.drop(packet);
                (packet, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * self.config.interval.0 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
            return (packet, marked);
        }
        (packet, false)
    }

    /// A line that takes a packet whenever it is free; at the time of an arrival it takes a packet
    /// first.
    fn drive(mut self, arrivals: &Arrivals) -> Vec<(usize, Fate)> {
        let mut busy_until = None;
        let mut left_at = None;
        for (number, &(at, size, capable)) in arrivals.iter().enumerate() {
            while let Some(free) = busy_until.filter(|free| *free <= at.0) {
                busy_until = self.send(free);
                left_at = Some(free);
            }
            // A packet still occupies the queue at the instant of its last bit.
            let on_line = [busy_until.is_some(), left_at == Some(at.0)];
            let on_line = on_line.into_iter().filter(|is_there| *is_there).count();
            let in_system = self.queue.len() + on_line;
            if matches!(self.config.limit, QueueLimit::Packets(most) if in_system >= most as usize)
            {
                self.fates
                    .push((number, Fate::Dropped(DropReason::QueueFull)));
                continue;
            }
            self.bytes += u64::from(size);
            self.queue.push_back(Packet {
                number,
                size,
                capable,
                tstamp: at.0,
            });
            if busy_until.is_none() {
                busy_until = self.send(at.0);
            }
        }
        while let Some(free) = busy_until {
            busy_until = self.send(free);
        }
        self.fates
    }

    fn send(&mut self, now: u64) -> Option<u64> {
        let (packet, marked) = self.dequeue(now);
        let packet = packet?;
        let finish = now + RATE.transmission_time(Bytes(u64::from(packet.size))).0;
        let ecn = match (packet.capable, marked) {
            (true, true) => Ecn::Ce,
            (true, false) => Ecn::Ect0,
            (false, _) => Ecn::NotEct,
        };
        let fate = Fate::Delivered(Time(finish) + DELAY, ecn);
        self.fates.push((packet.number, fate));
        Some(finish)
    }
}

/// Alternating times of overload and of low load.
fn steps() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let phase = (0_u64..14, 1_usize..150)
        .prop_flat_map(|(most, count)| proptest::collection::vec((0..=most, 1_u32..7), count));
    proptest::collection::vec(phase, 1..12).prop_map(|phases| phases.concat())
}

fn link(queue: QueueConfig) -> Link<common::Numbered> {
    Link::new(&LinkConfig::new(RATE, DELAY, queue), Seed(1), "l").unwrap()
}

proptest! {
    #[test]
    fn decides_as_the_pseudo_code_does(steps in steps(), ecn: bool) {
        let arrivals = arrivals(&steps, UNIT);
        let mut link = link(QueueConfig::CoDel(config(ecn)));
        let fates = drive(&mut link, &arrivals);
        prop_assert_eq!(&fates, &Rfc::new(config(ecn)).drive(&arrivals));
        let counters = link.counters();
        prop_assert_eq!(counters.packets_in, arrivals.len() as u64);
        prop_assert_eq!(
            counters.packets_in,
            counters.packets_delivered + counters.packets_dropped()
        );
        let delivered = fates.iter().filter_map(|(number, fate)| match fate {
            Fate::Delivered(..) => Some(*number),
            Fate::Dropped(_) => None,
        });
        prop_assert!(delivered.is_sorted(), "FIFO");
    }

    #[test]
    fn held_packets_fare_as_foreseen_ones(
        steps in steps(),
        limit in prop_oneof![
            (1_u32..20).prop_map(QueueLimit::Packets),
            (1500_u64..20_000).prop_map(|n| QueueLimit::Bytes(Bytes(n))),
            Just(QueueLimit::Unlimited),
        ],
        trace: bool,
    ) {
        let patient = CoDelConfig {
            target: Duration::from_secs(1000),
            ..CoDelConfig::new(limit)
        };
        let arrivals = arrivals(&steps, UNIT);
        let [held, foreseen] = [QueueConfig::CoDel(patient), QueueConfig::DropTail(limit)].map(|queue| {
            let mut config = LinkConfig::new(RATE, DELAY, queue);
            if trace {
                config.rate = Trace::new([0, 3, 3, 5, 17].map(Duration::from_millis)).unwrap().into();
            }
            config.loss = 0.1;
            let mut link = Link::new(&config, Seed(1), "l").unwrap();
            let mut fates = drive(&mut link, &arrivals);
            fates.sort_by_key(|(number, _)| *number);
            (fates, link.counters())
        });
        prop_assert_eq!(held, foreseen);
    }
}

#[test]
fn every_state_is_reached() {
    let mut stream = Seed(3).stream("steps");
    let steps: Vec<(u64, u32)> = (0..20_000)
        .map(|n| {
            let most = if (n / 400) % 2 == 0 { 9 } else { 24 };
            (
                stream.below(most),
                1 + u32::try_from(stream.below(6)).unwrap(),
            )
        })
        .collect();
    let arrivals = arrivals(&steps, UNIT);
    let mut plain = link(QueueConfig::CoDel(config(false)));
    let fates = drive(&mut plain, &arrivals);
    assert_eq!(fates, Rfc::new(config(false)).drive(&arrivals));
    assert!(
        plain.counters().drops.sojourn > 100,
        "{:?}",
        plain.counters()
    );
    assert!(plain.counters().packets_delivered > 10_000);
    let mut marking = link(QueueConfig::CoDel(config(true)));
    drive(&mut marking, &arrivals);
    assert!(
        marking.counters().packets_marked > 100,
        "{:?}",
        marking.counters()
    );
}

/// Ninety packets, each of which returns as soon as it arrives: with drop-tail they form a standing
/// queue. `CoDel` drops packets until the wait is below target, and then keeps the others.
#[test]
fn a_standing_queue_is_drained_to_the_target() {
    let limit = QueueLimit::Packets(100);
    let drop_tail = final_wait(limit.into());
    let codel = final_wait(QueueConfig::CoDel(CoDelConfig::new(limit)));
    assert!(drop_tail > Duration::from_millis(50), "{drop_tail:?}");
    assert!(codel < Duration::from_millis(5), "{codel:?}");
    assert!(codel > Duration::from_millis(3), "{codel:?}");
}

/// The waiting time of a packet for the line after 60 s.
fn final_wait(queue: QueueConfig) -> Duration {
    let mut link = link(queue);
    let mut arriving = VecDeque::from([Time::ZERO; 90]);
    let (mut deadline, mut last) = (None, Duration::ZERO);
    let packet = || common::Numbered {
        number: 0,
        size: 1000,
        ecn: Ecn::NotEct,
    };
    while let Some(&at) = arriving.front() {
        let due = deadline.filter(|due| *due <= at);
        let now = due.unwrap_or_else(|| arriving.pop_front().unwrap_or(at));
        if now > Time(60_000_000_000) {
            break;
        }
        let before = link.counters().waited;
        let wake = due.map_or_else(|| Wake::Input(packet()), |_| Wake::Timeout);
        let next = step(&mut link, now, wake, &mut |output| {
            if let Output::Deliver { at, .. } = output {
                arriving.push_back(at);
            }
        });
        deadline = next.map(|deadline| deadline.at);
        let waited = Duration(link.counters().waited.0 - before.0);
        if waited > Duration::ZERO {
            last = waited;
        }
    }
    last
}
