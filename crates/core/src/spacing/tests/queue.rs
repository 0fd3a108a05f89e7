//! The queue of a live source.

use super::*;
use crate::machine::Machine;
use crate::spacing::{DuePacket, MAX_WAITING, SpacedQueue, SpacingConfig};

fn queue(spacing: Duration) -> SpacedQueue<u32> {
    let config = SpacingConfig::new(ControlConfig::Fixed { spacing });
    SpacedQueue::new(&config, Time::ZERO, 0)
}

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

#[test]
fn a_packet_that_waited_for_too_long_gives_its_turn_to_the_next() {
    let mut queue = queue(MS * 60);
    for number in 0..3 {
        assert_eq!(queue.push(at(u64::from(number)), number, 1000), None);
    }
    assert_eq!(queue.pop_due(at(2)), Some(DuePacket::Send(0)));
    assert_eq!(queue.pop_due(at(2)), None);
    queue.push(at(50), 3, 1000);
    assert_eq!(queue.deadline().unwrap().at, at(62));
    assert_eq!(queue.pop_due(at(62)), Some(DuePacket::Send(1)));
    // Packet 2 is 120 ms old, and 3 is 72 ms old.
    assert_eq!(queue.statistics(at(122)).wait, MS * 120);
    assert_eq!(queue.pop_due(at(122)), Some(DuePacket::TooLate(2)));
    assert_eq!(queue.pop_due(at(122)), Some(DuePacket::Send(3)));
    assert_eq!(queue.pop_due(at(122)), None);
    assert_eq!(queue.statistics(at(122)).dropped, 1);
    assert_eq!(queue.deadline(), None, "nothing waits");
}

#[test]
fn a_pause_is_not_caught_up_with() {
    let mut queue = queue(MS * 2);
    queue.push(at(0), 0, 1000);
    assert_eq!(queue.pop_due(at(0)), Some(DuePacket::Send(0)));
    queue.push(at(1000), 1, 1000);
    queue.push(at(1000), 2, 1000);
    assert_eq!(queue.pop_due(at(1000)), Some(DuePacket::Send(1)));
    assert_eq!(queue.deadline().unwrap().at, at(1002));
}

#[test]
fn a_full_queue_drops_the_oldest() {
    let mut queue = queue(MS * 60);
    let packets = u32::try_from(MAX_WAITING).unwrap() + 2;
    let dropped: Vec<_> = (0..packets)
        .filter_map(|number| queue.push(at(0), number, 1000))
        .collect();
    assert_eq!(dropped, [0, 1]);
    assert_eq!(queue.len(), MAX_WAITING);
}

#[test]
fn the_rate_is_that_of_packets_at_the_spacing() {
    let mut queue = queue(MS * 2);
    assert_eq!(queue.statistics(at(0)).rate, None);
    let mut send = |of: core::ops::Range<u64>, size| {
        for number in of {
            let now = at(2 * number);
            queue.push(now, 0, size);
            assert_eq!(queue.pop_due(now), Some(DuePacket::Send(0)));
        }
        queue.statistics(at(0)).rate.unwrap()
    };
    // 1000 B in 2 ms.
    assert_eq!(send(0..1, 1000), Rate::from_mbits(4));
    assert_eq!(send(1..100, 1000), Rate::from_mbits(4));
    let smaller = send(100..300, 500).0;
    assert!((2_000_000..2_010_000).contains(&smaller), "{smaller}");
}

/// The first packets that a receiver counts may have been sent before those that it reports.
#[test]
fn a_late_first_packet_breaks_no_count() {
    let mut receiver = SpacedReceiver::starting_at(100, 64);
    let header = SpacedHeader {
        sequence: 90,
        sent: at(0),
        rtt: MS * 10,
    };
    receiver.handle_input(at(1), header, &mut |_| {});
    let mut reports = Vec::new();
    receiver.handle_timeout(at(11), &mut |output| {
        if let ReceiverOutput::Feedback(feedback) = output {
            reports.push((feedback.end, feedback.received));
        }
    });
    let header = SpacedHeader {
        sequence: 100,
        ..header
    };
    receiver.handle_input(at(12), header, &mut |_| {});
    receiver.handle_timeout(at(21), &mut |output| {
        if let ReceiverOutput::Feedback(feedback) = output {
            reports.push((feedback.end, feedback.received));
        }
    });
    assert_eq!(reports, [(100, 0), (101, 1)]);
}
