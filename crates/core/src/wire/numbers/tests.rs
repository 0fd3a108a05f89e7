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

/// A loss of any length is followed by at most [`BEHIND`] numbers that are too low.
#[test]
fn after_the_longest_loss_numbers_go_on() {
    let next = |lost: u64| {
        let mut pair = Pair::default();
        for first in [WRAP / 2, WRAP] {
            pair.cross(Time::ZERO, &frame(0, first, Time::ZERO, data()))
                .unwrap();
        }
        let start = WRAP + lost;
        let numbers = (start..).step_by(1 << 10).map(|number| {
            let frame = frame(0, number, Time::ZERO, data());
            let (_, found, _) = pair.cross(Time::ZERO, &frame).unwrap();
            (number, found)
        });
        numbers.take(1 << 9).collect::<Vec<_>>()
    };
    let most = WRAP - 1 - BEHIND;
    assert!(next(most).iter().all(|(number, found)| number == found));
    for lost in [
        most + 1,
        WRAP,
        WRAP + 1,
        2 * WRAP - BEHIND,
        9 * WRAP + WRAP / 3,
    ] {
        let found = next(lost);
        let late = found.iter().filter(|(_, found)| *found <= WRAP);
        assert!(late.count() as u64 <= (BEHIND >> 10) + 1, "{lost}");
        let offset = found[0].0 - found[0].1;
        assert!(offset.is_multiple_of(WRAP) && offset > 0);
        assert!(found.iter().all(|(number, found)| number - found == offset));
    }
}

#[test]
fn times_are_found_after_any_pause_and_within_twelve_seconds_of_delay() {
    let mut pair = Pair::started();
    let mut sent = Time::ZERO;
    for pause in [1, 16, 17, 100_000] {
        // Where nothing arrives for long, only the last delay is known.
        for delay in [0, 12, 9, 6, 3, 0] {
            sent += Duration::from_secs(pause);
            let found = pair.cross(
                sent + Duration::from_secs(delay),
                &frame(0, 0, sent, data()),
            );
            assert_eq!(found, Ok((Epoch(0), 0, sent)), "{pause} {delay}");
            sent += Duration::from_secs(delay);
        }
    }
}

/// A path that is faster by up to 4 s than all frames before shows its delay at once.
#[test]
fn a_delay_that_falls_is_found() {
    let mut pair = Pair::default();
    for (at, delay) in [(0, 4000), (100, 3000), (200, 4000), (300, 20)] {
        let sent = micros(20_000_000 + at * 1000);
        let arrival = sent + Duration::from_millis(delay);
        let found = pair.cross(arrival, &frame(0, 0, sent, data()));
        assert_eq!(found, Ok((Epoch(0), 0, sent)), "{delay} ms");
    }
}

/// A hole of 9 s, then all that it delayed, then the next frames without delay.
#[test]
fn a_burst_after_a_hole_moves_no_time() {
    let mut pair = Pair::default();
    let start = micros(50_000_000);
    let ms = |ms| start + Duration::from_millis(ms);
    let early = (0..1000).step_by(20).map(|at| (at, at + 30));
    let held = (1000..10_000).step_by(20).map(|at| (at, 10_000 + at / 100));
    let after = (10_100..12_000).step_by(20).map(|at| (at, at + 30));
    for (sent, arrival) in early.chain(held).chain(after) {
        let found = pair.cross(ms(arrival), &frame(0, sent, ms(sent), data()));
        assert_eq!(found.map(|found| found.2), Ok(ms(sent)), "{sent}");
    }
}

/// A node starts while its peer has run for a while: times that differ by a constant are as good as
/// the right ones, but their differences have to be right.
#[test]
fn the_times_of_a_peer_that_has_started_before_keep_their_differences() {
    for started in (0..20_000_000).step_by(100_000) {
        let mut pair = Pair::default();
        let mut first = None;
        for at in (0..30_000_000).step_by(250_000) {
            let sent = micros(started + at);
            let arrival = micros(at + 20_000);
            let (.., found) = pair.cross(arrival, &frame(0, 1, sent, data())).unwrap();
            let first = *first.get_or_insert(found);
            assert_eq!(
                found.since(first),
                micros(at).since(Time::ZERO),
                "{started} {at}"
            );
        }
    }
}

