//! A source that gives less than the wanted rate raises no window.

use alloc::collections::BTreeMap;

use super::super::wire::{Progress, ReceiverMessage, SenderMessage};
use super::*;
use crate::machine::Deadline;

/// A control unit for 800 kbit/s whose first round-trip time is known, and the decisions since.
struct Controlled {
    unit: ControlUnit,
    now: Time,
}

impl Controlled {
    fn new(config: ControllerConfig) -> Self {
        let mut unit = ControlUnit::new(config, TARGET);
        let first = Wake::Input(ControlInput::Rtt(RTT));
        step(&mut unit, Time::ZERO, first, &mut |_| {});
        let now = Time::ZERO;
        Self { unit, now }
    }

    /// An interval in which `percent` of the wanted rate arrive; returns the windows after it.
    fn interval(&mut self, percent: u64, is_application_limited: bool) -> Windows {
        let at = self.unit.deadline().unwrap().at;
        let rate = Rate(TARGET.rate.0 * percent / 100);
        let bytes = rate.bytes_in(at.since(self.now));
        let limited =
            is_application_limited.then_some(ControlInput::ApplicationLimited { is_idle: false });
        for input in [ControlInput::Delivered(bytes)].into_iter().chain(limited) {
            step(&mut self.unit, self.now, Wake::Input(input), &mut |_| {});
        }
        step(&mut self.unit, at, Wake::Timeout, &mut |_| {});
        self.now = at;
        self.unit.wanted()
    }
}

fn controllers() -> [ControllerConfig; 2] {
    let control = ControlConfig::for_target(TARGET);
    [adjust(5, control), ControllerConfig::auto(TARGET, 64)]
}

#[test]
fn a_source_below_the_rate_keeps_the_windows_and_the_connections() {
    for config in controllers() {
        let mut live = Controlled::new(config);
        let first = live.unit.wanted();
        for _ in 0..100 {
            assert_eq!(live.interval(90, true), first);
        }
        // A pause, and what follows at the rate.
        for _ in 0..10 {
            assert_eq!(live.interval(0, true), first);
        }
        for _ in 0..10 {
            assert_eq!(live.interval(100, false), first);
        }
    }
}

#[test]
fn a_network_below_the_rate_raises_the_windows_at_once() {
    for config in controllers() {
        let mut live = Controlled::new(config);
        let first = live.unit.wanted();
        for _ in 0..100 {
            live.interval(90, true);
        }
        assert!(live.interval(50, false).sum() > first.sum());
    }
}

#[test]
fn a_source_above_the_rate_lowers_the_windows_whether_it_pauses_or_not() {
    for is_limited in [false, true] {
        let mut live = Controlled::new(adjust(5, ControlConfig::for_target(TARGET)));
        let before = live.interval(100, false);
        let after = (0..10).map(|_| live.interval(150, is_limited).sum());
        assert!(after.min() < Some(before.sum()));
    }
}

/// Both ends of a stream over a link, for 5 Mbit/s.
struct Ends {
    sender: ServedStream<u64>,
    receiver: Reception<u64>,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    now: Time,
    /// The time at which the link is free.
    free: Time,
    /// The time that a packet takes on the link.
    transmission: Duration,
    taken: u64,
    /// The time between the packets of the source, and from when on it gives the next ones.
    interval: Duration,
    next: Time,
}

#[derive(Clone, Copy)]
enum Event {
    ToSender(u32, ReceiverMessage),
    ToReceiver(u32, SenderMessage<u64>),
    Written(u32),
    Source,
}

const RATE: Rate = Rate(5_000_000);
/// This share of [`RATE`].
const fn rate_of(percent: u64) -> Rate {
    Rate(RATE.0 / 100 * percent)
}

const DELAY: Duration = Duration::from_millis(25);

