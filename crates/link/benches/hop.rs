//! The cost of a packet at a link: one wake, its queue, its wire and its counters.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::frame::Payload;
use polypath_core::machine::Machine;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_link::{Link, LinkConfig, Output, QueueLimit};

const RATE: Rate = Rate::from_mbits(100);
const PACKETS: u64 = 10_000;

#[derive(Clone, Copy)]
struct Packet(u32);

impl Payload for Packet {
    fn len(&self) -> usize {
        self.0 as usize
    }
}

fn link(queue: QueueLimit) -> Link<Packet> {
    let config = LinkConfig::new(RATE, Duration::from_millis(20), queue);
    Link::new(&config, Seed(1), "bench").expect("a possible link")
}

/// Offers packets at `load` times the rate of the link. Every second pair arrives as a burst, so
/// that there are idle times, queueing and, above a load of 1, drops.
#[inline(never)]
fn offer(link: &mut Link<Packet>, now: &mut Time, load: f64) -> u64 {
    let gap = RATE.transmission_time(Bytes(1000)).as_secs_f64() / load;
    let gap = Duration::from_secs_f64(4.0 * gap);
    let mut last = 0;
    for _ in 0..PACKETS / 4 {
        *now += gap;
        for _ in 0..4 {
            link.handle_input(*now, Packet(1000), &mut |output| {
                if let Output::Deliver { at, .. } = output {
                    last = at.0;
                }
            });
        }
    }
    last
}

fn hops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hop");
    group.throughput(Throughput::Elements(PACKETS));
    let cases = [
        ("packets", QueueLimit::Packets(50), 0.9),
        ("packets-overload", QueueLimit::Packets(50), 1.2),
        ("packets-large", QueueLimit::Packets(10_000), 0.5),
        ("bytes", QueueLimit::Bytes(Bytes(50_000)), 0.9),
    ];
    for (name, queue, load) in cases {
        let (mut link, mut now) = (link(queue), Time::ZERO);
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(offer(&mut link, &mut now, load)));
        });
    }
    group.finish();
}

criterion_group!(benches, hops);
criterion_main!(benches);
