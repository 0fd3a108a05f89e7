//! Cost of one data segment and its ACK at the two ends of a connection, without a network.

use std::collections::VecDeque;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::machine::Machine;
use polypath_core::time::{Duration, Time};
use polypath_sim::tcp::{Receiver, Rto, Segment, Sender, TcpConfig, TcpOutput, Variant};

const SEGMENTS: u64 = 100_000;
const HOP: Duration = Duration::from_micros(80);

/// Transfers data under `config` until `SEGMENTS` have been sent, of which one in `lost_every` is
/// lost.
fn carry(config: TcpConfig, lost_every: u64) -> u32 {
    let mut sender = Sender::new(1, u32::MAX, config, Rto::new(config.rto));
    let mut receiver = Receiver::new(&config);
    let mut flying: VecDeque<Segment> = VecDeque::new();
    let mut now = Time::ZERO;
    sender.start(now, &mut |output| fly(output, &mut flying));
    let mut left = 0_u64;
    while left < SEGMENTS {
        now += HOP;
        let Some(segment) = flying.pop_front() else {
            now = sender.deadline().map_or(now, |d| now.max(d.at));
            sender.handle_timeout(now, &mut |output| fly(output, &mut flying));
            continue;
        };
        left += 1;
        if !left.is_multiple_of(lost_every) {
            receiver.handle_input(now, segment, &mut |ack| {
                sender.handle_input(now, ack, &mut |output| fly(output, &mut flying));
            });
        }
    }
    sender.acknowledged()
}

fn fly(output: TcpOutput, flying: &mut VecDeque<Segment>) {
    if let TcpOutput::Segment(segment) = output {
        flying.push_back(segment);
    }
}

fn connection(c: &mut Criterion) {
    let mut group = c.benchmark_group("tcp");
    group.throughput(Throughput::Elements(SEGMENTS));
    let config = TcpConfig {
        receiver_window: 64,
        ..TcpConfig::default()
    };
    group.bench_function("reno/lossless", |b| b.iter(|| carry(config, u64::MAX)));
    group.bench_function("reno/one in 500 lost", |b| b.iter(|| carry(config, 500)));
    for (name, variant) in [
        ("sack", Variant::Sack),
        ("cubic", Variant::Cubic),
        ("bbr", Variant::Bbr),
    ] {
        let config = TcpConfig { variant, ..config };
        let name = format!("{name}/one in 500 lost");
        group.bench_function(name, |b| b.iter(|| carry(config, 500)));
    }
    group.finish();
}

criterion_group!(benches, connection);
criterion_main!(benches);
