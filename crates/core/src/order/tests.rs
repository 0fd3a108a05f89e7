use super::*;
use crate::class::{Class, Protocol, Treatment};
use crate::packet::{Dscp, PacketFields};
use crate::time::Duration;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

const HOLD: Duration = Duration::from_millis(30);

/// A packet with its number, which is TCP or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbered(u64, bool);

impl Payload for Numbered {
    fn len(&self) -> usize {
        1000
    }

    fn is_tcp(&self) -> bool {
        self.1
    }

    fn fields(&self) -> Option<PacketFields> {
        let protocol = if self.1 { Protocol::TCP } else { Protocol::UDP };
        Some(PacketFields {
            dscp: Dscp::DEFAULT,
            protocol: protocol.number(),
            ports: None,
        })
    }
}

/// A receiver with a buffer, and the numbers that it has delivered with their times.
struct Receiver {
    buffer: ReorderBuffer<Numbered>,
    seen: SlidingWindow,
    delivered: Vec<(Time, u64)>,
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

impl Receiver {
    fn new(order: Order) -> Self {
        Self {
            buffer: ReorderBuffer::new(order, Classes::default()),
            seen: SlidingWindow::new(8192),
            delivered: Vec::new(),
        }
    }

    fn run(&mut self, until: Time) {
        while let Some(due) = self.buffer.deadline().filter(|due| *due <= until) {
            let (delivered, at) = (&mut self.delivered, due);
            let mut deliver = |packet: Numbered| delivered.push((at, packet.0));
            self.buffer.handle_timeout(at, &self.seen, &mut deliver);
        }
    }

    fn receive(&mut self, now: Time, number: u64, is_tcp: bool) {
        self.run(now);
        if self.seen.accept(number) == Verdict::Fresh {
            let delivered = &mut self.delivered;
            let mut deliver = |packet: Numbered| delivered.push((now, packet.0));
            let packet = Numbered(number, is_tcp);
            self.buffer
                .offer(now, number, packet, true, &self.seen, &mut deliver);
        }
        assert!(self.buffer.buffered() <= MAX_HELD);
    }

