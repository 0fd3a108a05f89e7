mod properties;

use core::ops::Range;
use std::collections::VecDeque;

use polypath_core::machine::{Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::units::Rate;

use super::*;
use crate::link::{Link, Output};
use crate::{Counters, LinkConfig, QueueConfig, Trace};

#[derive(Clone, Debug, PartialEq)]
struct Packet {
    number: usize,
    flow: u64,
    size: u32,
    ecn: Ecn,
}

impl Payload for Packet {
    fn len(&self) -> usize {
        self.size as usize
    }

    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        assert!(self.ecn.is_capable());
        self.ecn = Ecn::Ce;
    }
}

/// Small times and sizes, so that few packets lead through all states.
fn config() -> FqCoDelConfig {
    FqCoDelConfig {
        limit: QueueLimit::Packets(60),
        flows: 8,
        quantum: Bytes(600),
        target: Duration::from_millis(2),
        interval: Duration::from_millis(10),
        max_packet: Bytes(400),
        ..FqCoDelConfig::default()
    }
}

fn queues(config: FqCoDelConfig) -> FqCoDel<Packet> {
    FqCoDel::new(config, Seed(1), "l")
}
/// Checks that active queues are in one list and others have no packets, that credits are within
/// their bounds, and that the arena holds all packets.
fn check(queues: &FqCoDel<Packet>) {
    let [new, old] = [&queues.new_queues, &queues.old_queues]
        .map(|list| list.iter(&queues.queues).collect::<Vec<_>>());
    let mut active = [new.clone(), old.clone()].concat();
    assert_eq!(new.last().copied(), queues.new_queues.last);
    assert_eq!(old.last().copied(), queues.old_queues.last);
    active.sort_unstable();
    assert!(
        active.windows(2).all(|pair| pair[0] < pair[1]),
        "{active:?}"
    );
    let mut total = Occupancy::default();
    for (number, queue) in queues.queues.iter().enumerate() {
        let is_listed = active.contains(&u32::try_from(number).unwrap());
        assert_eq!(is_listed, queue.is_active);
        assert!(is_listed || queue.waiting == Occupancy::default());
        let place = |place: &u32| queues.packets.slots[*place as usize].next;
        let places = core::iter::successors(queue.packets.first, place);
        let sizes = places.map(|place| {
            let waiting = &queues.packets.slots[place as usize].waiting;
            waiting
                .as_ref()
                .map_or(0, |waiting| u64::from(waiting.size))
        });
        let sizes: Vec<u64> = sizes.collect();
        assert_eq!(queue.waiting.packets, sizes.len());
        assert_eq!(queue.waiting.bytes, sizes.iter().sum::<u64>());
        total = total + queue.waiting;
        let range = -800..=credits(queues.config.quantum);
        assert!(range.contains(&queue.credits), "{}", queue.credits);
    }
    assert_eq!(total, queues.waiting);
    let used = (queues.packets.slots.iter()).filter(|slot| slot.waiting.is_some());
    assert_eq!(used.count(), total.packets);
}

const RATE: Rate = Rate::from_mbits(1);
const DELAY: Duration = Duration::from_millis(20);

fn link(queue: impl Into<QueueConfig>) -> Link<Packet> {
    Link::new(&LinkConfig::new(RATE, DELAY, queue), Seed(1), "l").unwrap()
}

/// A packet that was delivered at a time, or dropped.
#[derive(Clone, Debug, PartialEq)]
struct Settled {
    packet: Packet,
    delivered: Option<Time>,
}

/// The fates of packets in the order in which they were decided.
fn drive(link: &mut Link<Packet>, arrivals: &[(Time, Packet)]) -> Vec<Settled> {
    let mut fates = Vec::new();
    let mut out = |output| {
        let (packet, delivered) = match output {
            Output::Deliver { at, packet } => (packet, Some(at)),
            Output::Dropped { packet, .. } => (packet, None),
        };
        fates.push(Settled { packet, delivered });
    };
    let mut deadline = None;
    for (at, packet) in arrivals {
        while let Some(due) = deadline.filter(|due| due <= at) {
            deadline = step(link, due, Wake::Timeout, &mut out).map(|next| next.at);
        }
        deadline = step(link, *at, Wake::Input(packet.clone()), &mut out).map(|next| next.at);
    }
    while let Some(due) = deadline {
        deadline = step(link, due, Wake::Timeout, &mut out).map(|next| next.at);
    }
    fates
}

