use super::*;
use crate::frame::Attempt;
use crate::repair::Report;
use crate::time::Duration;
use crate::wire::{decode, encode};
use alloc::boxed::Box;
use alloc::vec;
use proptest::prelude::*;

const PATH: PathId = PathId(1);
/// One more than the largest truncated number.
const WRAP: u64 = 1 << BITS;

/// A sender and a receiver with a link between them.
#[derive(Default)]
struct Pair {
    sender: Numbers,
    receiver: Numbers,
}

fn frame(epoch: u32, sequence: u64, sent: Time, body: Body<Vec<u8>>) -> Frame<Vec<u8>> {
    Frame {
        path: PATH,
        epoch: Epoch(epoch),
        sequence,
        sent,
        body,
    }
}

fn data() -> Body<Vec<u8>> {
    Body::Data(vec![1])
}

/// The frame as `numbers` reads it after it was encoded.
fn read(
    numbers: &mut Numbers,
    now: Time,
    frame: &Frame<Vec<u8>>,
) -> Result<(Epoch, u64, Time), WireError> {
    let mut bytes = Vec::new();
    encode(frame, &mut bytes);
    let mut decoded = decode(frame.path, &bytes)?;
    numbers.expand(now, &mut decoded)?;
    Ok((decoded.epoch, decoded.sequence, decoded.sent))
}

impl Pair {
    fn cross(
        &mut self,
        now: Time,
        frame: &Frame<Vec<u8>>,
    ) -> Result<(Epoch, u64, Time), WireError> {
        self.sender.on_sent(frame);
        read(&mut self.receiver, now, frame)
    }

    /// Transfers the first data frame, with the number zero at time zero.
    fn started() -> Self {
        let mut pair = Self::default();
        pair.cross(Time::ZERO, &frame(0, 0, Time::ZERO, data()))
            .unwrap();
        pair
    }
}

fn micros(count: u64) -> Time {
    Time(count * MICROSECOND)
}

/// Frames with these numbers, sent and received in this order, are read as they are.
fn assert_exact(numbers: impl IntoIterator<Item = u64>, body: &Body<Vec<u8>>) {
    let mut pair = Pair::started();
    for number in numbers {
        let sent = micros(number);
        let epoch = u32::try_from(number / 1_000_000).unwrap();
        let frame = frame(epoch, number, sent, body.clone());
        let found = pair.cross(sent, &frame);
        assert_eq!(found, Ok((Epoch(epoch), number, sent)), "{body:?}");
    }
}

#[test]
fn numbers_of_data_times_and_epochs_are_found_around_every_wrap() {
    let reported = Body::Reported {
        payload: vec![1],
        attempt: Attempt::Repair,
    };
    // Steps up to a wrap and across it, with three lost or late ones between.
    let steps =
        |n: u64| (0..60).map(move |k| n * WRAP + [0, 3, 1, 2][k % 4] - 2 + k as u64 / 4 * 4);
    for body in [data(), reported, Body::Probe { data_len: 9 }] {
        let climb = (1..40).map(|k| k * (WRAP / 4));
        assert_exact(climb, &body);
        for wrap in [1, 2, 9] {
            let climb = (1..2 * wrap).map(|half| half * (WRAP / 2));
            assert_exact(climb.chain(steps(wrap)), &body);
        }
    }
    let report = Body::Report(Box::default());
    let climb = (0..20).map(|half| half * (WRAP / 2 - 1));
    assert_exact(climb, &report);
}

#[test]
fn the_longest_loss_is_survived_and_a_longer_one_is_not() {
    let next = |lost| {
        let mut pair = Pair::started();
        let found = pair.cross(micros(1), &frame(0, lost, micros(1), data()));
        found.map(|(_, sequence, _)| sequence)
    };
    assert_eq!(next(WRAP / 2), Ok(WRAP / 2));
    assert_eq!(next(WRAP / 2 + 1), Err(WireError::Number(WRAP / 2 + 1)));
}

#[test]
fn times_are_found_after_any_pause_and_within_eight_seconds_of_delay() {
    let mut pair = Pair::started();
    let mut sent = Time::ZERO;
    for pause in [1, 16, 17, 100_000] {
        sent += Duration::from_secs(pause);
        let found = pair.cross(sent + Duration::from_secs(8), &frame(0, 0, sent, data()));
        assert_eq!(found, Ok((Epoch(0), 0, sent)), "{pause}");
        sent += Duration::from_secs(pause);
        // Arrives 8 s earlier than the pause of the sender tells.
        let found = pair.cross(sent, &frame(0, 0, sent, data()));
        assert_eq!(found, Ok((Epoch(0), 0, sent)), "{pause}");
    }
}

