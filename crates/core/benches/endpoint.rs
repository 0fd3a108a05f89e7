//! The processing time per packet of policy and combiner: one endpoint sends, the other combines,
//! without network or encryption.

use std::collections::VecDeque;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::class::{Class, Classes, PortRange, Protocol, Treatment};
use polypath_core::endpoint::{Endpoint, EndpointConfig, Input, Output, ProbingConfig};
use polypath_core::frame::{Encapsulation, Frame, Payload};
use polypath_core::machine::{Deadline, Wake, step};
use polypath_core::packet::{Dscp, Ecn, FlowId, IpVersion, Kind, PacketMeta};
use polypath_core::policy::PolicyConfig;
use polypath_core::repair::RepairConfig;
use polypath_core::rng::Seed;
use polypath_core::tariff::{Tariff, Tariffs};
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;

#[derive(Clone, Copy)]
struct TestPayload;

impl Payload for TestPayload {
    fn len(&self) -> usize {
        1000
    }
}

struct Pair {
    endpoints: [Endpoint<TestPayload>; 2],
    /// The next deadline of each end.
    deadlines: [Time; 2],
    frames: VecDeque<Frame<TestPayload>>,
    now: Time,
}

impl Pair {
    fn new(policy: PolicyConfig, classes: Classes, tariffs: Tariffs) -> Self {
        let config = EndpointConfig {
            paths: 2,
            policy,
            encapsulation: Encapsulation::PAPER,
            window: 4096,
            first_sequence: 0,
            seed: Seed::default(),
            probing: ProbingConfig::default(),
            detector: None,
            tariffs,
            classes,
            liveness: None,
            spacing: None,
        };
        let endpoint = || Endpoint::new(&config).expect("the configuration is valid");
        Self {
            endpoints: [endpoint(), endpoint()],
            deadlines: [Time::MAX; 2],
            frames: VecDeque::new(),
            now: Time::ZERO,
        }
    }

    /// Sends a packet, performs the work that is due at both ends, and returns the number of
    /// delivered packets.
    fn transfer(&mut self, meta: PacketMeta) -> u32 {
        self.now += Duration::from_micros(100);
        let (now, frames) = (self.now, &mut self.frames);
        let [sender, receiver] = &mut self.endpoints;
        let packet = Wake::Input(Input::Packet {
            meta,
            payload: TestPayload,
        });
        let due = step(sender, now, packet, &mut |output| {
            if let Output::Transmit(frame) = output {
                frames.push_back(frame);
            }
        });
        self.deadlines[0] = time(due);
        let mut delivered = 0;
        while let Some(frame) = self.frames.pop_front() {
            let frame = Wake::Input(Input::Frame(frame));
            let due = step(receiver, now, frame, &mut |output| {
                delivered += u32::from(matches!(output, Output::Deliver(_)));
            });
            self.deadlines[1] = time(due);
        }
        if self.deadlines[0].min(self.deadlines[1]) <= now {
            delivered += self.perform_due();
        }
        delivered
    }

    /// Performs the work that is due, and returns the number of delivered packets.
    #[inline(never)]
    fn perform_due(&mut self) -> u32 {
        let (now, mut delivered) = (self.now, 0);
        for from in [0, 1] {
            if self.deadlines[from] > now {
                continue;
            }
            let to = 1 - from;
            let frames = &mut self.frames;
            let end = &mut self.endpoints[from];
            let due = step(end, now, Wake::Timeout, &mut |output| match output {
                Output::Transmit(frame) => frames.push_back(frame),
                Output::Deliver(_) => delivered += 1,
                _ => {}
            });
            self.deadlines[from] = time(due);
            while let Some(frame) = self.frames.pop_front() {
                let frame = Wake::Input(Input::Frame(frame));
                let due = step(&mut self.endpoints[to], now, frame, &mut |output| {
                    delivered += u32::from(matches!(output, Output::Deliver(_)));
                });
                self.deadlines[to] = time(due);
            }
        }
        delivered
    }
}

/// The time of a deadline.
fn time(deadline: Option<Deadline>) -> Time {
    deadline.map_or(Time::MAX, |deadline| deadline.at)
}

fn endpoints(criterion: &mut Criterion) {
    let meta = PacketMeta {
        version: IpVersion::V4,
        protocol: 6,
        flow: FlowId(1),
        kind: Kind::Data,
        size: 1000,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        ports: Some([8108, 50_000]),
        class: None,
    };
    let mut group = criterion.benchmark_group("policy+combiner, a data packet on two paths");
    group.throughput(Throughput::Elements(1));
    for (name, policy) in [
        ("single-path", PolicyConfig::single_path(0)),
        ("duplicate-acks", PolicyConfig::DuplicateAcks { path: 0 }),
        ("duplicate-all", PolicyConfig::DuplicateAll {}),
        ("probe-and-switch", PolicyConfig::probe_and_switch(0)),
        (
            "probe-and-switch, hysteresis",
            PolicyConfig::probe_and_switch(0).or_hysteresis(true),
        ),
        ("in-time", PolicyConfig::InTime(RepairConfig::default())),
    ] {
        let mut pair = Pair::new(policy, Classes::default(), Tariffs::default());
        group.bench_function(name, |bencher| bencher.iter(|| pair.transfer(meta)));
    }
    let in_time = PolicyConfig::InTime(RepairConfig::default());
    let media = PacketMeta {
        protocol: 17,
        ..meta
    };
    let mut pair = Pair::new(in_time, Classes::default(), Tariffs::default());
    group.bench_function("in-time, UDP", |bencher| {
        bencher.iter(|| pair.transfer(media));
    });
    let mut pair = Pair::new(in_time, eight_classes(), Tariffs::default());
    group.bench_function("in-time, eight classes", |bencher| {
        bencher.iter(|| pair.transfer(meta));
    });
    let mut pair = Pair::new(in_time, Classes::default(), high_ceilings());
    group.bench_function("in-time, ceilings", |bencher| {
        bencher.iter(|| pair.transfer(meta));
    });
    group.finish();
}

/// Ceilings that are never reached: packets are metered and compared all the same.
fn high_ceilings() -> Tariffs {
    let tariff = Tariff {
        ceiling: Some(Rate::from_mbits(100_000)),
        ..Tariff::FREE
    };
    [tariff, tariff].into_iter().collect()
}

/// Classes of which the last matches.
fn eight_classes() -> Classes {
    let class = |port| Class {
        name: format!("port {port}"),
        dscp: vec![Dscp::EF, Dscp::DEFAULT],
        protocol: Some(Protocol::TCP),
        ports: vec![PortRange::only(port), PortRange::only(port + 100)],
        treatment: Treatment::Bulk,
        deadline: None,
    };
    (8001..=8008).map(class).collect()
}

criterion_group!(benches, endpoints);
criterion_main!(benches);
