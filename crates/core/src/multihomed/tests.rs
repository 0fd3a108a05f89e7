use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::cbr::{Cbr, CbrConfig};
use crate::frame::{Epoch, PathId};
use crate::machine::{Wake, step};
use crate::policy::{DelayCentricConfig, Feedback, PolicyContext, ReactiveConfig};
use crate::rng::Seed;
use crate::tariff::Tariffs;
use crate::time::{Duration, Time};

const MS: Duration = Duration::from_millis(1);

fn source(packets: u64, stop: Time) -> MultihomedSource {
    let stream = |part| Seed(1).stream(part);
    let intervals = CbrConfig {
        interval: MS * 10,
        jitter: 0.0,
        drift: 0.0,
    };
    let schedule = SourceSchedule {
        start: Time::ZERO + MS * 5,
        stop,
        intervals: Cbr::new(intervals, stream("traffic")),
        packets,
        size: 250,
    };
    let policy = DelayCentricConfig::DelayCentric(ReactiveConfig::default());
    let policy = policy.build(PolicyContext {
        paths: 2,
        start: Some(PathId(1)),
        pair_interval: Duration::from_secs(1),
        epoch: Epoch::default(),
        acknowledges: true,
        tariffs: Tariffs::default(),
        stream: stream("policy"),
    });
    MultihomedSource::new(schedule, policy, 2)
}

/// Drives a source over paths of these round-trip times until it is over; returns its outputs.
fn drive(
    mut source: MultihomedSource,
    round_trips: [Duration; 2],
) -> Vec<(Time, MultihomedOutput)> {
    let mut outputs = Vec::new();
    let mut answers: Vec<(Time, Feedback)> = Vec::new();
    let mut now = Time::ZERO;
    let mut deadline = crate::machine::Machine::deadline(&source);
    loop {
        let answer = answers.iter().map(|(at, _)| *at).min();
        let Some(next) = deadline.map(|d| d.at).into_iter().chain(answer).min() else {
            return outputs;
        };
        assert!(next >= now, "{next:?} is before {now:?}");
        now = next;
        let due = answers.iter().position(|(at, _)| *at == now);
        let wake = match due {
            Some(position) => Wake::Input(answers.remove(position).1),
            None => Wake::Timeout,
        };
        deadline = step(&mut source, now, wake, &mut |output| {
            outputs.push((now, output));
            if let MultihomedOutput::Send(frame) = output {
                let at = now + round_trips[frame.path().index()];
                let answer = frame.answer(now).expect("a source sends no answers");
                answers.push((at, answer.feedback(at).expect("an answer has feedback")));
            }
        });
    }
}

fn data(outputs: &[(Time, MultihomedOutput)]) -> Vec<(Time, PathId, u32)> {
    let data = outputs.iter().filter_map(|(at, output)| match output {
        MultihomedOutput::Send(MultihomedFrame::Data { path, number, sent }) => {
            assert_eq!(sent, at);
            Some((*at, *path, *number))
        }
        _ => None,
    });
    data.collect()
}

#[test]
fn a_source_sends_its_datagrams_at_even_intervals_and_then_nothing() {
    let outputs = drive(source(500, Time::MAX), [MS * 20, MS * 20]);
    let data = data(&outputs);
    let numbers: Vec<u32> = data.iter().map(|(_, _, number)| *number).collect();
    assert_eq!(numbers, (1..=500).collect::<Vec<u32>>());
    for (at, _, number) in &data {
        assert_eq!(*at, Time::ZERO + MS * 5 + MS * 10 * u64::from(number - 1));
    }
    let last = data.last().unwrap().0;
    assert!(outputs.iter().all(|(at, _)| *at <= last), "{outputs:?}");
    let heartbeats = outputs.iter().filter(|(_, output)| {
        matches!(
            output,
            MultihomedOutput::Send(MultihomedFrame::Heartbeat {
                path: PathId(0),
                ..
            })
        )
    });
    // One every .5 to 1.5 s on the path without data.
    assert!((2..=9).contains(&heartbeats.count()));
}

#[test]
fn a_source_stops_at_its_stop() {
    let stop = Time::ZERO + MS * 105;
    let outputs = drive(source(500, stop), [MS * 20, MS * 20]);
    assert_eq!(data(&outputs).len(), 10);
    assert!(outputs.iter().all(|(at, _)| *at < stop));
}

