//! The receiver's reports.

use super::*;
use crate::machine::{Machine, Wake, step};

fn receive(receiver: &mut SpacedReceiver, now: Time, sequences: &[u64]) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for &sequence in sequences {
        let (sent, rtt) = (now - ONE_WAY, RTT);
        let header = SpacedHeader {
            sequence,
            sent,
            rtt,
        };
        step(receiver, now, Wake::Input(header), &mut |output| {
            arrivals.extend(match output {
                ReceiverOutput::Arrived(arrival) => Some(arrival),
                ReceiverOutput::Feedback(_) => None,
            });
        });
    }
    arrivals
}

fn report(receiver: &mut SpacedReceiver) -> Option<Feedback> {
    let mut sent = None;
    let due = receiver.deadline()?.at;
    step(receiver, due, Wake::Timeout, &mut |output| match output {
        ReceiverOutput::Feedback(feedback) => sent = Some(feedback),
        ReceiverOutput::Arrived(_) => {}
    });
    sent
}

#[test]
fn late_and_duplicate_packets_are_counted_separately() {
    let mut receiver = SpacedReceiver::new(0);
    receive(&mut receiver, at(1), &[0, 1, 3, 3, 5]);
    let first = report(&mut receiver).unwrap();
    assert_eq!(
        (first.number, first.end, first.received, first.lost_end),
        (1, 6, 4, 5)
    );
    assert_eq!((first.echo, first.hold), (at(1) - ONE_WAY, RTT));
    let arrived = receive(&mut receiver, at(2), &[2, 2, 6, 7]);
    let in_time = Arrival::InTime;
    assert_eq!(
        arrived,
        [Arrival::Late, Arrival::Duplicate, in_time, in_time]
    );
    let second = report(&mut receiver).unwrap();
    assert_eq!(
        (second.number, second.end, second.received, second.lost_end),
        (2, 8, 6, 5)
    );
    let expected = Arrivals {
        distinct: 7,
        late: 1,
        duplicates: 2,
    };
    assert_eq!(second.arrivals, expected);
    assert_eq!(report(&mut receiver), None, "no packet arrived");
    assert_eq!(report(&mut receiver), None, "and no timer runs");
    receive(&mut receiver, at(9), &[8]);
    assert_eq!(
        report(&mut receiver).map(|f| f.end),
        Some(9),
        "until a packet arrives"
    );
}

#[test]
fn a_number_is_lost_once_the_newest_is_three_ahead() {
    let mut receiver = SpacedReceiver::new(3);
    receive(&mut receiver, at(1), &[0, 1, 3, 4]);
    let counts = |f: Feedback| (f.end, f.received, f.lost_end);
    assert_eq!(
        report(&mut receiver).map(counts),
        Some((2, 2, 0)),
        "2 may still arrive"
    );
    receive(&mut receiver, at(2), &[2, 6, 7, 8]);
    assert_eq!(
        report(&mut receiver).map(counts),
        Some((9, 8, 6)),
        "5 is lost"
    );
}

#[test]
fn a_gap_wider_than_the_window_is_counted_completely() {
    let mut receiver = SpacedReceiver::new(3);
    receive(&mut receiver, at(1), &[0, 10_000_000]);
    let counts = |f: Feedback| (f.end, f.received, f.lost_end);
    assert_eq!(
        report(&mut receiver).map(counts),
        Some((9_999_998, 1, 9_999_998))
    );
    receive(&mut receiver, at(2), &[10_000_001, 10_000_002]);
    assert_eq!(
        report(&mut receiver).map(counts),
        Some((10_000_003, 4, 10_000_000))
    );
}

/// A whole window arrived after the loss: the lost number is unknown, but it is behind the window.
#[test]
fn a_loss_behind_the_window_is_reported_as_the_newest_there() {
    let mut receiver = SpacedReceiver::new(0);
    let sequences: Vec<_> = (1..200_000).collect();
    receive(&mut receiver, at(1), &sequences);
    let last = report(&mut receiver).unwrap();
    assert_eq!((last.end, last.received), (200_000, 199_999));
    assert!(
        last.lost_end > 0 && last.lost_end <= 200_000 - u64::from(crate::spacing::receiver::WINDOW),
        "{last:?}"
    );
}
