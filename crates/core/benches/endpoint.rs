//! The processing time per packet of policy and combiner: one endpoint sends, the other combines,
//! without network or encryption.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::class::{Class, Classes, PortRange, Protocol, Treatment};
use polypath_core::endpoint::{Endpoint, EndpointConfig, Input, Output, ProbingConfig};
use polypath_core::frame::{Encapsulation, Frame, Payload};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::{Dscp, Ecn, FlowId, IpVersion, Kind, PacketMeta};
use polypath_core::policy::PolicyConfig;
use polypath_core::repair::RepairConfig;
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};

#[derive(Clone, Copy)]
struct TestPayload;

impl Payload for TestPayload {
    fn len(&self) -> usize {
        1000
    }
}

struct Pair {
    endpoints: [Endpoint<TestPayload>; 2],
    frames: Vec<Frame<TestPayload>>,
    now: Time,
}

impl Pair {
    fn new(policy: PolicyConfig, classes: Classes) -> Self {
        let config = EndpointConfig {
            paths: 2,
            policy,
            encapsulation: Encapsulation::PAPER,
            window: 4096,
            first_sequence: 0,
            seed: Seed::default(),
            probing: ProbingConfig::default(),
            detector: None,
            tariffs: Tariffs::default(),
            classes,
            liveness: None,
        };
        let endpoint = || Endpoint::new(&config).expect("the configuration is valid");
        Self {
            endpoints: [endpoint(), endpoint()],
            frames: Vec::new(),
            now: Time::ZERO,
        }
    }

    /// Sends a packet, performs the work that is due at both ends, and returns the number of
    /// delivered packets.
    fn transfer(&mut self, meta: PacketMeta) -> u32 {
        self.now += Duration::from_micros(100);
        let packet = Wake::Input(Input::Packet {
            meta,
            payload: TestPayload,
        });
        let mut delivered = self.wake(0, packet);
        for end in [0, 1] {
            let deadline = self.endpoints[end].deadline();
            if deadline.is_some_and(|deadline| deadline.at <= self.now) {
                delivered += self.wake(end, Wake::Timeout);
            }
        }
        delivered
    }

    /// Wakes an end and passes its frames to the other one.
    fn wake(&mut self, end: usize, wake: Wake<Input<TestPayload>>) -> u32 {
        let (now, frames) = (self.now, &mut self.frames);
        step(&mut self.endpoints[end], now, wake, &mut |output| {
            if let Output::Transmit(frame) = output {
                frames.push(frame);
            }
        });
        let mut delivered = 0;
        for frame in self.frames.drain(..) {
            let frame = Wake::Input(Input::Frame(frame));
            step(&mut self.endpoints[1 - end], now, frame, &mut |output| {
                delivered += u32::from(matches!(output, Output::Deliver(_)));
            });
        }
        delivered
    }
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
        let mut pair = Pair::new(policy, Classes::default());
        group.bench_function(name, |bencher| bencher.iter(|| pair.transfer(meta)));
    }
    let in_time = PolicyConfig::InTime(RepairConfig::default());
    let mut pair = Pair::new(in_time, eight_classes());
    group.bench_function("in-time, eight classes", |bencher| {
        bencher.iter(|| pair.transfer(meta));
    });
    group.finish();
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
