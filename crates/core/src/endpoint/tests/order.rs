//! Endpoints that deliver in order.

use super::*;
use crate::frame::Attempt;
use crate::order::{Order, TCP_HOLD};
use alloc::vec;
use alloc::vec::Vec;

/// A TCP segment with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment(u64);

impl Payload for Segment {
    fn len(&self) -> usize {
        1000
    }

    fn is_tcp(&self) -> bool {
        true
    }
}

/// A receiver whose policy has this order.
fn receiver(order: Order) -> Endpoint<Segment> {
    let repair = RepairConfig {
        order,
        ..RepairConfig::default()
    };
    Endpoint::new(&config(PolicyConfig::InTime(repair))).unwrap()
}

/// A packet of a peer that repairs losses.
fn data(sequence: u64) -> Input<Segment> {
    let body = Body::Reported {
        payload: Segment(sequence),
        attempt: Attempt::First,
    };
    frame(sequence, body)
}

fn frame(sequence: u64, body: Body<Segment>) -> Input<Segment> {
    Input::Frame(Frame {
        path: FIRST,
        epoch: Epoch::default(),
        sequence,
        sent: Time::ZERO,
        body,
    })
}

/// Wakes the endpoint and returns the numbers of the segments that it delivers.
fn delivered(end: &mut Endpoint<Segment>, now: Time, wake: Wake<Input<Segment>>) -> Vec<u64> {
    let mut numbers = Vec::new();
    step(end, now, wake, &mut |output| {
        if let Output::Deliver(Segment(number)) = output {
            numbers.push(number);
        }
    });
    numbers
}

#[test]
fn segments_behind_a_gap_wait_for_it_and_no_longer_than_the_hold() {
    let mut end = receiver(Order::Tcp);
    for (number, expected) in [(0, vec![0]), (2, vec![]), (3, vec![]), (1, vec![1, 2, 3])] {
        let numbers = delivered(&mut end, at(number), Wake::Input(data(number)));
        assert_eq!(numbers, expected);
    }
    assert!(delivered(&mut end, at(10), Wake::Input(data(5))).is_empty());
    assert_eq!(end.buffered(), 1);
    let mut last = Vec::new();
    while last.is_empty() {
        let due = end.deadline().unwrap();
        assert!(due.at <= at(10) + TCP_HOLD, "{due:?}");
        last = delivered(&mut end, due.at, Wake::Timeout);
        assert_eq!(last.is_empty(), due.at < at(10) + TCP_HOLD);
    }
    assert_eq!(last, [5]);
    let statistics = end.order_statistics().unwrap();
    assert_eq!((statistics.held, statistics.expired), (3, 1));
}

#[test]
fn another_policy_and_a_restarted_sender_release_what_is_held() {
    let mut end = receiver(Order::Tcp);
    for number in [0, 2] {
        delivered(&mut end, at(0), Wake::Input(data(number)));
    }
    let all = config(PolicyConfig::DuplicateAll {});
    let adjust = Input::Adjust(Adjustment::new(&all).unwrap());
    assert_eq!(delivered(&mut end, at(1), Wake::Input(adjust)), [2]);
    assert_eq!(delivered(&mut end, at(2), Wake::Input(data(4))), [4]);
    assert_eq!(end.order_statistics(), None);
    let mut end = receiver(Order::All(MS * 30));
    for number in [7, 9] {
        delivered(&mut end, at(0), Wake::Input(data(number)));
    }
    let restarted = Wake::Input(Input::PeerRestarted);
    assert_eq!(delivered(&mut end, at(1), restarted), [9]);
    assert_eq!(delivered(&mut end, at(2), Wake::Input(data(0))), [0]);
}

/// Without repairs a hold would only delay what TCP sends again.
#[test]
fn segments_of_a_peer_without_repairs_pass_unless_all_packets_are_ordered() {
    for (order, expected) in [(Order::Tcp, vec![2]), (Order::All(MS), vec![])] {
        let mut end = receiver(order);
        for (number, expected) in [(0, vec![0]), (2, expected)] {
            let data = frame(number, Body::Data(Segment(number)));
            assert_eq!(delivered(&mut end, at(0), Wake::Input(data)), expected);
        }
    }
}
