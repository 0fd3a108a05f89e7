use super::*;
use crate::tcp::{Range, Variant};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn config(change: impl FnOnce(&mut TcpConfig)) -> TcpConfig {
    let mut config = TcpConfig {
        receiver_window: 8,
        syn: false,
        ..TcpConfig::default()
    };
    change(&mut config);
    config
}

fn data(number: u32) -> Segment {
    Segment::new(SegmentKind::Data, 1, number, 1000)
}

/// The ACKs that segments of these numbers get, at these times in ms.
fn acks_of(receiver: &mut Receiver, arrivals: &[(u64, u32)]) -> Vec<Segment> {
    let mut acks = Vec::new();
    for &(at, number) in arrivals {
        receiver.handle_input(Time(at * MS), data(number), &mut |ack| acks.push(ack));
    }
    acks
}

fn acknowledged(numbers: &[u32]) -> Vec<u32> {
    let arrivals: Vec<(u64, u32)> = numbers.iter().map(|n| (0, *n)).collect();
    let mut receiver = Receiver::new(&config(|_| {}));
    let acks = acks_of(&mut receiver, &arrivals);
    acks.iter().map(|ack| ack.number).collect()
}

#[test]
fn acknowledges_cumulatively() {
    assert_eq!(acknowledged(&[0, 2, 3, 1, 1, 5, 4]), [1, 1, 1, 4, 4, 4, 6]);
    assert_eq!(
        acknowledged(&[8, 7, 0]),
        [0, 0, 1],
        "beyond the window is not held"
    );
}

#[test]
fn duplicates_are_counted_and_segments_beyond_the_window_are_not() {
    let spurious = |numbers: &[u32]| {
        let arrivals: Vec<(u64, u32)> = numbers.iter().map(|n| (0, *n)).collect();
        let mut receiver = Receiver::new(&config(|_| {}));
        acks_of(&mut receiver, &arrivals);
        receiver.spurious()
    };
    assert_eq!(spurious(&[0, 2, 3, 1, 4]), 0);
    assert_eq!(spurious(&[0, 2, 2, 0, 1, 2]), 3);
    assert_eq!(spurious(&[8, 8, 0]), 0);
}

#[test]
fn every_second_segment_is_acknowledged_or_the_first_after_a_time() {
    let interval = Duration::from_millis(100);
    let mut receiver = Receiver::new(&config(|c| c.delayed_ack = Some(interval)));
    let numbers = |acks: &[Segment]| acks.iter().map(|a| a.number).collect::<Vec<_>>();
    let acks = acks_of(&mut receiver, &[(0, 0), (1, 1), (2, 2)]);
    assert_eq!(numbers(&acks), [2]);
    let deadline = receiver.deadline().unwrap();
    assert_eq!(deadline.at, Time(102 * MS));
    let mut late = Vec::new();
    receiver.handle_timeout(deadline.at, &mut |ack| late.push(ack));
    assert_eq!((numbers(&late), receiver.deadline()), (vec![3], None));
    let acks = acks_of(&mut receiver, &[(200, 4), (201, 5), (202, 3), (203, 6)]);
    assert_eq!(
        numbers(&acks),
        [3, 3, 6],
        "out of order and into a hole immediately"
    );
}

#[test]
fn blocks_come_most_recent_first_and_grow_together() {
    let mut receiver = Receiver::new(&config(|c| {
        c.variant = Variant::Sack;
        c.receiver_window = 20;
    }));
    let range = |start, end| Range { start, end };
    let blocks = |ack: &Segment| ack.sack.iter(ack.number).collect::<Vec<_>>();
    let acks = acks_of(
        &mut receiver,
        &[
            (0, 2),
            (0, 4),
            (0, 6),
            (0, 8),
            (0, 5),
            (0, 2),
            (0, 0),
            (0, 1),
        ],
    );
    assert_eq!(blocks(&acks[0]), [range(2, 3)]);
    assert_eq!(blocks(&acks[2]), [range(6, 7), range(4, 5), range(2, 3)]);
    assert_eq!(blocks(&acks[3]), [range(8, 9), range(6, 7), range(4, 5)]);
    assert_eq!(blocks(&acks[4]), [range(4, 7), range(8, 9)], "joined");
    assert_eq!(blocks(&acks[5]), [range(2, 3), range(4, 7), range(8, 9)]);
    assert_eq!(acks[5].size, 40 + 24);
    assert_eq!(acks[6].number, 1);
    assert_eq!(blocks(&acks[7]), [range(4, 7), range(8, 9)]);
    assert_eq!(acks[7].number, 3);
}

