//! Cost of a round of a flow in the round model of diversity routing.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::combine::signature::{MarkRule, SignatureConfig};
use polypath_core::rng::Seed;
use polypath_sim::round_model::{Fading, RoundModel, RoundModelConfig, SignatureResponse};

const ROUNDS: u32 = 10_000;
const FLOWS: u32 = 100;

/// A hundred flows on four links of the paper's Fig. 5.
fn paper() -> RoundModelConfig {
    RoundModelConfig {
        fading: Some(Fading {
            up: 100.0,
            down: 0.1,
        }),
        ..RoundModelConfig::paper(FLOWS, 4, 100 * FLOWS)
    }
}

fn run(config: &RoundModelConfig, n: u32) -> u64 {
    let mut rounds = RoundModel::new(config, Seed(1)).expect("a configuration that can be");
    (0..n).map(|_| rounds.step().sent).sum()
}

fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("rounds");
    let naive = paper();
    group.throughput(Throughput::Elements(u64::from(ROUNDS * FLOWS)));
    group.bench_function("100 flows, 4 links", |b| b.iter(|| run(&naive, ROUNDS)));
    let cured = RoundModelConfig {
        detection: Some(SignatureResponse {
            signature: SignatureConfig::default(),
            marks: MarkRule::default(),
            acts: true,
        }),
        ..paper()
    };
    let few = ROUNDS / 10;
    group.throughput(Throughput::Elements(u64::from(few * FLOWS)));
    group.bench_function("100 flows, 4 links, cured", |b| {
        b.iter(|| run(&cured, few));
    });
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
