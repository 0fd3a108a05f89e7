use core::ops::Range;
use std::collections::VecDeque;

use polypath_core::machine::{Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::units::Rate;
use proptest::prelude::*;

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

/// RFC 8290, section 4, with plain lists.
struct Rfc {
    hash: FqCoDel<Packet>,
    queues: Vec<RfcQueue>,
    new_queues: VecDeque<usize>,
    old_queues: VecDeque<usize>,
}

#[derive(Clone, Default)]
struct RfcQueue {
    packets: VecDeque<Waiting<Packet>>,
    credits: i64,
    codel: Controller,
}

impl Fifo<Packet> for VecDeque<Waiting<Packet>> {
    fn pop(&mut self) -> Option<Waiting<Packet>> {
        self.pop_front()
    }

    fn bytes(&self) -> u64 {
        self.iter().map(|waiting| u64::from(waiting.size)).sum()
    }
}

impl Rfc {
    fn new(config: FqCoDelConfig) -> Self {
        Self {
            hash: queues(config),
            queues: vec![RfcQueue::default(); config.flows as usize],
            new_queues: VecDeque::new(),
            old_queues: VecDeque::new(),
        }
    }

    fn quantum(&self) -> i64 {
        i64::try_from(self.hash.config.quantum.0).unwrap()
    }

    fn packets(&self) -> usize {
        self.queues.iter().map(|queue| queue.packets.len()).sum()
    }

    fn enqueue(&mut self, now: Time, packet: Packet, fates: &mut Vec<Fate>) {
        let number = self.hash.queue_of(packet.flow()) as usize;
        self.queues[number].packets.push_back(Waiting {
            size: packet.size,
            packet,
            arrived_at: now,
        });
        if !self.new_queues.contains(&number) && !self.old_queues.contains(&number) {
            self.new_queues.push_back(number);
            self.queues[number].credits = self.quantum();
        }
        let QueueLimit::Packets(limit) = self.hash.config.limit else {
            unreachable!("the tests limit packets");
        };
        if self.packets() > limit as usize {
            let order = self.new_queues.iter().chain(&self.old_queues).copied();
            let bytes = |number: &usize| self.queues[*number].packets.bytes();
            let most = order.clone().map(|number| bytes(&number)).max();
            let fattest = order.clone().find(|number| Some(bytes(number)) == most);
            let packets = &mut self.queues[fattest.unwrap()].packets;
            for _ in 0..packets.len().div_ceil(2).min(64) {
                let dropped = packets.pop_front().unwrap().packet;
                fates.push(Fate::Dropped(DropReason::QueueFull, dropped.number));
            }
        }
    }

    fn dequeue(&mut self, now: Time, fates: &mut Vec<Fate>) {
        loop {
            let is_new = !self.new_queues.is_empty();
            let list = [&mut self.old_queues, &mut self.new_queues];
            let [old, new] = list;
            let list = if is_new { new } else { old };
            let Some(number) = list.pop_front() else {
                return;
            };
            let queue = &mut self.queues[number];
            if queue.credits <= 0 {
                queue.credits += i64::try_from(self.hash.config.quantum.0).unwrap();
                self.old_queues.push_back(number);
                continue;
            }
            let mut dropped =
                |packet: Packet| fates.push(Fate::Dropped(DropReason::Sojourn, packet.number));
            let packets = &mut queue.packets;
            match (queue.codel).dequeue(&self.hash.codel, now, packets, &mut dropped) {
                Some(departure) => {
                    queue.credits -= i64::from(departure.size);
                    list.push_front(number);
                    fates.push(Fate::sent(&departure));
                    return;
                }
                None if is_new => self.old_queues.push_back(number),
                None => {}
            }
        }
    }
}

/// What happens to a packet, by its number.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Sent(usize, Ecn),
    Dropped(DropReason, usize),
}

impl Fate {
    fn sent(departure: &Departure<Packet>) -> Self {
        assert_eq!(departure.marked, departure.packet.ecn == Ecn::Ce);
        Self::Sent(departure.packet.number, departure.packet.ecn)
    }
}

/// A packet that arrives, or the line that is free, after a time in units of 100 us.
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival(u64, u32, bool),
    LineIsFree,
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let arrival = (0_u64..5, 1_u32..9, any::<bool>())
        .prop_map(|(flow, eighths, capable)| Event::Arrival(flow, 100 * eighths, capable));
    let gaps = prop_oneof![3 => Just(4_u64), 1 => Just(60)];
    let phase = (1_u32..5, 1_u32..5, 1_usize..120, gaps);
    let phase = phase.prop_flat_map(move |(most, least, count, gap)| {
        let event = prop_oneof![most => arrival.clone(), least => Just(Event::LineIsFree)];
        proptest::collection::vec((0..gap, event), count)
    });
    proptest::collection::vec(phase, 1..6).prop_map(|phases| phases.concat())
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