impl Ends {
    /// A source at `percent` of the rate.
    fn new(controller: ControllerConfig, percent: u64) -> Self {
        let target = Target {
            rate: RATE,
            segment: TARGET.segment,
        };
        let receiver = Reception::new(&ReceptionConfig {
            stream: [7; 16],
            receiver: ReceiverConfig {
                target,
                controller,
                buffer: 1024,
                play_out: None,
                until: Time::MAX,
            },
            patience: Duration::from_secs(20),
        });
        let mut ends = Self {
            sender: ServedStream::new(Time::ZERO, 9, 1024, 0),
            receiver,
            events: BTreeMap::new(),
            count: 0,
            now: Time::ZERO,
            free: Time::ZERO,
            transmission: rate_of(1000).transmission_time(target.segment),
            taken: 0,
            interval: rate_of(percent).transmission_time(target.segment),
            next: Time::ZERO,
        };
        ends.receive(Wake::Input(ReceptionInput::Start));
        ends.receive(Wake::Input(ReceptionInput::Rtt(DELAY * 2)));
        ends
    }

    fn at(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    fn receive(&mut self, wake: Wake<ReceptionInput<u64>>) {
        let mut outputs = Vec::new();
        step(&mut self.receiver, self.now, wake, &mut |o| outputs.push(o));
        for output in outputs {
            match output {
                ReceptionOutput::Open(opening) => {
                    let connection = opening.hello.connection;
                    self.serve(Wake::Input(ServedInput::Attached {
                        connection,
                        received: 0,
                    }));
                }
                ReceptionOutput::Send {
                    connection,
                    message,
                } => self.at(self.now + DELAY, Event::ToSender(connection, message)),
                ReceptionOutput::SetWindow { .. } | ReceptionOutput::Deliver(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn serve(&mut self, wake: Wake<ServedInput<u64>>) {
        let mut outputs = Vec::new();
        step(&mut self.sender, self.now, wake, &mut |o| outputs.push(o));
        for output in outputs {
            match output {
                ServedOutput::Send {
                    connection,
                    message,
                } => {
                    let mut arrives = self.now;
                    if matches!(message, SenderMessage::Packet { .. }) {
                        arrives = self.free.max(self.now) + self.transmission;
                        self.free = arrives;
                        self.at(arrives, Event::Written(connection));
                    }
                    self.at(arrives + DELAY, Event::ToReceiver(connection, message));
                }
                ServedOutput::Shutdown(_) => {}
                other => panic!("{other:?}"),
            }
        }
        self.give_packets();
    }

    fn give_packets(&mut self) {
        if !self.sender.wants_packet() {
            return;
        }
        if self.next > self.now {
            if !self.sender.is_source_empty() {
                self.serve(Wake::Input(ServedInput::SourceEmpty));
                self.at(self.next, Event::Source);
            }
            return;
        }
        self.taken += 1;
        self.next += self.interval;
        self.serve(Wake::Input(ServedInput::Packet(self.taken)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::ToSender(connection, ReceiverMessage::Progress(progress)) => {
                self.serve(Wake::Input(ServedInput::Progress {
                    connection,
                    progress,
                }));
            }
            Event::ToSender(connection, ReceiverMessage::Closing) => {
                self.serve(Wake::Input(ServedInput::Closing(connection)));
            }
            Event::ToSender(_, other) => panic!("{other:?}"),
            Event::ToReceiver(connection, message) => {
                let message = message.map(|packet| SizedPacket {
                    packet,
                    size: TARGET.segment,
                });
                self.receive(Wake::Input(ReceptionInput::Message {
                    connection,
                    message,
                }));
            }
            Event::Written(connection) => {
                self.serve(Wake::Input(ServedInput::Written(connection)));
            }
            Event::Source => self.give_packets(),
        }
    }

    /// Runs for this time; returns the largest sum of windows and number of connections.
    fn run(&mut self, span: Duration) -> [u32; 2] {
        let until = self.now + span;
        let mut largest = [0; 2];
        loop {
            let event = self.events.keys().next().map_or(Time::MAX, |(at, _)| *at);
            let due = |deadline: Option<Deadline>| deadline.map_or(Time::MAX, |due| due.at);
            let (receiver, sender) = (due(self.receiver.deadline()), due(self.sender.deadline()));
            let at = event.min(receiver).min(sender);
            if at > until {
                self.now = until;
                return largest;
            }
            self.now = at.max(self.now);
            if event <= at {
                let (_, event) = self.events.pop_first().unwrap();
                self.handle(event);
            } else if receiver <= at {
                self.receive(Wake::Timeout);
            } else {
                self.serve(Wake::Timeout);
            }
            let wanted = self.receiver.receiver().wanted().unwrap();
            largest[0] = largest[0].max(wanted.sum());
            largest[1] = largest[1].max(wanted.connections());
        }
    }

    /// The source gives nothing for this time.
    fn pause(&mut self, span: Duration) -> [u32; 2] {
        self.next = self.next.max(self.now) + span;
        self.run(span)
    }
}

#[test]
fn a_live_stream_keeps_the_windows_of_an_uncongested_path_through_pauses() {
    for (config, connections) in stream_controllers() {
        let mut ends = Ends::new(config, 90);
        // What waited for the first connection is not yet sent in the first interval.
        ends.run(Duration::from_secs(10));
        let first = ends.run(Duration::from_secs(5));
        // 31 segments in a round trip of 50 ms.
        assert_eq!(first, [31, connections]);
        for seconds in [1, 4, 10] {
            assert_eq!(ends.pause(Duration::from_secs(seconds)), first);
            assert_eq!(ends.run(Duration::from_secs(3)), first, "after {seconds} s");
        }
    }
}

#[test]
fn windows_that_a_congestion_has_raised_return_to_those_of_an_uncongested_path() {
    for (config, _) in stream_controllers() {
        let mut ends = Ends::new(config, 90);
        ends.run(Duration::from_secs(10));
        let [before, _] = ends.run(Duration::from_secs(5));
        let usual = ends.transmission;
        ends.transmission = usual * 20;
        let [congested, _] = ends.run(Duration::from_secs(10));
        assert!(congested > 2 * before, "{congested}");
        ends.transmission = usual;
        ends.run(Duration::from_secs(120));
        let [after, connections] = ends.run(Duration::from_secs(1));
        // Windows that the kernel sets, of 16 and more, are twice as large here.
        assert!((before / 2..=before).contains(&after), "{after}");
        assert!(connections <= 5, "{connections}");
    }
}

/// Controllers for [`RATE`], with the number of connections that they begin with.
fn stream_controllers() -> [(ControllerConfig, u32); 2] {
    let target = Target {
        rate: RATE,
        segment: TARGET.segment,
    };
    let control = ControlConfig::for_target(target);
    [
        (adjust(5, control), 5),
        (ControllerConfig::auto(target, 64), 1),
    ]
}

const NONE: [bool; 0] = [];

/// Whether each packet that is sent is application-limited.
fn limits(outputs: &[ServedOutput<u64>]) -> Vec<bool> {
    let packets = outputs.iter().filter_map(|output| match output {
        ServedOutput::Send {
            message:
                SenderMessage::Packet {
                    is_application_limited,
                    ..
                },
            ..
        } => Some(*is_application_limited),
        _ => None,
    });
    packets.collect()
}

#[test]
fn a_packet_is_application_limited_if_the_source_was_empty_and_a_connection_was_not_blocked() {
    let mut stream = ServedStream::new(Time::ZERO, 9, 64, 0);
    let mut serve = |input| {
        let mut outputs = Vec::new();
        step(&mut stream, Time::ZERO, Wake::Input(input), &mut |output| {
            outputs.push(output);
        });
        limits(&outputs)
    };
    let attached = ServedInput::Attached {
        connection: 1,
        received: 0,
    };
    assert_eq!(serve(attached), NONE);
    assert_eq!(serve(ServedInput::SourceEmpty), NONE, "without credit");
    assert_eq!(serve(ServedInput::Packet(1)), NONE);
    let credit = |credit| ServedInput::Progress {
        connection: 1,
        progress: Progress {
            credit,
            received: 0,
        },
    };
    assert_eq!(
        serve(credit(3)),
        [false],
        "the credit was what it waited for"
    );
    assert_eq!(serve(ServedInput::SourceEmpty), NONE);
    assert_eq!(serve(ServedInput::Packet(2)), [true]);
    assert_eq!(serve(ServedInput::Written(1)), NONE);
    assert_eq!(serve(ServedInput::Packet(3)), [false], "the source had it");
    // The credit is used up.
    assert_eq!(serve(ServedInput::Written(1)), NONE);
    assert_eq!(serve(ServedInput::SourceEmpty), NONE);
    assert_eq!(serve(ServedInput::Packet(4)), NONE);
    assert_eq!(serve(credit(9)), [false]);
}
