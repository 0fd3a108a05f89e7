//! The schedule of faults of a stream, drawn from one seed.

use polypath_core::connections::{ControlConfig, ControllerConfig, Target};
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

/// The size of a packet in bytes.
const SEGMENT: u64 = 1316;
/// The most connections of a stream.
const MOST_CONNECTIONS: u64 = 8;

/// The parameters of a stream and its faults.
#[derive(Clone, Debug)]
pub struct StreamSchedule {
    /// The number of packets of the source.
    pub packets: u64,
    /// The time between the packets that the source gives; `None` if it has all at the start.
    pub interval: Option<Duration>,
    /// A packet of such a source before which it pauses, and the length of the pause.
    pub pause: (u64, Duration),
    /// The number of packets that the receiver buffers.
    pub buffer: u32,
    /// The wanted rate.
    pub target: Target,
    /// The controller of connections and windows.
    pub controller: ControllerConfig,
    /// The most connections that the server takes.
    pub limit: usize,
    /// The delay in each direction.
    pub delay: Duration,
    /// The time that a packet takes on the link that all connections share.
    pub transmission: Duration,
    /// The round trips until a connection can carry a hello: two with TLS.
    pub handshake: u64,
    /// The faults, in order.
    pub faults: Vec<StreamFault>,
    /// The time at which the receiver leaves the stream, if it does.
    pub leaves: Option<Time>,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFault {
    /// Its time.
    pub at: Time,
    /// Its kind and extent.
    pub kind: StreamFaultKind,
}

/// The kind of a fault. A connection is picked among those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFaultKind {
    /// Connections are reset for both ends.
    Reset(Picked),
    /// Connections carry nothing to the server, nothing to the receiver, or neither.
    Silence {
        /// The connections.
        picked: Picked,
        /// Whether nothing arrives at the server.
        to_server: bool,
        /// Whether nothing arrives at the receiver.
        to_receiver: bool,
    },
    /// A device ends connections in order for both ends, with what is on the way.
    Cut(Picked),
    /// The network carries nothing for this time.
    Outage(Duration),
    /// The server restarts after this time, without its streams.
    Restart(Duration),
    /// The receiver handles nothing for this time.
    Stall(Duration),
    /// Connections that are opened in this time take as long as is drawn, up to 15 s.
    SlowOpenings(Duration),
}

/// The connections that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// The one at this position, modulo their number.
    One(u64),
    /// All.
    All,
}

impl StreamFault {
    /// The time at which it ends.
    #[must_use]
    pub fn until(&self) -> Time {
        match self.kind {
            StreamFaultKind::Reset(_)
            | StreamFaultKind::Silence { .. }
            | StreamFaultKind::Cut(_) => self.at,
            StreamFaultKind::Outage(lasts)
            | StreamFaultKind::Restart(lasts)
            | StreamFaultKind::Stall(lasts)
            | StreamFaultKind::SlowOpenings(lasts) => self.at + lasts,
        }
    }
}

