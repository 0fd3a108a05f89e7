//! Probe and switch with and without hysteresis, over two paths with jitter and losses.

use alloc::collections::BTreeMap;

use super::*;
use crate::rng::Stream;

const PAPER: PolicyConfig = PolicyConfig::probe_and_switch(0);
const STEADY: PolicyConfig = PAPER.or_hysteresis(true);

/// A path in one direction.
struct Path {
    /// The time that it takes to send a byte.
    byte: Duration,
    /// The mean time by which the hosts take longer for data than for a probe.
    processing: Duration,
    /// Its one-way delay and, from a time on, another one.
    delay: Duration,
    later: (Time, Duration),
    loss: f64,
    /// The mean time that other packets occupy it before each frame.
    jitter: Duration,
    /// The end of its last transmission.
    free: Time,
    draws: Stream,
}

impl Path {
    fn new(number: u64) -> Self {
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
struct Stage {
    ends: [Endpoint<Packet>; 2],
    paths: [Path; 2],
    flying: BTreeMap<(Time, u64), (usize, Frame<Packet>)>,
    frames: u64,
    /// The time between packets.
    every: Duration,
    sent: u32,
    arrived: u32,
    /// The times of the switches.
    switches: Vec<Time>,
    now: Time,
}

impl Stage {
    fn new(policy: PolicyConfig, seed: u64) -> Self {
        Self {
            ends: [endpoint(policy), endpoint(policy)],
            paths: [Path::new(2 * seed), Path::new(2 * seed + 1)],
            flying: BTreeMap::new(),
            frames: 0,
            every: MS,
            sent: 0,
            arrived: 0,
            switches: Vec::new(),
            now: Time::ZERO,
        }
    }

    fn with(mut self, mut change: impl FnMut(&mut Path)) -> Self {
        self.paths.iter_mut().for_each(&mut change);
        self
    }

    fn run(&mut self, until: Time) {
        loop {
            let packet = Time::ZERO + self.every * u64::from(self.sent);
            let due = |end: usize| self.ends[end].deadline().map_or(Time::MAX, |d| d.at);
            let frame = self.flying.keys().next().map_or(Time::MAX, |key| key.0);
            let next = packet.min(due(0)).min(due(1)).min(frame);
            if next >= until {
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

    fn wake(&mut self, end: usize, what: Wake<Input<Packet>>) {
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

    fn switches_until(&mut self, until: Time) -> usize {
        self.run(until);
        self.switches.len()
    }
}

#[test]
fn two_equal_paths_with_jitter_hardly_switch() {
    for seed in 0..20 {
        for jitter in [50, 200, 500, 800] {
            let stage = |policy| {
                Stage::new(policy, seed).with(|path| path.jitter = Duration::from_micros(jitter))
            };
            let (before, after) = (
                stage(PAPER).switches_until(at(10_000)),
                stage(STEADY).switches_until(at(10_000)),
            );
            assert!(after <= 3, "{jitter} us: {after}, without {before}");
        }
    }
}

#[test]
fn hosts_that_take_longer_for_data_hardly_switch() {
    for seed in 0..20 {
        let stage = |policy| {
            Stage::new(policy, seed).with(|path| {
                path.byte = Duration::from_nanos(1);
                path.delay = Duration::ZERO;
                path.processing = Duration::from_micros(50);
            })
        };
        let before = stage(PAPER).switches_until(at(10_000));
        let after = stage(STEADY).switches_until(at(10_000));
        assert!(before > 200, "{before}");
        assert_eq!(after, 0);
    }
}

#[test]
fn independent_losses_hardly_switch() {
    for seed in 0..20 {
        for rate in [1, 2, 5, 20] {
            let stage = |policy| {
                let mut stage = Stage::new(policy, seed).with(|path| path.loss = 0.02);
                stage.every = MS * rate;
                stage
            };
            let (before, after) = (
                stage(PAPER).switches_until(at(38_000)),
                stage(STEADY).switches_until(at(38_000)),
            );
            assert!(after <= 10, "{after}, without {before}");
        }
    }
}

#[test]
fn a_path_that_becomes_congested_is_left_within_a_second() {
    for (every, offset) in [1, 2, 5, 20]
        .into_iter()
        .flat_map(|e| (0..7).map(move |o| (e, o)))
    {
        for switched in [false, true] {
            let mut stage =
                Stage::new(STEADY, offset).with(|path| path.jitter = Duration::from_micros(200));
            stage.every = MS * every;
            let mut from = at(10_000 + 3 * offset);
            if switched {
                // The path to which data has just moved becomes congested.
                stage.paths[0].later = (from, MS * 80);
                stage.run(from + MS * 1_500);
                from += MS * 1_500;
                stage.paths[0].later = (from, MS * 20);
                stage.paths[1].later = (from, MS * 80);
            } else {
                stage.paths[0].later = (from, MS * 80);
            }
            let before = stage.switches.len();
            stage.run(from + MS * 1_000);
            assert_eq!(stage.switches.len() - before, 1, "{:?}", stage.switches);
        }
    }
}

#[test]
fn the_path_with_fewer_losses_is_found() {
    for seed in 0..10 {
        let mut stage = Stage::new(STEADY, seed);
        stage.paths[0].loss = 0.05;
        stage.run(at(30_000));
        assert_eq!(stage.switches.len(), 1, "{:?}", stage.switches);
        assert!(stage.switches[0] < at(2_000), "{:?}", stage.switches);
    }
}

#[test]
fn a_path_that_is_always_a_little_faster_is_found() {
    for seed in 0..10 {
        let mut stage =
            Stage::new(STEADY, seed).with(|path| path.jitter = Duration::from_micros(200));
        stage.paths[0].delay = MS * 23;
        stage.run(at(30_000));
        assert_eq!(stage.switches.len(), 1, "{:?}", stage.switches);
        assert!(stage.switches[0] < at(1_000), "{:?}", stage.switches);
    }
}

#[test]
fn hysteresis_starts_with_a_reload_and_on_the_active_path() {
    let mut stage = Stage::new(PAPER, 1).with(|path| path.jitter = Duration::from_micros(500));
    stage.run(at(5_000));
    let before = stage.switches.len();
    assert!(before > 50, "{before}");
    for end in [1, 0] {
        let adjustment = Adjustment::new(&config(STEADY)).unwrap();
        stage.wake(end, Wake::Input(Input::Adjust(adjustment)));
    }
    // A request that is on its way still counts.
    stage.run(at(15_000));
    let switches = stage.switches.len() - before;
    assert!(switches <= 4, "{switches}");
    assert!(stage.ends.iter().all(|end| end.policy() == STEADY));
}
