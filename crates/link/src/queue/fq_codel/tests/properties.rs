//! Properties against the text of RFC 8290, transcribed with plain lists.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

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

/// The fate of a packet, by its number.
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
