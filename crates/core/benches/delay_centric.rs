//! The processing time of the delay-centric policy with a choice for each flow: of an answer, after
//! which all choices are compared, and of a packet.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use polypath_core::frame::{Epoch, PathId};
use polypath_core::packet::{Dscp, Ecn, FlowId, IpVersion, Kind, PacketMeta};
use polypath_core::policy::delay_centric::Scope;
use polypath_core::policy::{
    DelayCentric, DelayCentricConfig, Feedback, PathPolicy, PathSet, Paths, PolicyContext,
    ReactiveConfig,
};
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};

const PATHS: Paths = Paths::trusted(PathSet::first(2));

/// A policy with `flows` flows, whose two paths have round-trip times of 20 ms.
struct Sender {
    policy: DelayCentric,
    flows: u64,
    now: Time,
    next: u64,
}

impl Sender {
    fn new(flows: u64) -> Self {
        let config = DelayCentricConfig::DelayCentric(ReactiveConfig::default());
        let policy = config.with_scope(Scope::Flow).build(PolicyContext {
            paths: 2,
            start: None,
            pair_interval: Duration::from_secs(1),
            epoch: Epoch::default(),
            tariffs: Tariffs::default(),
            acknowledges: true,
            stream: Seed::default().stream("bench"),
        });
        let mut all = Self {
            policy,
            flows,
            now: Time::ZERO,
            next: 0,
        };
        (0..flows).for_each(|_| all.send());
        (0..4).for_each(|_| all.answer());
        all
    }

    /// Sends a packet of the next flow.
    fn send(&mut self) {
        self.next += 1;
        self.now += Duration::from_micros(1);
        let packet = PacketMeta {
            version: IpVersion::V4,
            protocol: 17,
            flow: FlowId(self.next % self.flows),
            kind: Kind::Opaque,
            size: 250,
            ecn: Ecn::NotEct,
            dscp: Dscp::DEFAULT,
            ports: None,
            class: None,
        };
        let _ = self.policy.route(self.now, &packet, &PATHS, &mut |_| ());
    }

    /// The number of flows with choices of their own.
    fn known(&self) -> u64 {
        let flows = [0, 1].map(|path| self.policy.flows_on(PathId(path)));
        flows.into_iter().flatten().sum::<usize>() as u64
    }

    /// Takes an answer of each path in turn. The time hardly advances, so that no flow becomes idle.
    fn answer(&mut self) {
        self.next += 1;
        self.now += Duration(1);
        let path = PathId(u8::from(self.next % 2 == 1));
        let rtt = Duration::from_millis(20);
        let answer = Feedback::Acknowledged { path, rtt };
        self.policy.handle_feedback(self.now, answer, &mut |_| ());
    }
}

fn flows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("delay-centric by flow");
    for count in [1, 100, 4000] {
        let mut sender = Sender::new(count);
        group.bench_function(BenchmarkId::new("an answer", count), |bencher| {
            bencher.iter(|| sender.answer());
            assert_eq!(sender.known(), count);
        });
        let mut sender = Sender::new(count);
        group.bench_function(BenchmarkId::new("a packet", count), |bencher| {
            bencher.iter(|| sender.send());
        });
    }
    group.finish();
}

criterion_group!(benches, flows);
criterion_main!(benches);
