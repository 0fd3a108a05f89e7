//! Two endpoints with the policy `in-time` over simulated paths, and a stream in one direction.

use alloc::collections::{BTreeMap, BinaryHeap};
use core::cmp::Reverse;

use super::super::*;
use crate::frame::{Attempt, OVER_IPV4};
use crate::liveness::LivenessConfig;
use crate::repair::RepairStatistics;
use crate::rng::Stream;
use crate::units::{Bytes, Rate};

/// The interval of packets of a stream of 5 Mbit/s.
const INTERVAL: Duration = Duration::from_micros(2105);
/// The longest queue of a path of limited rate.
const MAX_QUEUE: Duration = Duration::from_millis(250);
/// The bytes of media in a packet, and those of the IP packet.
const MEDIA: u64 = 1316;
const PACKET: u32 = 1344;

/// A path in both directions.
pub(super) struct TestPath {
    /// The one-way delay.
    pub(super) delay: Duration,
    /// Whether a frame that is sent now is lost.
    pub(super) loses: fn(&mut Stream, Time) -> bool,
    /// The delay of the queue from the first endpoint to the second; `None` if it is full.
    pub(super) queue: fn(Time) -> Option<Duration>,
    /// The maximum of a random delay, which may reorder.
    pub(super) jitter: Duration,
    /// The rate from the first endpoint to the second; `None` for any.
    pub(super) rate: Option<Rate>,
    /// The longest queue if the rate is limited, in time: what finds a longer one is lost.
    pub(super) max_queue: Duration,
    /// The time at which all frames have left the queue for it.
    free: Time,
    /// The longest queue from 3 s on, in time.
    pub(super) longest: Duration,
    /// Whether packets of TCP have to leave on it in their order.
    pub(super) keeps_order: bool,
    /// The highest sequence number of a packet sent for the first time.
    newest: u64,
    last_arrival: Time,
}

impl TestPath {
    pub(super) fn new(delay: u64, loses: fn(&mut Stream, Time) -> bool) -> Self {
        Self {
            delay: MS * delay,
            loses,
            queue: |_| Some(Duration::ZERO),
            jitter: Duration::ZERO,
            rate: None,
            max_queue: MAX_QUEUE,
            free: Time::ZERO,
            longest: Duration::ZERO,
            keeps_order: true,
            newest: 0,
            last_arrival: Time::ZERO,
        }
    }
}

impl TestPath {
    /// A path without losses whose rate is limited.
    pub(super) fn limited(delay: u64, rate: Rate) -> Self {
        Self {
            rate: Some(rate),
            ..Self::new(delay, |_, _| false)
        }
    }

    /// The time that a frame of `len` bytes spends in the queue and in transmission; `None` if the
    /// queue is full.
    fn queue(&mut self, now: Time, len: u32) -> Option<Duration> {
        let Some(rate) = self.rate else {
            return (self.queue)(now);
        };
        if self.free.since(now) > self.max_queue {
            return None;
        }
        self.free = self.free.max(now) + rate.transmission_time(Bytes(len.into()));
        if now > at(3000) {
            self.longest = self.longest.max(self.free.since(now));
        }
        Some(self.free.since(now))
    }
}

/// The clock of the second endpoint.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    /// Its lead.
    pub(super) ahead: Duration,
    /// The excess of its rate, in millionths.
    pub(super) drift: u64,
    /// A step forward by a second at this time.
    pub(super) step: Time,
}