#[test]
fn a_reply_has_the_number_of_the_heartbeat_of_its_path_and_purpose() {
    let mut numbers = Numbers::default();
    let purposes = [Purpose::Liveness, Purpose::Policy, Purpose::Size { len: 9 }];
    let reply = |number, purpose: Purpose| {
        let body = Body::HeartbeatReply(purpose.answered());
        frame(0, number, Time::ZERO, body)
    };
    for purpose in purposes {
        let unsent = read(&mut numbers, Time::ZERO, &reply(3, purpose));
        assert_eq!(unsent, Err(WireError::Number(3)));
    }
    for (number, purpose) in [7, WRAP + 7, 5 * WRAP - 1].into_iter().zip(purposes) {
        numbers.on_sent(&frame(0, number, Time::ZERO, Body::Heartbeat(purpose)));
    }
    for (number, purpose) in [5, WRAP - 2, 5 * WRAP - 3].into_iter().zip(purposes) {
        let found = read(&mut numbers, Time::ZERO, &reply(number, purpose));
        assert_eq!(found.map(|found| found.1), Ok(number));
    }
    let elsewhere = Frame {
        path: PathId(0),
        ..reply(5, Purpose::Liveness)
    };
    assert!(read(&mut numbers, Time::ZERO, &elsewhere).is_err());
}

#[test]
fn the_base_of_a_report_is_near_the_newest_data_sent() {
    let mut numbers = Numbers::default();
    for newest in [0, 5, WRAP - 1, WRAP, 7 * WRAP + 2] {
        numbers.on_sent(&frame(0, newest, Time::ZERO, data()));
        for base in [newest + 1, newest.saturating_sub(3000)] {
            let report = Report {
                base,
                ..Report::default()
            };
            let mut bytes = Vec::new();
            let sent = frame(0, 1, Time::ZERO, Body::Report(Box::new(report)));
            encode(&sent, &mut bytes);
            let mut decoded = decode(PATH, &bytes).unwrap();
            numbers.expand(Time::ZERO, &mut decoded).unwrap();
            let Body::Report(report) = decoded.body else {
                panic!("{:?}", decoded.body);
            };
            assert_eq!(report.base, base);
        }
    }
}

/// A node that restarts hears of epoch 44 from a peer whose epoch is 300, and requests 45.
#[test]
fn a_request_is_understood_whose_sender_started_later() {
    let (mut old, mut new) = (Numbers::default(), Numbers::default());
    let from_old = frame(300, 9 * WRAP + 5, Time::ZERO, data());
    old.on_sent(&from_old);
    let (epoch, sequence, _) = read(&mut new, Time::ZERO, &from_old).unwrap();
    assert_eq!((epoch, sequence), (Epoch(44), 5));
    let request = frame(45, 0, Time::ZERO, Body::Switch { to: PATH });
    let (epoch, ..) = read(&mut old, Time::ZERO, &request).unwrap();
    assert_eq!(epoch, Epoch(301));
}

#[test]
fn a_restarted_peer_counts_from_zero() {
    let mut pair = Pair::started();
    for number in [WRAP / 2, WRAP, 2 * WRAP - WRAP / 2] {
        pair.cross(Time::ZERO, &frame(0, number, Time::ZERO, data()))
            .unwrap();
    }
    pair.receiver.on_peer_restarted();
    let found = pair.cross(Time::ZERO, &frame(0, 1, micros(9), data()));
    assert_eq!(found, Ok((Epoch(0), 1, micros(9))));
}

/// A refused frame leaves no trace.
#[test]
fn a_refused_frame_changes_nothing() {
    let mut pair = Pair::started();
    let refused = frame(0, WRAP - 5, micros(99), data());
    assert!(read(&mut pair.receiver, micros(99), &refused).is_err());
    assert_eq!(pair.receiver.peer.data, Some(0));
    assert_eq!(pair.receiver.peer.clock, Some((0, Time::ZERO)));
}

proptest! {
    /// Reordered, lost and repeated frames are read as they were sent, from any start.
    #[test]
    fn every_frame_of_a_reordered_stream_is_read_as_it_was_sent(
        start in prop_oneof![Just(0), WRAP - 100..WRAP + 100, 0..100 * WRAP],
        steps in prop::collection::vec((-1000..100_000_i64, 0..2_000_000_u64, -3_i64..4), 1..60),
    ) {
        let mut pair = Pair::default();
        let (mut number, mut now) = (start, micros(10_000_000));
        let first = frame(9, number, now, data());
        let (_, base, clock) = pair.cross(now, &first).unwrap();
        let (offset, ahead) = (number - base, Duration(now.0 - clock.0));
        for (step, passed, delay) in steps {
            number = number.saturating_add_signed(step).max(start);
            now += Duration::from_micros(passed);
            let sent = Time((now.0 / MICROSECOND).saturating_add_signed(-delay * 100_000) * MICROSECOND);
            let found = pair.cross(now, &frame(9, number, sent, data())).unwrap();
            prop_assert_eq!(found, (Epoch(9), number - offset, sent - ahead));
        }
    }
}
