use std::collections::BTreeMap;

use polypath_core::machine::{Wake, step};
use polypath_core::units::Rate;

use polypath_core::connections::{ControllerConfig, Target};
use polypath_core::machine::Machine;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;

use super::subflow_receiver::SubflowReceiver;
use super::*;
use crate::tcp::{SegmentKind, TcpConfig, TcpOutput, Variant};
use polypath_core::rng::Seed;

const MS: Duration = Duration::from_millis(1);
const WINDOW: u32 = 4;

/// A source and its receiver with pipes of 20 ms between them with losses.
struct Ends {
    source: StripedSource,
    sink: StripedSink,
    under_way: BTreeMap<(Time, u64), Segment>,
    order: u64,
    /// ACKs and updates, of which every third is lost.
    answers: u64,
    shut: u32,
}

impl Ends {
    /// Four connections of four segments, a resequencer with one place, nothing new from `stop` on.
    fn new(stop: Time) -> Self {
        let tcp = TcpConfig {
            variant: Variant::Sack,
            syn: true,
            ..TcpConfig::default()
        };
        let target = Target {
            rate: Rate(1_000_000),
            segment: Bytes(1000),
        };
        let controller = ControllerConfig::FixedWindows {
            connections: 4,
            window: WINDOW,
        };
        let (overhead, interval) = (Duration::ZERO, None);
        let source = StripedSourceConfig {
            tcp,
            overhead,
            interval,
        };
        let sink = StripedSinkConfig {
            tcp,
            target,
            controller,
            buffer: 1,
            play_out: None,
        };
        Self {
            source: StripedSource::new(source, Seed(1).stream("overhead"), stop),
            sink: StripedSink::new(&sink, Time::ZERO, stop),
            under_way: BTreeMap::new(),
            order: 0,
            answers: 0,
            shut: 0,
        }
    }

    fn next(&self) -> Option<Time> {
        let arrival = self.under_way.keys().next().map(|(at, _)| *at);
        let ends = [self.source.deadline(), self.sink.deadline()];
        let ends = ends.into_iter().flatten().map(|deadline| deadline.at);
        ends.chain(arrival).min()
    }

    fn wake(&mut self, now: Time) {
        if let Some(entry) = self.under_way.first_entry().filter(|e| e.key().0 <= now) {
            let segment = entry.remove();
            match segment.kind {
                SegmentKind::Data => self.wake_sink(now, Wake::Input(segment)),
                _ => self.wake_source(now, Wake::Input(segment)),
            }
        } else if self.source.deadline().is_some_and(|d| d.at <= now) {
            self.wake_source(now, Wake::Timeout);
        } else {
            self.wake_sink(now, Wake::Timeout);
        }
    }

    fn send(&mut self, now: Time, segment: Segment) {
        self.under_way.insert((now + MS * 20, self.order), segment);
        self.order += 1;
    }

    /// The first connection brings nothing from 2 s to 12 s.
    fn wake_source(&mut self, now: Time, wake: Wake<Segment>) {
        let (sink, mut outputs) = (&mut self.sink, Vec::new());
        step(&mut self.source, now, wake, &mut |output| match output {
            StripedOutput::Tcp(TcpOutput::Segment(segment)) => outputs.push(segment),
            StripedOutput::Tcp(TcpOutput::Event { .. }) => {}
            StripedOutput::Written {
                connection,
                sequence,
            } => sink.note_written(connection, sequence),
        });
        let silent = (2.0..12.0).contains(&now.as_secs_f64());
        for segment in outputs {
            if !(silent && segment.connection == 1) {
                self.send(now, segment);
            }
        }
    }

    fn wake_sink(&mut self, now: Time, wake: Wake<Segment>) {
        let mut outputs = Vec::new();
        step(&mut self.sink, now, wake, &mut |output| {
            if let StripedSinkOutput::Segment(segment) = output {
                outputs.push(segment);
            }
        });
        for segment in outputs {
            self.shut += u32::from(segment.kind == SegmentKind::Ack && segment.window == 0);
            self.answers += 1;
            if !self.answers.is_multiple_of(3) {
                self.send(now, segment);
            }
        }
    }
}

#[test]
fn connections_wait_in_bounded_memory_for_a_silent_one() {
    let mut ends = Ends::new(Time::ZERO + MS * 30_000);
    let mut most = 0;
    while let Some(now) = ends.next().filter(|at| at.as_secs_f64() < 300.0) {
        ends.wake(now);
        let unread = ends.sink.subflows.iter().map(SubflowReceiver::unread);
        most = most.max(unread.max().unwrap_or(0));
    }
    // The window in an ACK does not count the data that it acknowledges: up to a window follows.
    assert!(most <= 2 * WINDOW as usize, "{most}");
    assert!(most >= WINDOW as usize && ends.shut > 0, "nothing waited");
    let counts = ends.sink.state().packets;
    assert!(counts.refused > 0 && counts.delivered > 1000, "{counts:?}");
    assert_eq!(counts.delivered, ends.sink.written);
    assert_eq!(ends.next(), None, "nothing is owed");
}