#[test]
fn the_right_edge_of_the_window_never_moves_back() {
    let mut receiver = Receiver::new(&config(|_| {}));
    let edge = |ack: &Segment| ack.number + ack.window;
    let acks = acks_of(&mut receiver, &[(0, 0)]);
    assert_eq!(edge(&acks[0]), 9);
    receiver.set_window(2);
    let arrivals: Vec<(u64, u32)> = (1..9).map(|n| (0, n)).collect();
    let edges: Vec<u32> = acks_of(&mut receiver, &arrivals).iter().map(edge).collect();
    assert_eq!(edges, [9, 9, 9, 9, 9, 9, 10, 11]);
    receiver.set_window(5);
    assert_eq!(edge(&acks_of(&mut receiver, &[(0, 9)])[0]), 15);
}

#[test]
fn an_advertised_window_is_honoured_even_if_the_window_shrinks() {
    let last = |expected: bool, syn: bool| {
        let mut receiver = Receiver::new(&config(|c| c.syn = syn));
        if expected {
            receiver.expect(1);
        }
        receiver.set_window(2);
        let arrivals = [7, 6, 5, 4, 3, 2, 1, 0].map(|number| (0, number));
        acks_of(&mut receiver, &arrivals).pop().unwrap().number
    };
    assert_eq!(last(true, false), 8);
    assert_eq!(last(false, false), 2, "not known to be in flight");
    assert_eq!(last(true, true), 2, "the ACK of the SYN carries the window");
}

#[test]
fn a_mark_is_echoed_until_the_sender_sets_cwr() {
    let mut receiver = Receiver::new(&config(|c| c.ecn = true));
    let mut echo = |number, ecn, reduced| {
        let mut segment = data(number);
        segment.ecn = ecn;
        segment.ecn_flags.reduced = reduced;
        let mut echo = None;
        receiver.handle_input(Time::ZERO, segment, &mut |a| echo = Some(a.ecn_flags.echo));
        echo.unwrap()
    };
    assert!(!echo(0, Ecn::Ect0, false));
    assert!(echo(1, Ecn::Ce, false));
    assert!(echo(2, Ecn::Ect0, false));
    assert!(!echo(3, Ecn::Ect0, true));
    assert!(echo(4, Ecn::Ce, true), "reduced, and marked again");
}

#[test]
fn the_time_to_receive_a_window_estimates_the_round_trip() {
    let mut receiver = Receiver::new(&config(|c| c.receiver_window = 2));
    assert_eq!(receiver.rtt(), None);
    acks_of(
        &mut receiver,
        &[(0, 0), (0, 1), (90, 2), (90, 3), (150, 4), (150, 5)],
    );
    assert_eq!(receiver.rtt(), Some(Duration::from_millis(60)));
}

/// Flights of eight go on until what was offered has arrived, and then are of two; what an ACK
/// releases comes 60 ms later.
#[test]
fn a_window_that_shrinks_does_not_shorten_the_estimate() {
    let mut receiver = Receiver::new(&config(|_| {}));
    let flight = |at: u64, first: u32, count: u32| -> Vec<(u64, u32)> {
        let numbers = first..first + count;
        (at..).zip(numbers).collect()
    };
    acks_of(&mut receiver, &flight(0, 0, 8));
    receiver.set_window(2);
    acks_of(&mut receiver, &flight(60, 8, 8));
    acks_of(&mut receiver, &flight(126, 16, 2));
    acks_of(&mut receiver, &flight(186, 18, 2));
    assert_eq!(receiver.rtt(), Some(Duration::from_millis(60)));
}

proptest! {
    #[test]
    fn any_order_within_the_window_ends_complete(
        order in Just((0_u32..8).collect::<Vec<_>>()).prop_shuffle()
    ) {
        let acks = acknowledged(&order);
        prop_assert!(acks.is_sorted());
        prop_assert_eq!(acks.last(), Some(&8));
    }
}
