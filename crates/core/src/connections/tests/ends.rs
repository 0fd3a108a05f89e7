//! Both ends of a stream: their messages, and the ends of connections and streams.

use alloc::collections::VecDeque;
use core::fmt::{self, Write};

use super::super::wire::{Hello, Progress, ReceiverMessage, Refusal, SenderMessage};
use super::*;

const STREAM: [u8; 16] = [7; 16];
const PATIENCE: Duration = Duration::from_secs(20);

fn reception(connections: u32) -> Reception<u64> {
    Reception::new(&ReceptionConfig {
        stream: STREAM,
        receiver: ReceiverConfig {
            target: TARGET,
            controller: ControllerConfig::FixedWindows {
                connections,
                window: 2,
            },
            buffer: 64,
            play_out: None,
            until: Time::MAX,
        },
        patience: PATIENCE,
    })
}

fn receive(
    reception: &mut Reception<u64>,
    now: Time,
    input: ReceptionInput<u64>,
) -> Vec<ReceptionOutput<u64>> {
    let mut outputs = Vec::new();
    step(reception, now, Wake::Input(input), &mut |output| {
        outputs.push(output);
    });
    outputs
}

/// Wakes a machine at its deadlines up to `until`.
fn wait<M: Machine>(machine: &mut M, until: Time) -> Vec<M::Output> {
    let mut outputs = Vec::new();
    while let Some(due) = machine.deadline().filter(|due| due.at <= until) {
        let next = step(machine, due.at, Wake::Timeout, &mut |output| {
            outputs.push(output);
        });
        assert!(next.is_none_or(|next| next.at > due.at), "{}", due.why);
    }
    outputs
}

fn message(connection: u32, message: SenderMessage<SizedPacket<u64>>) -> ReceptionInput<u64> {
    ReceptionInput::Message {
        connection,
        message,
    }
}

fn welcome(connection: u32) -> ReceptionInput<u64> {
    message(connection, SenderMessage::Welcome { source: 9 })
}

fn ended(connection: u32, end: ConnectionEnd) -> ReceptionInput<u64> {
    ReceptionInput::Ended { connection, end }
}

/// The connections that are opened, with the failed ones that they name.
fn opened(outputs: &[ReceptionOutput<u64>]) -> Vec<(u32, Vec<u32>)> {
    let opened = outputs.iter().filter_map(|output| match output {
        ReceptionOutput::Open(opening) => Some((opening.hello.connection, opening.failed.clone())),
        _ => None,
    });
    opened.collect()
}

fn served(packets: u64) -> (ServedStream<u64>, Vec<ServedOutput<u64>>) {
    let mut stream = ServedStream::new(Time::ZERO, 9, 64, 0);
    let mut outputs = Vec::new();
    for packet in 1..=packets {
        outputs.extend(serve(&mut stream, Time::ZERO, ServedInput::Packet(packet)));
    }
    outputs.extend(serve(&mut stream, Time::ZERO, ServedInput::SourceEnded));
    (stream, outputs)
}

fn serve(
    stream: &mut ServedStream<u64>,
    now: Time,
    input: ServedInput<u64>,
) -> Vec<ServedOutput<u64>> {
    let mut outputs = Vec::new();
    step(stream, now, Wake::Input(input), &mut |output| {
        outputs.push(output);
    });
    outputs
}

fn attached(connection: u32) -> ServedInput<u64> {
    ServedInput::Attached {
        connection,
        received: 0,
    }
}

fn progress(connection: u32, credit: u64, received: u64) -> ServedInput<u64> {
    ServedInput::Progress {
        connection,
        progress: Progress { credit, received },
    }
}

/// The sequence numbers that are sent, with their connections.
fn packets(outputs: &[ServedOutput<u64>]) -> Vec<(u32, u64)> {
    let sent = outputs.iter().filter_map(|output| match output {
        ServedOutput::Send {
            connection,
            message: SenderMessage::Packet { sequence, .. },
        } => Some((*connection, *sequence)),
        _ => None,
    });
    sent.collect()
}

/// Both ends of a stream, and the messages between them.
struct Exchange {
    sender: ServedStream<u64>,
    receiver: Reception<u64>,
    to_sender: VecDeque<ReceptionOutput<u64>>,
    to_receiver: VecDeque<ServedOutput<u64>>,
    /// The number of packets taken from the source, and of all.
    taken: u64,
    packets: u64,
    text: String,
}

impl Exchange {
    fn new(packets: u64) -> Self {
        let mut receiver = reception(2);
        let to_sender = receive(&mut receiver, Time::ZERO, ReceptionInput::Start);
        Self {
            sender: ServedStream::new(Time::ZERO, 9, 64, 0),
            receiver,
            to_sender: to_sender.into(),
            to_receiver: VecDeque::new(),
            taken: 0,
            packets,
            text: String::new(),
        }
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        writeln!(self.text, "{text}").unwrap();
    }