impl Clock {
    fn read(self, now: Time) -> Time {
        let step = u64::from(now >= self.step);
        now + self.ahead + Duration(now.0).scale(self.drift, 1_000_000) + Duration::from_secs(step)
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Arrival {
    Frame(usize, usize),
    Timeout(usize),
}

/// The endpoints, the paths, and what happened.
pub(super) struct Network {
    pub(super) ends: [Endpoint<Packet>; 2],
    pub(super) paths: Vec<TestPath>,
    frames: BTreeMap<usize, Frame<Packet>>,
    calendar: BinaryHeap<Reverse<(Time, u64, Arrival)>>,
    number: u64,
    stream: Stream,
    pub(super) clock: Clock,
    pub(super) sent: Vec<Time>,
    pub(super) arrived: Vec<Option<Time>>,
    /// Bytes on the wire, by kind.
    pub(super) bytes: BTreeMap<FrameKind, u64>,
    /// Bytes on the wire in both directions, by path and second.
    pub(super) path_bytes: BTreeMap<(PathId, u64), u64>,
    /// The times at which the first endpoint moved data to another path.
    pub(super) moves: Vec<Time>,
    /// The packets that the first endpoint dropped when they came.
    pub(super) dropped: Vec<usize>,
    /// The times at which the first endpoint sent packets for the first time.
    pub(super) departures: Vec<Time>,
    /// The packets of the stream: their kind, the interval between bursts, and the packets of each.
    pub(super) kind: Kind,
    pub(super) interval: Duration,
    pub(super) burst: u32,
    /// The size of a packet in bytes.
    pub(super) packet: u32,
    /// Every n-th packet is one of media.
    pub(super) media_every: Option<u32>,
    /// The ports of the packets, by number.
    pub(super) ports: fn(u32) -> Option<[u16; 2]>,
    /// An input of an endpoint besides frames and packets, and its time.
    pub(super) input: Option<(Time, usize, Input<Packet>)>,
    /// The time from which end 1 takes the other end for restarted.
    restarted: Option<Time>,
    now: Time,
}

impl Network {
    pub(super) fn new(policy: RepairConfig, paths: Vec<TestPath>, seed: u64) -> Self {
        Self::with_tariffs(policy, paths, seed, [&[]; 2])
    }

    pub(super) fn with_tariffs(
        policy: RepairConfig,
        paths: Vec<TestPath>,
        seed: u64,
        tariffs: [&[Tariff]; 2],
    ) -> Self {
        let end = |tariffs: &[Tariff]| EndpointConfig {
            tariffs: tariffs.iter().copied().collect(),
            ..config(PolicyConfig::InTime(policy))
        };
        Self::with_configs(&tariffs.map(end), paths, seed)
    }

    /// Two equal ends with this policy and its costs and classes.
    pub(super) fn with_config(end: &EndpointConfig, paths: Vec<TestPath>, seed: u64) -> Self {
        Self::with_configs(&[end.clone(), end.clone()], paths, seed)
    }

    fn with_configs(ends: &[EndpointConfig; 2], paths: Vec<TestPath>, seed: u64) -> Self {
        let count = u8::try_from(paths.len()).unwrap();
        let end = |end: &EndpointConfig| {
            let config = EndpointConfig {
                paths: count,
                encapsulation: Encapsulation::deployed(OVER_IPV4),
                window: 4096,
                liveness: Some(LivenessConfig::default()),
                ..end.clone()
            };
            Endpoint::new(&config).unwrap()
        };
        Self {
            ends: ends.each_ref().map(end),
            paths,
            frames: BTreeMap::new(),
            calendar: BinaryHeap::new(),
            number: 0,
            stream: Seed(seed).stream("losses"),
            clock: Clock {
                ahead: Duration::from_secs(86_400),
                drift: 0,
                step: Time::MAX,
            },
            sent: Vec::new(),
            arrived: Vec::new(),
            bytes: BTreeMap::new(),
            path_bytes: BTreeMap::new(),
            moves: Vec::new(),
            dropped: Vec::new(),
            departures: Vec::new(),
            kind: Kind::Opaque,
            interval: INTERVAL,
            burst: 1,
            packet: PACKET,
            media_every: None,
            ports: |_| None,
            input: None,
            restarted: None,
            now: Time::ZERO,
        }
    }

    fn schedule(&mut self, at: Time, arrival: Arrival) {
        self.number += 1;
        self.calendar.push(Reverse((at, self.number, arrival)));
    }

    pub(super) fn wake(&mut self, end: usize, what: Wake<Input<Packet>>) {
        let now = self.now;
        let local = if end == 0 { now } else { self.clock.read(now) };
        for output in wake(&mut self.ends[end], local, what) {
            match output {
                Output::Transmit(frame) => self.transmit(end, frame),
                Output::Deliver(packet) => {
                    let arrived = &mut self.arrived[packet.0 as usize];
                    // One that seems to have restarted has forgotten what it delivered before.
                    let forgotten = self.restarted.filter(|_| end == 1);
                    let before = arrived.filter(|at| forgotten.is_none_or(|time| *at > time));
                    assert_eq!(before, None, "delivered twice");
                    *arrived = Some(now);
                }
                Output::Event(Event::FrameOut { path, kind, len }) => {
                    *self.bytes.entry(kind).or_default() += u64::from(len);
                    let second = now.0 / 1_000_000_000;
                    *self.path_bytes.entry((path, second)).or_default() += u64::from(len);
                }
                Output::Event(Event::Dropped {
                    reason: DropReason::QueueFull,
                    ..
                }) => self.dropped.push(self.sent.len() - 1),
                Output::Event(Event::Switched { .. }) if end == 0 => self.moves.push(now),
                Output::Event(_) | Output::Refused { .. } => {}
            }
        }
        let capacity = self.ends[end].capacity();
        assert!(self.ends[end].buffered() <= capacity);
        if let Some(deadline) = self.ends[end].deadline() {
            self.schedule(now + deadline.at.since(local), Arrival::Timeout(end));
        }
    }

    fn transmit(&mut self, from: usize, frame: Frame<Packet>) {
        let path = &mut self.paths[frame.path.index()];
        if from == 0 && frame.body.kind() == FrameKind::Data {
            self.departures.push(self.now);
        }
        let len = Encapsulation::deployed(OVER_IPV4).size(&frame.body);
        if let Body::Reported {
            attempt: Attempt::First,
            ..
        } = frame.body
            && from == 0
            && self.kind == Kind::Data
            && path.keeps_order
        {
            assert!(frame.sequence >= path.newest, "out of order on a path");
            path.newest = frame.sequence;
        }
        if (path.loses)(&mut self.stream, self.now) {
            return;
        }
        let queue = if from == 0 {
            path.queue(self.now, len)
        } else {
            Some(Duration::ZERO)
        };
        let Some(queue) = queue else { return };
        let mut at = self.now + path.delay + queue;
        if path.jitter > Duration::ZERO {
            at += Duration(self.stream.below(path.jitter.0));
        } else if from == 0 {
            at = at.max(path.last_arrival);
            path.last_arrival = at;
        }
        let id = usize::try_from(self.number).unwrap();
        self.frames.insert(id, frame);
        self.schedule(at, Arrival::Frame(1 - from, id));
    }

    /// Handles all that happens until `until`.
    fn run(&mut self, until: Time) {
        while let Some(Reverse((at, _, arrival))) = self.calendar.pop() {
            if at > until {
                self.schedule(at, arrival);
                break;
            }
            self.now = at;
            match arrival {
                Arrival::Frame(to, id) => {
                    let frame = self.frames.remove(&id).unwrap();
                    self.wake(to, Wake::Input(Input::Frame(frame)));
                }
                Arrival::Timeout(end) => {
                    let local = if end == 0 { at } else { self.clock.read(at) };
                    if self.ends[end].deadline().is_some_and(|due| due.at <= local) {
                        self.wake(end, Wake::Timeout);
                    }
                }
            }
        }
        self.now = until;
    }

    /// Sends the stream for `seconds`, after a second for heartbeats.
    pub(super) fn stream(&mut self, seconds: u64) -> &mut Self {
        self.wake(0, Wake::Input(Input::Reachable));
        self.wake(1, Wake::Input(Input::Reachable));
        let start = at(1000);
        let end = start + Duration::from_secs(seconds);
        let mut next = start;
        while next < end {
            self.run(next);
            let number = u32::try_from(self.sent.len()).unwrap();
            self.sent.push(next);
            self.arrived.push(None);
            let is_media = self.media_every.is_some_and(|every| number % every == 0);
            let kind = if is_media { Kind::Opaque } else { self.kind };
            if let Some((_, end, input)) = self.input.take_if(|(at, ..)| *at <= next) {
                if end == 1 && input == Input::PeerRestarted {
                    self.restarted = Some(self.now);
                }
                self.wake(end, Wake::Input(input));
            }
            let meta = PacketMeta {
                ports: (self.ports)(number),
                ..meta(kind, self.packet)
            };
            let payload = Packet(number, self.packet as usize);
            self.wake(0, Wake::Input(Input::Packet { meta, payload }));
            if (number + 1) % self.burst == 0 {
                next += self.interval;
            }
        }
        self.run(end + MS * 3000);
        self
    }

    /// The delay that one in `parts` of the packets that arrived exceeds.
    pub(super) fn tail(&self, parts: usize) -> Duration {
        let pairs = self.sent.iter().zip(&self.arrived);
        let delays = pairs.filter_map(|(sent, arrived)| arrived.map(|at| at.since(*sent)));
        let mut delays: Vec<_> = delays.collect();
        delays.sort_unstable();
        delays[delays.len() - 1 - delays.len() / parts]
    }

    /// The share of packets that did not arrive within `deadline`.
    pub(super) fn late(&self, deadline: Duration) -> f64 {
        let pairs = self.sent.iter().zip(&self.arrived);
        let late = pairs.filter(|(sent, arrived)| {
            arrived.is_none_or(|arrived| arrived.since(**sent) > deadline)
        });
        late.count() as f64 / self.sent.len() as f64
    }

    /// The delays of the packets of media that were sent after `from`; that of a lost one is
    /// [`Duration::MAX`].
    pub(super) fn delays_of_media(&self, from: Time) -> Vec<Duration> {
        let every = self.media_every.map_or(1, |every| every as usize);
        let media = self.sent.iter().zip(&self.arrived).step_by(every);
        let media = media.filter(|(sent, _)| **sent > from);
        let delay = |(sent, arrived): (&Time, &Option<Time>)| {
            arrived.map_or(Duration::MAX, |arrived| arrived.since(*sent))
        };
        media.map(delay).collect()
    }

    /// The times at which the packets were sent that got lost between the endpoints.
    pub(super) fn lost(&self) -> impl Iterator<Item = Time> {
        let all = self.sent.iter().zip(&self.arrived).enumerate();
        let lost = all
            .filter(|(number, (_, arrived))| arrived.is_none() && !self.dropped.contains(number));
        lost.map(|(_, (sent, _))| *sent)
    }

    /// The share of `path` in the bytes on the wire of these seconds, in both directions.
    pub(super) fn share(&self, path: PathId, seconds: core::ops::Range<u64>) -> f64 {
        let sum = |of: fn(PathId, PathId) -> bool| {
            let counted = self
                .path_bytes
                .iter()
                .filter(|((on, second), _)| of(*on, path) && seconds.contains(second));
            counted.map(|(_, bytes)| *bytes).sum::<u64>() as f64
        };
        sum(|on, path| on == path) / sum(|_, _| true)
    }

    /// Bytes on the wire over bytes of media.
    pub(super) fn wire(&self) -> f64 {
        let all: u64 = self.bytes.values().sum();
        all as f64 / (self.sent.len() as u64 * MEDIA) as f64
    }

    pub(super) fn statistics(&self) -> RepairStatistics {
        self.ends[0].repair_statistics().unwrap()
    }
}
