//! Cost of scheduling and taking one event, by the number that is pending, against a binary heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_sim::calendar::Calendar;

/// Spans of a network: most events one hop away (1 to 21 ms), one in fifty a timer (200 ms).
fn spans() -> Vec<Duration> {
    let mut stream = Seed(1).stream("bench");
    (0..65_536)
        .map(|_| {
            if stream.chance(0.02) {
                Duration::from_millis(200)
            } else {
                Duration::from_secs_f64(0.001 + 0.02 * stream.uniform())
            }
        })
        .collect()
}

fn hold(c: &mut Criterion) {
    let spans = spans();
    let mut group = c.benchmark_group("hold");
    group.throughput(Throughput::Elements(spans.len() as u64));
    for pending in [1_000_usize, 100_000] {
        let start: Vec<Time> = (0..pending)
            .map(|n| Time::ZERO + spans[n % spans.len()])
            .collect();
        group.bench_with_input(BenchmarkId::new("calendar", pending), &start, |b, start| {
            let mut calendar = Calendar::default();
            for at in start {
                calendar.schedule(*at, 0_u64);
            }
            b.iter(|| {
                for span in &spans {
                    let Some(entry) = calendar.pop_until(Time::MAX) else {
                        break;
                    };
                    calendar.schedule(entry.at + *span, black_box(entry.item + 1));
                }
            });
        });
        group.bench_with_input(BenchmarkId::new("heap", pending), &start, |b, start| {
            let mut sequence = 0_u64;
            let mut heap: BinaryHeap<Reverse<(Time, u64, u64)>> = BinaryHeap::new();
            for at in start {
                sequence += 1;
                heap.push(Reverse((*at, sequence, 0)));
            }
            b.iter(|| {
                for span in &spans {
                    let Some(Reverse((at, _, item))) = heap.pop() else {
                        break;
                    };
                    sequence += 1;
                    heap.push(Reverse((at + *span, sequence, black_box(item + 1))));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