/// Packets of 1000 B of a flow, at an interval from a start.
fn flow(flow: u64, start: Duration, interval: Duration, count: u64) -> Vec<(Time, Packet)> {
    let packet = |n: u64| {
        let packet = Packet {
            number: usize::try_from(n).unwrap(),
            flow,
            size: 1000,
            ecn: Ecn::NotEct,
        };
        (Time::ZERO + start + interval * n, packet)
    };
    (0..count).map(packet).collect()
}

fn together(flows: impl IntoIterator<Item = Vec<(Time, Packet)>>) -> Vec<(Time, Packet)> {
    let mut arrivals: Vec<_> = flows.into_iter().flatten().collect();
    arrivals.sort_by_key(|(at, _)| *at);
    arrivals
}

/// A packet of a flow that sends less than its share waits for the packet on the line, however many
/// flows have a queue (RFC 8290, section 1.3).
#[test]
fn a_sparse_flow_waits_for_one_packet_at_most() {
    let service = RATE.transmission_time(Bytes(1000));
    let ms = Duration::from_millis;
    let bulk = (0..5).map(|number| flow(number, ms(0), ms(10), 1000));
    let sparse = flow(99, ms(503), ms(101), 80);
    let arrivals = together(bulk.chain([sparse.clone()]));
    let mut link = link(FqCoDelConfig::default());
    let fates = drive(&mut link, &arrivals);
    let of_sparse = fates.iter().filter(|fate| fate.packet.flow == 99);
    let mut waits = Vec::new();
    for (fate, (sent, _)) in of_sparse.zip(&sparse) {
        let at = fate.delivered.expect("a sparse flow loses nothing");
        waits.push(at.since(*sent + DELAY + service));
    }
    assert_eq!(waits.len(), 80);
    assert!(waits.iter().all(|wait| *wait <= service), "{waits:?}");
    assert!(
        waits.iter().any(|wait| *wait > service.scale(1, 2)),
        "{waits:?}"
    );
    assert!(link.counters().packets_dropped() > 1000);
}

/// Adds packets of a flow and returns the flows and numbers of those that are dropped.
fn offer(
    queues: &mut FqCoDel<Packet>,
    flow: u64,
    numbers: Range<usize>,
    size: u32,
) -> Vec<(u64, usize)> {
    let mut dropped = Vec::new();
    for number in numbers {
        let packet = Packet {
            number,
            flow,
            size,
            ecn: Ecn::Ect0,
        };
        let drop = &mut |reason, packet: Packet| {
            assert_eq!(reason, DropReason::QueueFull);
            dropped.push((packet.flow, packet.number));
        };
        queues.enqueue(Time::ZERO, packet, Occupancy::default(), drop);
    }
    dropped
}

/// The limit costs the flow with the most bytes, half of its packets or 64 at a time, from its
/// head; the packet that arrives stays.
#[test]
fn an_exceeded_limit_drops_from_the_head_of_the_longest_queue() {
    let mut queues = queues(FqCoDelConfig {
        limit: QueueLimit::Packets(200),
        ..FqCoDelConfig::default()
    });
    let of = |flow, numbers: Range<usize>| numbers.map(|n| (flow, n)).collect::<Vec<_>>();
    assert_eq!(offer(&mut queues, 1, 0..110, 100), []);
    assert_eq!(offer(&mut queues, 2, 0..90, 1000), []);
    assert_eq!(offer(&mut queues, 3, 0..1, 100), of(2, 0..45));
    // Of 46 packets; there are 44 places.
    assert_eq!(offer(&mut queues, 3, 1..46, 1500), of(3, 0..23));
    assert_eq!(queues.occupancy().packets, 178);
    assert_eq!(offer(&mut queues, 1, 110..132, 100), []);
    // 132 of 100 B have fewer bytes than 45 of 1000 B.
    assert_eq!(offer(&mut queues, 1, 132..133, 100), of(2, 45..68));
    check(&queues);
}