proptest! {
    #[test]
    fn decides_as_the_text_of_the_rfc_does(events in events(), ecn: bool) {
        let config = FqCoDelConfig { ecn, ..config() };
        let (mut queues, mut rfc) = (queues(config), Rfc::new(config));
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        let mut now = Time::ZERO;
        for (number, (gap, event)) in events.into_iter().enumerate() {
            now += Duration::from_micros(100 * gap);
            let mut dropped =
                |reason, packet: Packet| found.push(Fate::Dropped(reason, packet.number));
            match event {
                Event::Arrival(flow, size, capable) => {
                    let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                    let packet = Packet { number, flow, size, ecn };
                    queues.enqueue(now, packet.clone(), Occupancy::default(), &mut dropped);
                    rfc.enqueue(now, packet, &mut wanted);
                }
                Event::LineIsFree => {
                    let departure = queues.dequeue(now, &mut dropped);
                    found.extend(departure.as_ref().map(Fate::sent));
                    rfc.dequeue(now, &mut wanted);
                }
            }
            check(&queues);
            prop_assert_eq!(&found, &wanted);
        }
    }

    /// The packets of a flow stay in order, every packet is sent or dropped once, and the line is
    /// never idle while one waits.
    #[test]
    fn a_link_conserves_packets_and_their_order_and_is_never_idle(
        events in events(),
        limit in prop_oneof![
            (1_u32..20).prop_map(QueueLimit::Packets),
            (800_u64..9_000).prop_map(|bytes| QueueLimit::Bytes(Bytes(bytes))),
            Just(QueueLimit::Unlimited),
        ],
        is_traced: bool,
    ) {
        let mut arrivals = Vec::new();
        let mut now = Time::ZERO;
        for (gap, event) in events {
            now += Duration::from_micros(100 * gap);
            if let Event::Arrival(flow, size, _) = event {
                let ecn = Ecn::NotEct;
                arrivals.push((now, Packet { number: arrivals.len(), flow, size, ecn }));
            }
        }
        let mut link_config = LinkConfig::new(RATE, DELAY, FqCoDelConfig { limit, ..config() });
        if is_traced {
            let trace = Trace::new([0, 3, 3, 5, 17].map(Duration::from_millis));
            link_config.rate = trace.unwrap().into();
        }
        let mut link = Link::new(&link_config, Seed(1), "l").unwrap();
        let fates = drive(&mut link, &arrivals);
        let mut numbers: Vec<usize> = fates.iter().map(|fate| fate.packet.number).collect();
        numbers.sort_unstable();
        prop_assert!(numbers.into_iter().eq(0..arrivals.len()));
        let delivered = || fates.iter().filter_map(|fate| Some((fate.delivered?, &fate.packet)));
        for flow in 0..5 {
            let of_flow = delivered().filter(|(_, packet)| packet.flow == flow);
            prop_assert!(of_flow.map(|(_, packet)| packet.number).is_sorted());
        }
        prop_assert!(delivered().map(|(at, _)| at).is_sorted());
        let Counters { packets_in, packets_delivered, drops, bytes_in, bytes_delivered, .. } =
            link.counters();
        prop_assert_eq!(packets_in, arrivals.len() as u64);
        prop_assert_eq!(packets_in, packets_delivered + drops.total());
        prop_assert!(bytes_delivered <= bytes_in);
        let mut finish = Time::ZERO;
        for (at, packet) in delivered().filter(|_| !is_traced) {
            let begin = at - DELAY - RATE.transmission_time(Bytes(u64::from(packet.size)));
            let (arrived_at, _) = arrivals[packet.number];
            prop_assert_eq!(begin, arrived_at.max(finish));
            finish = at - DELAY;
        }
    }

    /// Flows that always wait differ by less than two quanta and a packet in the bytes that they
    /// send, whatever the sizes of their packets.
    #[test]
    fn shares_are_equal_in_bytes_and_not_in_packets(
        sizes in proptest::collection::vec(40_u32..=1500, 2..6),
        quantum in 100_u64..3000,
        sent in 1_usize..600,
    ) {
        let config = FqCoDelConfig {
            limit: QueueLimit::Unlimited,
            quantum: Bytes(quantum),
            flows: 4096,
            ..FqCoDelConfig::default()
        };
        let mut queues = queues(config);
        let mut bytes = vec![0; sizes.len()];
        let add = |queues: &mut FqCoDel<Packet>, flow: usize| {
            let ecn = Ecn::NotEct;
            let packet = Packet { number: 0, flow: flow as u64, size: sizes[flow], ecn };
            queues.enqueue(Time::ZERO, packet, Occupancy::default(), &mut |_, _| {});
        };
        for flow in (0..sizes.len()).chain(0..sizes.len()) {
            add(&mut queues, flow);
        }
        for _ in 0..sent {
            let packet = queues.dequeue(Time::ZERO, &mut |_, _| {}).unwrap().packet;
            let flow = usize::try_from(packet.flow).unwrap();
            bytes[flow] += u64::from(packet.size);
            add(&mut queues, flow);
        }
        let gap = bytes.iter().max().unwrap() - bytes.iter().min().unwrap();
        let bound = 2 * quantum + 1500;
        prop_assert!(gap < bound, "{gap} B apart, not below {bound}: {bytes:?}");
    }

    /// One flow alone fares as under controlled delay without queues for flows.
    #[test]
    fn a_single_flow_fares_as_under_codel(events in events(), ecn: bool) {
        let fq_codel = FqCoDelConfig { limit: QueueLimit::Unlimited, ecn, ..config() };
        let mut arrivals = Vec::new();
        let mut now = Time::ZERO;
        for (gap, event) in events {
            now += Duration::from_micros(100 * gap);
            if let Event::Arrival(_, size, capable) = event {
                let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                arrivals.push((now, Packet { number: arrivals.len(), flow: 7, size, ecn }));
            }
        }
        let queues: [QueueConfig; 2] = [fq_codel.into(), fq_codel.codel().into()];
        let [flows, plain] = queues.map(|queue| {
            let mut link = link(queue);
            (drive(&mut link, &arrivals), link.counters())
        });
        prop_assert_eq!(flows, plain);
    }
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
            "queue.limit: `limit` is zero; the packet in transmission counts: 1 packet is the least",
        ]
    );
}