/// Frames of a slower path that were sent before the first one of a run, just before a wrap.
#[test]
fn frames_from_before_the_first_are_not_lost() {
    let mut pair = Pair::default();
    let first = frame(0, WRAP + 3, micros(WRAP + 100_000), data());
    let now = micros(1_000_000);
    let (_, base, sent) = pair.cross(now, &first).unwrap();
    assert_eq!(base, 3);
    let older = frame(0, WRAP - 2, micros(WRAP - 200_000), data());
    let (_, _, older) = pair
        .cross(now + Duration::from_millis(300), &older)
        .unwrap();
    assert!(older <= sent, "{older} after {sent}");
    let (_, next, _) = pair
        .cross(now, &frame(0, WRAP + 9, micros(WRAP + 200_000), data()))
        .unwrap();
    let (_, last, _) = pair
        .cross(now, &frame(0, WRAP + 10, micros(WRAP + 200_000), data()))
        .unwrap();
    assert_eq!(last, next + 1);
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

/// A receiver that started later knows packet numbers and send times that differ by a multiple of 2^24.
#[test]
fn a_feedback_has_the_numbers_of_its_sender() {
    let mut numbers = Numbers::default();
    let second = Duration::from_secs(1);
    for newest in [5, WRAP - 1, WRAP, 7 * WRAP + 2] {
        numbers.on_sent(&frame(0, newest, Time::ZERO, data()));
        let now = Time::ZERO + second * 1000;
        let echo = now - second;
        let feedback = Feedback {
            number: 9,
            end: (newest + 1) % WRAP + 3 * WRAP,
            lost_end: newest % WRAP + WRAP,
            echo: Time(echo.0 % (WRAP * MICROSECOND)),
            ..Feedback::default()
        };
        let message = Body::Spacing(Box::new(Message::Feedback(feedback)));
        let mut received = frame(0, 0, Time::ZERO, message);
        numbers.expand(now, &mut received).unwrap();
        let expected = Feedback {
            end: newest + 1,
            lost_end: newest,
            echo,
            ..feedback
        };
        let expected = Body::Spacing(Box::new(Message::Feedback(expected)));
        assert_eq!(received.body, expected);
    }
}

/// A restarted node receives the truncated epoch 44 from a peer in epoch 300, and requests 45.
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

/// An epoch of more than 32 bits, and a reply to nothing, leave no trace.
#[test]
fn a_refused_frame_changes_nothing() {
    let mut pair = Pair::started();
    pair.receiver.peer.epoch = Some(Epoch(u32::MAX));
    pair.receiver.own.data = u64::MAX;
    for refused in [
        frame(3, 5, micros(99), data()),
        frame(0, 5, micros(99), Body::HeartbeatReply(Purpose::Policy)),
    ] {
        assert!(read(&mut pair.receiver, micros(99), &refused).is_err());
        assert_eq!(pair.receiver.peer.data, Some(0));
    }
    let report = frame(0xff, 0, micros(99), Body::Report(Box::default()));
    assert!(read(&mut pair.receiver, micros(99), &report).is_ok());
}

/// Epochs wrap while frames overtake each other.
#[test]
fn epochs_are_found_around_every_wrap() {
    let mut pair = Pair::started();
    for epoch in 0..2000_u32 {
        for reordered in [epoch, epoch.saturating_sub(100), epoch + 20] {
            let frame = frame(reordered, 0, Time::ZERO, data());
            let (found, ..) = pair.cross(Time::ZERO, &frame).unwrap();
            assert_eq!(found, Epoch(reordered));
        }
    }
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
