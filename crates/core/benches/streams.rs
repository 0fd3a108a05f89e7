//! The processing time of a packet of a stream over several connections: its assignment to a
//! connection, its delivery, and the credit that follows, without network or encryption.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::connections::wire::{ReceiverMessage, SenderMessage};
use polypath_core::connections::{
    ControllerConfig, ReceiverConfig, Reception, ReceptionConfig, ReceptionInput, ReceptionOutput,
    ServedInput, ServedOutput, ServedStream, SizedPacket, Target,
};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

const TARGET: Target = Target {
    rate: Rate(10_000_000),
    segment: Bytes(1316),
};

/// Both ends of a stream of numbered packets.
struct Pair {
    sender: ServedStream<u64>,
    receiver: Reception<u64>,
    now: Time,
    sent: u64,
    delivered: u64,
    to_sender: Vec<ServedInput<u64>>,
}

impl Pair {
    fn new(connections: u32, window: u32) -> Self {
        let receiver = Reception::new(&ReceptionConfig {
            stream: [0; 16],
            receiver: ReceiverConfig {
                target: TARGET,
                controller: ControllerConfig::FixedWindows {
                    connections,
                    window,
                },
                buffer: 16_384,
                play_out: None,
                until: Time::MAX,
            },
            patience: Duration::from_secs(30),
        });
        let mut pair = Self {
            sender: ServedStream::new(Time::ZERO, 1, 16_384, 0),
            receiver,
            now: Time::ZERO,
            sent: 0,
            delivered: 0,
            to_sender: Vec::new(),
        };
        pair.receive(Wake::Input(ReceptionInput::Start));
        let rtt = ReceptionInput::Rtt(Duration::from_millis(50));
        pair.receive(Wake::Input(rtt));
        pair.exchange();
        pair
    }

    fn receive(&mut self, wake: Wake<ReceptionInput<u64>>) {
        let (inputs, delivered) = (&mut self.to_sender, &mut self.delivered);
        step(&mut self.receiver, self.now, wake, &mut |output| {
            inputs.push(match output {
                ReceptionOutput::Open(opening) => ServedInput::Attached {
                    connection: opening.hello.connection,
                    received: 0,
                },
                ReceptionOutput::Send {
                    connection,
                    message: ReceiverMessage::Progress(progress),
                } => ServedInput::Progress {
                    connection,
                    progress,
                },
                ReceptionOutput::Deliver(_) => {
                    *delivered += 1;
                    return;
                }
                _ => return,
            });
        });
    }

    /// Passes all messages on until there are no more.
    fn exchange(&mut self) {
        while let Some(input) = self.to_sender.pop() {
            let mut outputs = Vec::new();
            step(
                &mut self.sender,
                self.now,
                Wake::Input(input),
                &mut |output| {
                    outputs.push(output);
                },
            );
            for output in outputs {
                if let ServedOutput::Send {
                    connection,
                    message,
                } = output
                {
                    self.carry(connection, message);
                }
            }
        }
    }

    fn carry(&mut self, connection: u32, message: SenderMessage<u64>) {
        if matches!(message, SenderMessage::Packet { .. }) {
            self.to_sender.push(ServedInput::Written(connection));
        }
        let message = message.map(|packet| SizedPacket {
            packet,
            size: TARGET.segment,
        });
        self.receive(Wake::Input(ReceptionInput::Message {
            connection,
            message,
        }));
    }

    /// Sends a packet; returns the number of delivered packets.
    fn transfer(&mut self) -> u64 {
        self.now += Duration::from_millis(1);
        self.sent += 1;
        self.to_sender.push(ServedInput::Packet(self.sent));
        self.exchange();
        let now = self.now;
        if self.receiver.deadline().is_some_and(|due| due.at <= now) {
            self.receive(Wake::Timeout);
            self.exchange();
        }
        self.delivered
    }
}

fn streams(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a packet of a stream");
    group.throughput(Throughput::Elements(1));
    for (connections, window) in [(5, 4), (5, 64), (64, 4), (1024, 1)] {
        let mut pair = Pair::new(connections, window);
        for _ in 0..10_000 {
            pair.transfer();
        }
        // A window may be full for a moment.
        assert!(pair.delivered + 64 > pair.sent, "{}", pair.delivered);
        let name = format!("{connections} connections, windows of {window}");
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| pair.transfer());
        });
    }
    group.finish();
}

criterion_group!(benches, streams);
criterion_main!(benches);
