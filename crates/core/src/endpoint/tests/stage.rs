//! Two endpoints and the paths between them, with queues, jitter and losses.

use alloc::collections::BTreeMap;

use super::*;
use crate::rng::Stream;

/// A path in one direction.
pub(super) struct Path {
    /// The time that it takes to send a byte.
    pub(super) byte: Duration,
    /// The mean time by which the hosts take longer for data than for a probe.
    pub(super) processing: Duration,
    /// Its one-way delay and, from a time on, another one.
    pub(super) delay: Duration,
    pub(super) later: (Time, Duration),
    pub(super) loss: f64,
    /// The mean time that other packets occupy it before each frame.
    pub(super) jitter: Duration,
    /// The end of its last transmission.
    free: Time,
    draws: Stream,
}

impl Path {
    pub(super) fn new(number: u64) -> Self {
        Self {
            byte: Duration::from_nanos(400),
            processing: Duration::ZERO,
            delay: MS * 20,
            later: (Time::MAX, Duration::ZERO),
            loss: 0.0,
            jitter: Duration::ZERO,
            free: Time::ZERO,
            draws: Seed(number).stream("path"),
        }
    }

    /// The arrival of a frame of this size that is sent now; `None` if it is lost.
    fn arrival(&mut self, now: Time, size: u32) -> Option<Time> {
        let waiting = self.draws.exponential(self.jitter.as_secs_f64());
        let line = self.byte * u64::from(size);
        let processing =
            Duration::from_secs_f64(self.draws.exponential(self.processing.as_secs_f64()));
        let processing = if size >= 1000 {
            processing
        } else {
            Duration::ZERO
        };
        self.free = self.free.max(now + Duration::from_secs_f64(waiting)) + line;
        let (from, later) = self.later;
        let delay = if now < from { self.delay } else { later };
        (!self.draws.chance(self.loss)).then(|| self.free + delay + processing)
    }
}

/// A sender of packets of 1000 bytes at a constant rate, and its receiver.
pub(super) struct Stage {
    pub(super) ends: [Endpoint<Packet>; 2],
    pub(super) paths: Vec<Path>,
    flying: BTreeMap<(Time, u64), (usize, Frame<Packet>)>,
    frames: u64,
    /// The time between packets.
    pub(super) every: Duration,
    pub(super) sent: u32,
    pub(super) arrived: u32,
    /// The times of the switches.
    pub(super) switches: Vec<Time>,
    pub(super) now: Time,
}

impl Stage {
    /// Two paths, without liveness detection.
    pub(super) fn new(policy: PolicyConfig, seed: u64) -> Self {
        Self::of(&config(policy), seed)
    }

    pub(super) fn of(config: &EndpointConfig, seed: u64) -> Self {
        let end = || Endpoint::new(config).unwrap();
        let paths = 0..u64::from(config.paths);
        Self {
            ends: [end(), end()],
            paths: paths.map(|path| Path::new(2 * seed + path)).collect(),
            flying: BTreeMap::new(),
            frames: 0,
            every: MS,
            sent: 0,
            arrived: 0,
            switches: Vec::new(),
            now: Time::ZERO,
        }
    }

    pub(super) fn with(mut self, mut change: impl FnMut(&mut Path)) -> Self {
        self.paths.iter_mut().for_each(&mut change);
        self
    }

    pub(super) fn run(&mut self, until: Time) {
        loop {
            let packet = Time::ZERO + self.every * u64::from(self.sent);
            let due = |end: usize| self.ends[end].deadline().map_or(Time::MAX, |d| d.at);
            let frame = self.flying.keys().next().map_or(Time::MAX, |key| key.0);
            let next = packet.min(due(0)).min(due(1)).min(frame);
            if next >= until {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            if frame == next {
                let (_, (to, frame)) = self.flying.pop_first().unwrap();
                self.wake(to, Wake::Input(Input::Frame(frame)));
            } else if packet == next {
                let (meta, payload) = (meta(Kind::Data, 1000), Packet(self.sent, 1000));
                self.sent += 1;
                self.wake(0, Wake::Input(Input::Packet { meta, payload }));
            } else {
                self.wake(usize::from(due(1) == next), Wake::Timeout);
            }
        }
    }

    pub(super) fn wake(&mut self, end: usize, what: Wake<Input<Packet>>) {
        let now = self.now;
        for output in wake(&mut self.ends[end], now, what) {
            match output {
                Output::Transmit(frame) => {
                    let size = Encapsulation::PAPER.size(&frame.body);
                    let arrival = if end == 0 {
                        self.paths[frame.path.index()].arrival(now, size)
                    } else {
                        Some(now + MS * 20)
                    };
                    self.frames += 1;
                    let number = self.frames;
                    self.flying
                        .extend(arrival.map(|at| ((at, number), (1 - end, frame))));
                }
                Output::Deliver(_) => self.arrived += 1,
                Output::Event(Event::Switched { .. }) => self.switches.push(now),
                Output::Event(_) | Output::Refused { .. } => {}
            }
        }
    }

    pub(super) fn switches_until(&mut self, until: Time) -> usize {
        self.run(until);
        self.switches.len()
    }
}
