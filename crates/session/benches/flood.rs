//! The cost of an initiation of a stranger who knows the public key, beyond the rate limit: it is
//! answered with a cookie.

mod common;

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_session::address::Source;
use polypath_session::event::Reject;
use polypath_session::session::{Input, Output, Session};

/// Initiations of the flood; more than the rate limit admits at once.
const FLOOD: usize = 64;

fn session(own: &str, peer: &str) -> Session {
    Session::new(common::config(own, peer), Box::new(Seed(2).stream(own)))
}

/// The first initiations of a stranger, who gets no answer.
fn flood() -> Vec<Bytes> {
    let mut stranger = session("stranger", "b");
    let mut initiations = Vec::new();
    while initiations.len() < FLOOD {
        let now = stranger.deadline().map_or(Time::ZERO, |due| due.at);
        step(&mut stranger, now, Wake::Timeout, &mut |output| {
            if let Output::Send { datagram, .. } = output {
                initiations.push(datagram);
            }
        });
    }
    initiations
}

fn cookies(criterion: &mut Criterion) {
    let mut node = session("b", "a");
    let flood = flood();
    let mut receive = |datagram: &Bytes| {
        let input = Input::Datagram {
            path: PathId(0),
            source: Source::RELAYED,
            datagram: datagram.clone(),
        };
        let mut replies = 0;
        step(&mut node, Time::ZERO, Wake::Input(input), &mut |output| {
            replies += u32::from(matches!(output, Output::Reply { .. }));
        });
        replies
    };
    for datagram in &flood {
        receive(datagram);
    }
    let mut next = flood.iter().cycle();
    criterion.bench_function("an initiation that gets a cookie", |bencher| {
        bencher.iter(|| assert_eq!(next.next().map(&mut receive), Some(1)));
    });
    assert!(node.counters().rejected(Reject::CookieRequired) > 0);
}

criterion_group!(benches, cookies);
criterion_main!(benches);