impl StreamSchedule {
    /// Draws the schedule of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let (stream, source) = &mut (
            Seed(seed).stream("stream schedule"),
            Seed(seed).stream("stream source"),
        );
        let per_second = 50 + stream.below(450);
        let seconds = 5 + stream.below(55);
        let delay = Duration::from_millis(1 + stream.below(150));
        let target = Target {
            rate: Rate(per_second * SEGMENT * 8),
            segment: Bytes(SEGMENT),
        };
        let connections = 1 + stream.below(MOST_CONNECTIONS);
        let limit = if stream.chance(0.25) {
            1 + stream.below(connections)
        } else {
            64
        };
        let capacity = per_second as f64 * (1.2 + 3.0 * stream.uniform());
        let faults = draw_faults(stream, seconds);
        let leaves = stream.chance(0.15).then(|| draw_time(stream, seconds));
        Self {
            packets: per_second * seconds,
            // At 80 to 110 % of the wanted rate.
            pause: (
                source.below(per_second * seconds),
                Duration::from_millis(source.below(3000)),
            ),
            interval: source.chance(0.3).then(|| {
                Duration::from_secs_f64(1.0 / (per_second as f64 * (0.8 + 0.3 * source.uniform())))
            }),
            buffer: 16 << stream.below(8),
            target,
            controller: draw_controller(stream, target, connections, delay),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            delay,
            transmission: Duration::from_secs_f64(1.0 / capacity),
            handshake: 1 + stream.below(2),
            faults,
            leaves,
        }
    }

    /// The time at which the source gives its packet `number`, from 0.
    #[must_use]
    pub fn source_gives(&self, number: u64) -> Time {
        let Some(interval) = self.interval else {
            return Time::ZERO;
        };
        let (before, lasts) = self.pause;
        let pause = if number < before {
            Duration::ZERO
        } else {
            lasts
        };
        Time::ZERO + interval * number + pause
    }

    /// The packets that are expected in a time without faults: a quarter of the wanted rate, or of what
    /// the receiver buffers in each round trip if that is less, and of that the part of the connections
    /// which the server takes.
    #[must_use]
    pub fn expected_in(&self, time: Duration) -> u64 {
        let all = u64::from(self.controller.connections()).max(1);
        let taken = (self.limit as u64).min(all);
        let wanted = self.target.rate.bytes_in(time).0 / SEGMENT;
        let buffered = u64::from(self.buffer) * (time.as_nanos() / (self.delay * 2).as_nanos());
        wanted.min(buffered) * taken / all / 4
    }

    /// The time from which there is no fault.
    #[must_use]
    pub fn calm_from(&self) -> Time {
        let ends = self.faults.iter().map(StreamFault::until);
        ends.max().unwrap_or(Time::ZERO)
    }

    /// The end of the time without a network around `at`, if there is none then.
    #[must_use]
    pub fn outage_until(&self, at: Time) -> Option<Time> {
        self.lasting(at, |kind| matches!(kind, StreamFaultKind::Outage(_)))
    }

    /// The end of the time without a server around `at`, if there is none then.
    #[must_use]
    pub fn down_until(&self, at: Time) -> Option<Time> {
        self.lasting(at, |kind| matches!(kind, StreamFaultKind::Restart(_)))
    }

    /// The end of the stall of the receiver around `at`, if it stalls then.
    #[must_use]
    pub fn stalled_until(&self, at: Time) -> Option<Time> {
        self.lasting(at, |kind| matches!(kind, StreamFaultKind::Stall(_)))
    }

    /// Whether connections that are opened at `at` take long.
    #[must_use]
    pub fn opens_slowly(&self, at: Time) -> bool {
        let slow = |kind: &StreamFaultKind| matches!(kind, StreamFaultKind::SlowOpenings(_));
        self.lasting(at, slow).is_some()
    }

    fn lasting(&self, at: Time, is_kind: impl Fn(&StreamFaultKind) -> bool) -> Option<Time> {
        let faults = self.faults.iter().filter(|fault| is_kind(&fault.kind));
        let around = faults.filter(|fault| fault.at <= at && at < fault.until());
        around.map(StreamFault::until).max()
    }
}

fn draw_controller(
    stream: &mut Stream,
    target: Target,
    connections: u64,
    delay: Duration,
) -> ControllerConfig {
    let connections = u32::try_from(connections).unwrap_or(u32::MAX);
    match stream.below(3) {
        0 => {
            // A little more than the packets of a round trip.
            let in_flight = target.rate.bytes_in(delay * 2).0 * 6 / 5 / SEGMENT;
            let window = in_flight / u64::from(connections);
            ControllerConfig::FixedWindows {
                connections,
                window: 1 + u32::try_from(window).unwrap_or(u32::MAX - 1),
            }
        }
        1 => ControllerConfig::AdjustWindow {
            connections,
            control: ControlConfig::for_target(target),
        },
        _ => ControllerConfig::auto(target, connections),
    }
}

fn draw_faults(stream: &mut Stream, seconds: u64) -> Vec<StreamFault> {
    let count = 1 + stream.below(6);
    let mut faults: Vec<StreamFault> = (0..count)
        .map(|_| StreamFault {
            at: draw_time(stream, seconds),
            kind: draw_kind(stream),
        })
        .collect();
    faults.sort_by_key(|fault| fault.at);
    faults
}

fn draw_time(stream: &mut Stream, seconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(stream.below(seconds * 1000))
}

fn draw_kind(stream: &mut Stream) -> StreamFaultKind {
    let lasts = Duration::from_millis(stream.below(25_000));
    match stream.below(8) {
        0 => StreamFaultKind::Reset(draw_picked(stream)),
        1 | 2 => {
            let end = stream.below(3);
            StreamFaultKind::Silence {
                picked: draw_picked(stream),
                to_server: end != 1,
                to_receiver: end != 0,
            }
        }
        3 => StreamFaultKind::Cut(draw_picked(stream)),
        4 => StreamFaultKind::Outage(lasts),
        5 => StreamFaultKind::Restart(lasts.scale(1, 4)),
        6 => StreamFaultKind::Stall(lasts),
        _ => StreamFaultKind::SlowOpenings(lasts),
    }
}

fn draw_picked(stream: &mut Stream) -> Picked {
    if stream.chance(0.3) {
        Picked::All
    } else {
        Picked::One(stream.below(64))
    }
}
