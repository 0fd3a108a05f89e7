//! A source that gives less than the wanted rate raises no window.

use super::super::wire::{Progress, SenderMessage};
use super::*;

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
        let limited = is_application_limited.then_some(ControlInput::ApplicationLimited);
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
