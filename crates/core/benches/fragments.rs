//! The processing time of a packet in copies and in fragments: one endpoint splits it, the other
//! restores it, without network or encryption. On its way the packet loses fragments of the paths
//! that a case names.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::class::Classes;
use polypath_core::combine::Reaction;
use polypath_core::endpoint::{Endpoint, EndpointConfig, Input, Output, ProbingConfig};
use polypath_core::frame::{Encapsulation, PathId};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::PacketMeta;
use polypath_core::policy::{DiversityConfig, DiversitySignature, PathSet, PolicyConfig};
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};

/// The length of the packets in bytes: a media packet of 1316 B, and its IP and UDP headers.
const LEN: u16 = 1344;

/// A sender and a receiver of packets of bytes.
struct Pair {
    sender: Endpoint<Vec<u8>>,
    receiver: Endpoint<Vec<u8>>,
    now: Time,
    lost: PathSet,
}

impl Pair {
    fn new(case: &Case) -> Self {
        let config = EndpointConfig {
            paths: case.paths,
            policy: case.policy,
            encapsulation: Encapsulation::PAPER,
            window: 4096,
            first_sequence: 0,
            seed: Seed::default(),
            probing: ProbingConfig::default(),
            detector: None,
            tariffs: Tariffs::default(),
            classes: Classes::default(),
            liveness: None,
            spacing: None,
        };
        let endpoint = || Endpoint::new(&config).expect("the configuration is valid");
        Self {
            sender: endpoint(),
            receiver: endpoint(),
            now: Time::ZERO,
            lost: case.lost.iter().copied().map(PathId).collect(),
        }
    }

    /// Sends a packet; returns the number of delivered packets.
    fn transfer(&mut self) -> usize {
        self.now += Duration::from_millis(2);
        let (now, lost) = (self.now, self.lost);
        let mut frames = Vec::new();
        let packet = Input::Packet {
            meta: PacketMeta::udp(LEN.into()),
            payload: vec![0x45; LEN.into()],
        };
        step(&mut self.sender, now, Wake::Input(packet), &mut |output| {
            if let Output::Transmit(frame) = output {
                frames.push(frame);
            }
        });
        let mut delivered = 0;
        for frame in frames {
            if !lost.contains(frame.path) {
                let frame = Wake::Input(Input::Frame(frame));
                step(&mut self.receiver, now, frame, &mut |output| {
                    delivered += usize::from(matches!(output, Output::Deliver(_)));
                });
            }
        }
        while self
            .receiver
            .deadline()
            .is_some_and(|deadline| deadline.at <= now)
        {
            step(&mut self.receiver, now, Wake::Timeout, &mut |_| {});
        }
        delivered
    }
}

struct Case {
    name: &'static str,
    paths: u8,
    policy: PolicyConfig,
    lost: &'static [u8],
}

const fn split(recovery: u8) -> PolicyConfig {
    PolicyConfig::Diversity(DiversityConfig {
        signature: DiversitySignature::Likelihood,
        react: Reaction::Off,
        window: Duration::from_millis(100),
        recovery: Some(recovery),
    })
}

const CASES: [Case; 7] = [
    Case {
        name: "copies on 3",
        paths: 3,
        policy: PolicyConfig::DuplicateAll {},
        lost: &[],
    },
    Case {
        name: "2 of 3, none lost",
        paths: 3,
        policy: split(1),
        lost: &[],
    },
    Case {
        name: "2 of 3, an original lost",
        paths: 3,
        policy: split(1),
        lost: &[0],
    },
    Case {
        name: "copies on 4",
        paths: 4,
        policy: PolicyConfig::DuplicateAll {},
        lost: &[],
    },
    Case {
        name: "3 of 4, an original lost",
        paths: 4,
        policy: split(1),
        lost: &[0],
    },
    Case {
        name: "2 of 4, none lost",
        paths: 4,
        policy: split(2),
        lost: &[],
    },
    Case {
        name: "2 of 4, an original lost",
        paths: 4,
        policy: split(2),
        lost: &[0],
    },
];

fn fragments(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a packet of 1344 bytes");
    group.throughput(Throughput::Elements(1));
    for case in &CASES {
        let mut pair = Pair::new(case);
        assert_eq!(pair.transfer(), 1, "{}", case.name);
        group.bench_function(BenchmarkId::from_parameter(case.name), |bencher| {
            bencher.iter(|| pair.transfer());
        });
    }
    group.finish();
}

criterion_group!(benches, fragments);
criterion_main!(benches);