#[test]
fn at_most_64_packets_are_dropped_at_once() {
    let mut queues = queues(FqCoDelConfig {
        limit: QueueLimit::Packets(200),
        ..FqCoDelConfig::default()
    });
    let dropped = offer(&mut queues, 1, 0..201, 100);
    assert_eq!(dropped, (0..64).map(|n| (1, n)).collect::<Vec<_>>());
}

/// A limit in bytes can cost several batches, and at worst the packet that arrives.
#[test]
fn a_limit_in_bytes_holds_whatever_the_sizes() {
    let limit = QueueLimit::Bytes(Bytes(3000));
    let mut queues = queues(FqCoDelConfig {
        limit,
        ..FqCoDelConfig::default()
    });
    assert_eq!(offer(&mut queues, 1, 0..75, 40), []);
    // Half of the first flow's 3000 B leave too little room, and then the newcomer is the longest.
    let dropped = offer(&mut queues, 2, 0..1, 2900);
    let first: Vec<_> = (0..38).map(|n| (1, n)).collect();
    assert_eq!(dropped, [first, [(2, 0)].to_vec()].concat());
    assert_eq!(offer(&mut queues, 3, 0..1, 1400), []);
    assert_eq!(limit.excess(queues.occupancy()), None);
    check(&queues);
}

/// Two flows that do not slow down, each at the rate of the line: controlled delay drops from both,
/// or marks, and their shares stay equal.
#[test]
fn each_queue_is_under_controlled_delay_of_its_own() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let config = FqCoDelConfig::default();
        let mut link = Link::<Packet>::new(
            &LinkConfig::new(Rate::from_mbits(10), DELAY, config),
            Seed(1),
            "l",
        )
        .unwrap();
        let arrivals = |flow: u64| {
            let packet = move |number| Packet {
                number,
                flow,
                size: 1000,
                ecn,
            };
            (0..20_000).map(move |number| {
                let at = Time::ZERO + Duration::from_micros(800 * number as u64);
                (at, packet(number))
            })
        };
        let flows = [1, 2].map(|flow| arrivals(flow).collect());
        let fates = drive(&mut link, &together(flows));
        let counters = link.counters();
        let (marked, drops) = (counters.packets_marked, counters.drops.sojourn);
        match ecn {
            Ecn::NotEct => assert!(drops > 1000 && marked == 0, "{counters:?}"),
            _ => assert!(marked > 1000 && drops == 0, "{counters:?}"),
        }
        let delivered = |flow| {
            let of_flow = move |fate: &&Settled| fate.packet.flow == flow;
            fates
                .iter()
                .filter(of_flow)
                .filter(|fate| fate.delivered.is_some())
        };
        let [one, other] = [1, 2].map(|flow| delivered(flow).count());
        assert!(one.abs_diff(other) <= one / 50, "{one} and {other}");
    }
}