    fn serve(&mut self, input: ServedInput<u64>) {
        let outputs = serve(&mut self.sender, Time::ZERO, input);
        self.to_receiver.extend(outputs);
        while self.sender.wants_packet() {
            self.taken += 1;
            let input = if self.taken <= self.packets {
                ServedInput::Packet(self.taken)
            } else {
                ServedInput::SourceEnded
            };
            let outputs = serve(&mut self.sender, Time::ZERO, input);
            self.to_receiver.extend(outputs);
        }
    }

    fn receive(&mut self, input: ReceptionInput<u64>) {
        let was_complete = self.receiver.is_complete();
        let outputs = receive(&mut self.receiver, Time::ZERO, input);
        self.to_sender.extend(outputs);
        if self.receiver.is_complete() && !was_complete {
            let outputs = receive(&mut self.receiver, Time::ZERO, ReceptionInput::Finish);
            self.to_sender.extend(outputs);
        }
    }

    /// The sender reads an output of the receiver.
    fn read_by_sender(&mut self, output: ReceptionOutput<u64>) {
        match output {
            ReceptionOutput::Open(Opening { hello, .. }) => {
                let Hello { connection, .. } = hello;
                self.write(format_args!("{connection} > hello"));
                self.serve(attached(connection));
            }
            ReceptionOutput::Send {
                connection,
                message: ReceiverMessage::Progress(Progress { credit, received }),
            } => {
                self.write(format_args!(
                    "{connection} > credit {credit}, received {received}"
                ));
                self.serve(progress(connection, credit, received));
            }
            ReceptionOutput::Deliver(packet) => self.write(format_args!("    delivered {packet}")),
            ReceptionOutput::SetWindow { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    /// The receiver reads an output of the sender.
    fn read_by_receiver(&mut self, output: ServedOutput<u64>) {
        let (connection, sent) = match output {
            ServedOutput::Send {
                connection,
                message,
            } => (connection, message),
            ServedOutput::Shutdown(connection) => {
                self.write(format_args!("{connection} < shut down"));
                return self.receive(ended(connection, ConnectionEnd::InOrder));
            }
            other => panic!("{other:?}"),
        };
        match &sent {
            SenderMessage::Packet { sequence, .. } => {
                self.write(format_args!("{connection} < packet {sequence}"));
                self.serve(ServedInput::Written(connection));
            }
            SenderMessage::Welcome { source } => {
                self.write(format_args!("{connection} < welcome, source {source}"));
            }
            SenderMessage::End { packets } => {
                self.write(format_args!("{connection} < end after {packets}"));
            }
            SenderMessage::Idle { .. } => panic!("its source is never empty"),
            SenderMessage::Refusal(refusal) => panic!("{refusal}"),
        }
        let sent = sent.map(|packet| SizedPacket {
            packet,
            size: TARGET.segment,
        });
        self.receive(message(connection, sent));
    }
}

/// All messages of a stream of five packets over two connections. A network without delay carries
/// them one by one, those of the receiver first.
#[test]
fn golden_messages_of_a_stream() {
    let mut exchange = Exchange::new(5);
    loop {
        if let Some(output) = exchange.to_sender.pop_front() {
            exchange.read_by_sender(output);
        } else if let Some(output) = exchange.to_receiver.pop_front() {
            exchange.read_by_receiver(output);
        } else {
            break;
        }
    }
    assert!(!exchange.receiver.has_connections());
    assert_eq!(exchange.text, GOLDEN);
}

const GOLDEN: &str = "\
1 > hello
2 > hello
1 < welcome, source 9
1 > credit 2, received 0
2 < welcome, source 9
2 > credit 2, received 0
1 < packet 1
    delivered 1
1 > credit 3, received 1
1 < packet 2
    delivered 2
1 > credit 4, received 2
2 < packet 3
    delivered 3
2 > credit 3, received 3
2 < packet 4
    delivered 4
2 > credit 4, received 4
1 < packet 5
    delivered 5
1 > credit 5, received 5
1 < end after 5
1 > credit 5, received 5
2 > credit 4, received 5
2 < end after 5
1 < shut down
2 < shut down
";

#[test]
fn attempts_that_sent_no_hello_are_not_named() {
    let mut receiver = reception(2);
    let outputs = receive(&mut receiver, Time::ZERO, ReceptionInput::Start);
    assert_eq!(opened(&outputs), [(1, Vec::new()), (2, Vec::new())]);
    for (connection, end) in [(1, ConnectionEnd::Unsent), (2, ConnectionEnd::Failed)] {
        let outputs = receive(&mut receiver, Time::ZERO, ended(connection, end));
        assert!(outputs.contains(&ReceptionOutput::Lost {
            connection,
            was_open: false
        }));
    }
    let outputs = wait(&mut receiver, Time::ZERO + MS * 100);
    assert_eq!(opened(&outputs), [(3, [2].into()), (4, [2].into())]);
}

/// A sender that has not noticed the end of a connection refuses another one.
#[test]
fn a_receiver_without_connections_that_is_refused_tries_again() {
    let mut receiver = reception(2);
    receive(&mut receiver, Time::ZERO, ReceptionInput::Start);
    receive(&mut receiver, Time::ZERO, ended(1, ConnectionEnd::Failed));
    let refusal = SenderMessage::Refusal(Refusal::Connections);
    let outputs = receive(&mut receiver, Time::ZERO, message(2, refusal));
    assert_eq!(outputs, [ReceptionOutput::Limited]);
    receive(&mut receiver, Time::ZERO, ended(2, ConnectionEnd::InOrder));
    let outputs = wait(&mut receiver, Time::ZERO + MS * 100);
    assert_eq!(opened(&outputs), [(3, [1].into()), (4, [1].into())]);
    // Any other refusal ends the stream.
    let refusal = SenderMessage::Refusal(Refusal::Full);
    let outputs = receive(&mut receiver, Time::ZERO, message(3, refusal));
    let refused = ReceptionFailure::Refused(Refusal::Full);
    assert_eq!(outputs, [ReceptionOutput::Failed(refused)]);
}

#[test]
fn a_reception_fails_when_its_patience_ends() {
    let mut receiver = reception(1);
    receive(&mut receiver, Time::ZERO, ReceptionInput::Start);
    receive(&mut receiver, Time::ZERO + MS * 500, welcome(1));
    assert_eq!(wait(&mut receiver, Time::ZERO + PATIENCE * 3), []);
    let lost = Time::ZERO + PATIENCE * 3;
    receive(&mut receiver, lost, ended(1, ConnectionEnd::Failed));
    // The attempts to replace it do not end.
    let unreachable = ReceptionOutput::Failed(ReceptionFailure::Unreachable);
    let before = wait(&mut receiver, lost + PATIENCE - MS);
    assert!(!before.contains(&unreachable), "{before:?}");
    assert_eq!(wait(&mut receiver, lost + PATIENCE), [unreachable]);
}

#[test]
fn another_protocol_ends_a_reception_only_if_the_connection_was_not_open() {
    let permanent = ReceptionOutput::Failed(ReceptionFailure::Permanent);
    let mut receiver = reception(2);
    receive(&mut receiver, Time::ZERO, ReceptionInput::Start);
    receive(&mut receiver, Time::ZERO, welcome(1));
    let end = ConnectionEnd::Permanent;
    let outputs = receive(&mut receiver, Time::ZERO, ended(1, end));
    assert!(!outputs.contains(&permanent), "damaged on the way");
    let outputs = receive(&mut receiver, Time::ZERO, ended(2, end));
    assert!(outputs.contains(&permanent));
}

/// A device ends a connection in order for the sender alone, while it closes.
#[test]
fn a_connection_that_seemed_to_finish_is_repeated_once_it_is_named() {
    let (mut stream, _) = served(4);
    for connection in [1, 2] {
        serve(&mut stream, Time::ZERO, attached(connection));
    }
    let mut sent = Vec::new();
    for connection in [1, 2] {
        sent.extend(packets(&serve(
            &mut stream,
            Time::ZERO,
            progress(connection, 2, 0),
        )));
    }
    assert_eq!(sent, [(1, 1), (1, 2), (2, 3), (2, 4)]);
    serve(&mut stream, Time::ZERO, ServedInput::Closing(1));
    let in_order = ServedInput::Ended {
        connection: 1,
        in_order: true,
    };
    assert_eq!(packets(&serve(&mut stream, Time::ZERO, in_order)), []);
    for _ in 0..2 {
        serve(&mut stream, Time::ZERO, ServedInput::Written(2));
    }
    serve(&mut stream, Time::ZERO, progress(2, 6, 1));
    let outputs = serve(&mut stream, Time::ZERO, ServedInput::Failed(1));
    assert_eq!(packets(&outputs), [(2, 2)], "the first has arrived");
}

#[test]
fn a_stream_without_connections_ends_after_a_minute() {
    let minute = Time::ZERO + Duration::from_secs(60);
    let (mut stream, _) = served(1);
    assert_eq!(stream.deadline().map(|due| due.at), Some(minute));
    let outputs = wait(&mut stream, minute);
    assert_eq!(outputs, [ServedOutput::End(StreamEnd::Orphaned)]);
    assert_eq!(stream.deadline(), None);
    // One whose receiver has everything is complete.
    let (mut stream, _) = served(1);
    serve(&mut stream, Time::ZERO, attached(1));
    serve(&mut stream, Time::ZERO, progress(1, 1, 0));
    let outputs = serve(&mut stream, Time::ZERO, progress(1, 1, 1));
    assert_eq!(outputs, [ServedOutput::Shutdown(1)]);
    let failed = ServedInput::Ended {
        connection: 1,
        in_order: false,
    };
    serve(&mut stream, Time::ZERO, failed);
    let outputs = wait(&mut stream, minute);
    assert_eq!(outputs, [ServedOutput::End(StreamEnd::Complete)]);
}

/// It counts from the end of its last connection.
#[test]
fn a_stream_with_a_connection_does_not_end() {
    let (mut stream, _) = served(1);
    serve(&mut stream, Time::ZERO, attached(1));
    assert_eq!(stream.deadline(), None);
    let failed = ServedInput::Ended {
        connection: 1,
        in_order: false,
    };
    let now = Time::ZERO + Duration::from_secs(30);
    serve(&mut stream, now, failed);
    let due = stream.deadline().map(|due| due.at);
    assert_eq!(due, Some(now + Duration::from_secs(60)));
}

/// Each of them has a packet at least, and the sender keeps 64.
#[test]
fn connections_that_finished_are_bounded() {
    let (mut stream, _) = served(64);
    for connection in 1..10_000 {
        serve(&mut stream, Time::ZERO, attached(connection));
        serve(&mut stream, Time::ZERO, progress(connection, 1, 0));
        serve(&mut stream, Time::ZERO, ServedInput::Closing(connection));
        let ended = ServedInput::Ended {
            connection,
            in_order: true,
        };
        serve(&mut stream, Time::ZERO, ended);
    }
    assert_eq!(stream.sender().finished(), 64);
}

/// The hello of a connection that is being opened may be on its way.
#[test]
fn a_receiver_that_ends_leaves_on_connections_that_are_being_opened() {
    for last in [ReceptionInput::Finish, ReceptionInput::Leave] {
        let mut receiver = reception(1);
        receive(&mut receiver, Time::ZERO, ReceptionInput::Start);
        let leaving = ReceptionOutput::Send {
            connection: 1,
            message: ReceiverMessage::Leaving,
        };
        let mut outputs = receive(&mut receiver, Time::ZERO, last);
        if last == ReceptionInput::Finish {
            let first = outputs.remove(0);
            let is_progress =
                |message: &ReceiverMessage| matches!(message, ReceiverMessage::Progress(_));
            assert!(
                matches!(first, ReceptionOutput::Send { message, .. } if is_progress(&message))
            );
        }
        assert_eq!(outputs, [leaving, ReceptionOutput::Abandon(1)]);
        assert!(!receiver.has_connections());
        assert_eq!(receiver.deadline(), None);
    }
}

#[test]
fn a_source_that_fails_lets_the_rest_arrive_for_5_s() {
    let failing = |waits| {
        let mut stream = ServedStream::new(Time::ZERO, 9, 64, 0);
        serve(&mut stream, Time::ZERO, ServedInput::Packet(1));
        serve(&mut stream, Time::ZERO, attached(1));
        let refusal = Refusal::Failed;
        let failed = ServedInput::SourceFailed { refusal, waits };
        let outputs = serve(&mut stream, Time::ZERO, failed);
        assert!(!stream.wants_packet());
        (stream, outputs)
    };
    let refused = [
        ServedOutput::Send {
            connection: 1,
            message: SenderMessage::Refusal(Refusal::Failed),
        },
        ServedOutput::End(StreamEnd::Source),
    ];
    assert_eq!(failing(false).1, refused);
    let (mut stream, outputs) = failing(true);
    assert_eq!(outputs, []);
    assert_eq!(wait(&mut stream, Time::ZERO + MS * 4999), []);
    assert_eq!(wait(&mut stream, Time::ZERO + MS * 5000), refused);
    // Or until it has.
    let (mut stream, _) = failing(true);
    serve(&mut stream, Time::ZERO, progress(1, 1, 0));
    assert_eq!(serve(&mut stream, Time::ZERO, progress(1, 1, 1)), refused);
}

#[test]
fn connections_of_a_stream_are_limited_and_have_numbers_of_their_own() {
    let mut numbers = ConnectionNumbers::default();
    assert_eq!(numbers.add(1, 2), Ok(()));
    assert_eq!(numbers.add(1, 2), Err(Refusal::Connections));
    assert_eq!(numbers.add(2, 2), Ok(()));
    assert_eq!(numbers.add(3, 2), Err(Refusal::Connections));
    numbers.remove(1);
    assert_eq!(numbers.add(3, 2), Ok(()));
}