/// A source that is woken late sends what was due before its stop, but not all that a long stall has
/// left out.
#[test]
fn a_late_wake_sends_a_bounded_burst() {
    let woken = |at: u64, stop: Time| {
        let mut source = source(1000, stop);
        let mut sent = Vec::new();
        let now = Time::ZERO + MS * at;
        let deadline = step(&mut source, now, Wake::Timeout, &mut |output| {
            sent.push((now, output));
        });
        (data(&sent).len(), deadline.map(|deadline| deadline.at))
    };
    // The first is due at 5 ms, and then one every 10 ms.
    assert_eq!(woken(35, Time::MAX).0, 4);
    let (burst, next) = woken(5000, Time::MAX);
    assert_eq!((burst, next), (64, Some(Time::ZERO + MS * 5010)));
    assert_eq!(woken(5000, Time::ZERO + MS * 40), (4, None));
}

#[test]
fn data_moves_to_the_path_whose_answers_come_earlier() {
    let outputs = drive(source(500, Time::MAX), [MS * 20, MS * 200]);
    let changes: Vec<(Option<PathId>, PathId)> = outputs
        .iter()
        .filter_map(|(_, output)| match output {
            MultihomedOutput::Path { from, to } => Some((*from, *to)),
            MultihomedOutput::Send(_) => None,
        })
        .collect();
    let [first, second] = [PathId(1), PathId(0)];
    assert_eq!(changes, [(None, first), (Some(first), second)]);
    assert_eq!(data(&outputs).last().unwrap().1, second);
}

#[test]
fn an_answer_states_the_delay_of_its_datagram() {
    let sent = Time::ZERO + MS * 30;
    let (path, number) = (PathId(1), 7);
    let data = MultihomedFrame::Data { path, number, sent };
    let answer = data.answer(sent + Duration::from_micros(1234)).unwrap();
    assert_eq!(
        answer,
        MultihomedFrame::Ack {
            path,
            number,
            sent,
            delay_micros: 1234
        }
    );
    let rtt = MS * 2;
    let acknowledged = Feedback::Acknowledged { path, rtt };
    assert_eq!(answer.feedback(sent + rtt), Some(acknowledged));
    // The clock of the receiver is behind: the delay wraps.
    let answer = data.answer(sent - Duration::from_micros(5)).unwrap();
    let MultihomedFrame::Ack { delay_micros, .. } = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(delay_micros.wrapping_add(5), 0);
    assert_eq!(answer.answer(sent), None);
    assert_eq!(data.feedback(sent), None);
}

#[test]
fn other_datagrams_are_refused_with_their_reason() {
    let heartbeat = MultihomedDatagram {
        session: 1,
        source: 2,
        frame: MultihomedFrame::Heartbeat {
            path: PathId(0),
            id: 3,
        },
    };
    let bytes = heartbeat.encode();
    let decode = MultihomedDatagram::decode;
    assert_eq!(decode(&bytes[..23]), Err(MultihomedError::Short(23)));
    assert_eq!(decode(&[]), Err(MultihomedError::Short(0)));
    let mut other = bytes;
    other[0] = 2 << 4;
    assert_eq!(decode(&other), Err(MultihomedError::Version(2)));
    other[0] = bytes[0] | 0xf;
    assert_eq!(decode(&other), Err(MultihomedError::Kind(15)));
}

fn frames() -> impl Strategy<Value = MultihomedFrame> {
    let fields = (any::<u8>(), any::<u32>(), any::<u64>(), any::<u32>());
    (0..4, fields).prop_map(|(kind, (path, number, long, delay_micros))| {
        let (path, sent, id) = (PathId(path), Time(long), long);
        match kind {
            0 => MultihomedFrame::Data { path, number, sent },
            1 => MultihomedFrame::Ack {
                path,
                number,
                sent,
                delay_micros,
            },
            2 => MultihomedFrame::Heartbeat { path, id },
            _ => MultihomedFrame::Reply { path, id },
        }
    })
}

proptest! {
    #[test]
    fn a_datagram_is_decoded_as_it_was_encoded_whatever_its_padding(
        frame in frames(), session in any::<u16>(), source in any::<u32>(), padding in 0_usize..300,
    ) {
        let datagram = MultihomedDatagram { session, source, frame };
        let mut bytes = datagram.encode().to_vec();
        bytes.resize(HEADER_LEN + padding, 0xff);
        prop_assert_eq!(MultihomedDatagram::decode(&bytes), Ok(datagram));
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_are_what_is_encoded_again(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(datagram) = MultihomedDatagram::decode(&bytes) {
            let again = MultihomedDatagram::decode(&datagram.encode());
            prop_assert_eq!(again, Ok(datagram));
        }
    }
}