/// The packets of two flows come back as soon as they arrive, so that their queues stand: packets
/// are dropped from each until its wait is below target.
#[test]
fn a_standing_queue_of_each_flow_is_drained_to_the_target() {
    let config = LinkConfig::new(Rate::from_mbits(10), DELAY, FqCoDelConfig::default());
    let mut link = Link::<Packet>::new(&config, Seed(1), "l").unwrap();
    let first = flow(0, Duration::ZERO, Duration::ZERO, 120);
    let mut arriving: VecDeque<(Time, Packet)> = first.into();
    for (_, packet) in arriving.iter_mut().skip(40) {
        packet.flow = 1;
    }
    let (mut deadline, mut waits) = (None, [Duration::ZERO; 2]);
    while let Some((at, packet)) = arriving.front().filter(|(at, _)| at.0 < 60_000_000_000) {
        let due = deadline.filter(|due| due <= at);
        let now = due.unwrap_or(*at);
        let wake = due.map_or(Wake::Input(packet.clone()), |_| Wake::Timeout);
        if due.is_none() {
            arriving.pop_front();
        }
        let before = link.counters().waited;
        let mut sent = None;
        let next = step(&mut link, now, wake, &mut |output| {
            if let Output::Deliver { at, packet } = output {
                sent = Some(packet.flow);
                arriving.push_back((at, packet));
            }
        });
        deadline = next.map(|deadline| deadline.at);
        if let Some(flow) = sent {
            waits[usize::try_from(flow).unwrap()] = link.counters().waited - before;
        }
    }
    let target = Duration::from_millis(5);
    assert!(waits.iter().all(|wait| *wait < target), "{waits:?}");
    assert!(waits.iter().all(|wait| *wait > Duration::ZERO), "{waits:?}");
    assert!(link.counters().drops.sojourn > 60, "{:?}", link.counters());
}

/// With `ce_threshold` every packet that waits longer is marked, and no other.
#[test]
fn packets_above_the_threshold_are_marked() {
    let threshold = Duration::from_millis(15);
    let mut queues = queues(FqCoDelConfig {
        ce_threshold: Some(threshold),
        target: Duration::from_secs(1),
        ..FqCoDelConfig::default()
    });
    let ms = Duration::from_millis;
    for (at, packet) in flow(1, ms(0), ms(10), 4) {
        let packet = Packet {
            ecn: Ecn::Ect0,
            ..packet
        };
        queues.enqueue(at, packet, Occupancy::default(), &mut |_, _| {});
    }
    let now = Time::ZERO + ms(30);
    let marked = core::iter::from_fn(|| queues.dequeue(now, &mut |_, _| {}));
    let marked: Vec<bool> = marked.map(|departure| departure.marked).collect();
    assert_eq!(marked, [true, true, false, false]);
}

/// As many queues as flows hash to different ones as balls do into boxes, and another link hashes
/// otherwise.
#[test]
fn flows_hash_to_queues_at_random() {
    let used = |seed: u64| {
        let queues = FqCoDel::<Packet>::new(FqCoDelConfig::default(), Seed(seed), "l");
        let mut used: Vec<u32> = (0..1024)
            .map(|flow| queues.queue_of(FlowId(flow)))
            .collect();
        let order = used.clone();
        used.sort_unstable();
        assert!(used.iter().all(|number| *number < 1024));
        used.dedup();
        (used.len(), order)
    };
    let seeds = [1, 2, 3].map(used);
    // 1024 (1 - 1/e) = 647, with a standard deviation of 10.
    assert!(seeds.iter().all(|(used, _)| (607..=687).contains(used)));
    assert_ne!(seeds[0].1, seeds[1].1);
}

#[test]
fn invalid_parameters_are_refused_with_key_and_remedy() {
    let problem = |change: fn(&mut FqCoDelConfig)| {
        let mut config = FqCoDelConfig::default();
        change(&mut config);
        let config = LinkConfig::new(RATE, DELAY, config);
        let error = Link::<Packet>::new(&config, Seed(1), "l").unwrap_err();
        format!("{}: {error}; {}", error.keys().join(" "), error.remedy())
    };
    let found = [
        problem(|config| config.flows = 0),
        problem(|config| config.flows = MAX_FLOWS + 1),
        problem(|config| config.quantum = Bytes(0)),
        problem(|config| config.interval = Duration::ZERO),
        problem(|config| config.limit = QueueLimit::Packets(0)),
    ];
    assert_eq!(
        found,
        [
            "queue.flows: `flows` is 0, not within 1 and 65536; leave it out for 1024 queues",
            "queue.flows: `flows` is 65537, not within 1 and 65536; leave it out for 1024 queues",
            "queue.quantum: `quantum` is zero; it must be at least 1 B",
            "queue.interval: `interval` is zero; it must be longer",
            "queue.limit: `limit` is zero; the packet in transmission counts: the minimum is 1 packet",
        ]
    );
}