    fn numbers(&self) -> Vec<u64> {
        self.delivered.iter().map(|(_, number)| *number).collect()
    }
}

/// The class of a packet counts, not its protocol; one of a single path is never held.
#[test]
fn bulk_is_held_whatever_its_protocol() {
    let (tcp, udp) = (Some(Protocol::TCP), Some(Protocol::UDP));
    let (media, bulk, single) = (Treatment::Media, Treatment::Bulk, Treatment::SinglePath);
    let all = Order::All(HOLD);
    for (order, protocol, treatment, are_held) in [
        (Order::Tcp, udp, bulk, [true, true]),
        (Order::Tcp, tcp, media, [false, false]),
        (Order::Tcp, udp, media, [true, false]),
        (Order::Tcp, tcp, single, [false, false]),
        (Order::Tcp, None, bulk, [true, true]),
        (all, udp, media, [true, true]),
        (all, udp, single, [true, false]),
        (Order::None, None, bulk, [false, false]),
    ] {
        let class = Class {
            name: "class".into(),
            dscp: Vec::new(),
            protocol,
            ports: Vec::new(),
            treatment,
            deadline: None,
        };
        for (is_tcp, is_held) in [true, false].into_iter().zip(are_held) {
            let mut receiver = Receiver::new(order);
            let classes = core::iter::once(class.clone()).collect();
            receiver.buffer.adjust(order, &classes, &mut |_| {});
            receiver.receive(at(0), 0, is_tcp);
            receiver.receive(at(1), 2, is_tcp);
            let held = receiver.buffer.buffered() == 1;
            assert_eq!(held, is_held, "{order}, {treatment:?}, TCP: {is_tcp}");
        }
    }
}

#[test]
fn a_late_packet_is_waited_for() {
    let mut receiver = Receiver::new(Order::All(HOLD));
    for (ms, number) in [(0, 0), (1, 2), (2, 3), (20, 1), (21, 4)] {
        receiver.receive(at(ms), number, false);
    }
    assert_eq!(receiver.numbers(), [0, 1, 2, 3, 4]);
    assert_eq!(receiver.buffer.deadline(), None);
    let statistics = receiver.buffer.statistics();
    assert_eq!((statistics.held, statistics.expired), (2, 0));
}

#[test]
fn a_lost_packet_delays_those_behind_it_once_by_the_hold() {
    let mut receiver = Receiver::new(Order::All(HOLD));
    receiver.receive(at(0), 0, false);
    for number in 2..62 {
        receiver.receive(at(number), number, false);
    }
    receiver.receive(at(100), 1, false);
    let expected: Vec<u64> = [0].into_iter().chain(2..62).chain([1]).collect();
    assert_eq!(receiver.numbers(), expected, "1 comes when it comes");
    let delays = receiver.delivered[1..61].iter();
    let delays: Vec<_> = delays
        .map(|(time, number)| time.since(at(*number)))
        .collect();
    assert_eq!(delays[0], HOLD);
    assert!(delays[30..].iter().all(|delay| *delay == Duration::ZERO));
}

#[test]
fn other_packets_than_tcp_pass_and_fill_gaps() {
    let mut receiver = Receiver::new(Order::Tcp);
    for (number, is_tcp) in [(0, true), (2, false), (3, true), (5, false), (1, true)] {
        receiver.receive(at(number), number, is_tcp);
    }
    assert_eq!(receiver.numbers(), [0, 2, 5, 1, 3]);
    receiver.receive(at(9), 6, true);
    receiver.receive(at(10), 4, false);
    assert_eq!(receiver.numbers()[5..], [4, 6]);
}

#[test]
fn without_order_nothing_is_held() {
    let mut receiver = Receiver::new(Order::None);
    for number in [5, 9, 1, 2] {
        receiver.receive(at(0), number, true);
    }
    assert_eq!(receiver.numbers(), [5, 9, 1, 2]);
    assert_eq!(receiver.buffer.statistics(), OrderStatistics::default());
}

#[test]
fn memory_is_bounded_and_a_jump_is_not_waited_out() {
    let mut receiver = Receiver::new(Order::All(MAX_HOLD));
    receiver.receive(at(0), 0, true);
    for number in 2..=MAX_HELD as u64 + 2 {
        receiver.receive(at(1), number, true);
    }
    assert_eq!(receiver.delivered.len(), 1 + MAX_HELD + 1, "1 is given up");
    receiver.receive(at(2), 9_000_000, true);
    receiver.receive(at(2), 9_000_001, true);
    assert_eq!(
        receiver.buffer.buffered(),
        2,
        "less than the window is missing"
    );
    receiver.run(at(2) + MAX_HOLD);
    assert_eq!(receiver.numbers()[MAX_HELD + 2..], [9_000_000, 9_000_001]);
}

#[test]
fn a_change_and_a_restart_of_the_sender_deliver_what_is_held() {
    let mut receiver = Receiver::new(Order::All(HOLD));
    for number in [10, 13, 12] {
        receiver.receive(at(0), number, false);
    }
    let mut released = Vec::new();
    let mut deliver = |packet: Numbered| released.push(packet.0);
    let classes = Classes::default();
    receiver
        .buffer
        .adjust(Order::All(HOLD), &classes, &mut deliver);
    receiver.buffer.adjust(Order::Tcp, &classes, &mut deliver);
    assert_eq!(released, [12, 13]);
    receiver.receive(at(1), 20, true);
    receiver.receive(at(1), 22, true);
    receiver.seen = SlidingWindow::new(8192);
    let mut deliver = |packet: Numbered| released.push(packet.0);
    receiver.buffer.restart(&mut deliver);
    assert_eq!(released, [12, 13, 22]);
    receiver.receive(at(2), 0, true);
    assert_eq!(receiver.numbers(), [10, 20, 0]);
}

#[test]
fn orders_are_read_and_written_as_text() {
    let orders = [
        Order::None,
        Order::Tcp,
        Order::All(HOLD),
        Order::All(MAX_HOLD),
    ];
    for order in orders {
        assert_eq!(alloc::format!("{order}").parse(), Ok(order));
    }
    for wrong in ["", "udp", "0 ms", "3 s", "-1 ms", "30"] {
        assert_eq!(wrong.parse::<Order>(), Err(OrderError), "{wrong}");
    }
}

proptest! {
    /// Everything is delivered once, after at most the hold; and in order, if nothing is missing
    /// for longer than that.
    #[test]
    fn packets_are_delivered_once_in_order_and_in_time(
        delays in prop::collection::vec((0..200_u64, any::<bool>(), 0..20_u8), 1..300),
        hold in 1..150_u64,
    ) {
        let mut arrivals: Vec<(Time, u64, bool)> = (0..)
            .zip(delays)
            .filter(|(_, (.., lost))| *lost > 0)
            .map(|(number, (delay, is_tcp, _))| (at(number + delay), number, is_tcp))
            .collect();
        arrivals.sort_unstable();
        let hold = Duration::from_millis(hold);
        let mut receiver = Receiver::new(Order::All(hold));
        for &(time, number, is_tcp) in &arrivals {
            receiver.receive(time, number, is_tcp);
        }
        receiver.run(at(10_000));
        let arrived_at = |number| arrivals.iter().find(|arrival| arrival.1 == number).unwrap().0;
        let mut numbers = receiver.numbers();
        for &(time, number) in &receiver.delivered {
            prop_assert!(time.since(arrived_at(number)) <= hold);
        }
        let mut latest = 0;
        for &(time, number) in &receiver.delivered {
            // Overtaken only by packets that had been held for the whole time.
            let is_late = number < latest && time.since(arrived_at(latest)) < hold;
            prop_assert!(!is_late || arrived_at(number) == time, "{number} after {latest}");
            latest = latest.max(number);
        }
        numbers.sort_unstable();
        let mut expected: Vec<u64> = arrivals.iter().map(|arrival| arrival.1).collect();
        expected.sort_unstable();
        prop_assert_eq!(numbers, expected);
    }

    /// If delays differ by less than the hold and nothing is lost, the order is complete.
    #[test]
    fn reordering_within_the_hold_is_undone(
        delays in prop::collection::vec(0..29_u64, 1..300),
    ) {
        let mut arrivals: Vec<(Time, u64)> = (1..)
            .zip(delays)
            .map(|(number, delay)| (at(number + delay), number))
            .chain([(Time::ZERO, 0)])
            .collect();
        arrivals.sort_unstable();
        let mut receiver = Receiver::new(Order::All(HOLD));
        for &(time, number) in &arrivals {
            receiver.receive(time, number, false);
        }
        let expected = vec![(); arrivals.len()].into_iter().enumerate();
        let expected: Vec<u64> = expected.map(|(number, ())| number as u64).collect();
        prop_assert_eq!(receiver.numbers(), expected);
        prop_assert_eq!(receiver.buffer.statistics().expired, 0);
    }
}
