//! The cost of a packet of 1400 bytes in two sessions: sealed by one, opened by the other.

mod common;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use polypath_core::frame::PathId;
use polypath_core::machine::{Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_session::address::Source;
use polypath_session::session::{Input, Output, Session};

const FRAME_LEN: usize = 1400;

fn session(own: &str, peer: &str) -> Session {
    Session::new(common::config(own, peer), Box::new(Seed(2).stream(own)))
}

/// Wakes `ends[who]` and delivers its datagrams to the other node immediately; returns the number
/// of opened frames.
fn exchange(ends: &mut [Session; 2], who: usize, wake: Wake<Input>) -> usize {
    let mut datagrams = Vec::new();
    let mut opened = 0;
    step(
        &mut ends[who],
        Time::ZERO,
        wake,
        &mut |output| match output {
            Output::Send { path, datagram, .. } | Output::Reply { path, datagram } => {
                datagrams.push((path, datagram));
            }
            Output::Opened { .. } => opened += 1,
            Output::Authenticated { .. } | Output::Event(_) => {}
        },
    );
    for (path, datagram) in datagrams {
        let source = Source::RELAYED;
        let input = Input::Datagram {
            path,
            source,
            datagram,
        };
        opened += exchange(ends, 1 - who, Wake::Input(input));
    }
    opened
}

fn seal_and_open(criterion: &mut Criterion) {
    let mut ends = [session("a", "b"), session("b", "a")];
    exchange(&mut ends, 0, Wake::Timeout);
    assert!(ends.iter().all(Session::is_established));
    let frame = Bytes::from(vec![7; FRAME_LEN]);
    let mut group = criterion.benchmark_group("session");
    group.throughput(Throughput::Bytes(FRAME_LEN as u64));
    group.bench_function("seal and open", |bencher| {
        bencher.iter(|| {
            let (path, frame) = (PathId(0), frame.clone());
            let input = Input::Seal {
                path,
                frame,
                traffic_class: TrafficClass::DEFAULT,
            };
            assert_eq!(exchange(&mut ends, 0, Wake::Input(input)), 1);
        });
    });
    group.finish();
}

criterion_group!(benches, seal_and_open);
criterion_main!(benches);
