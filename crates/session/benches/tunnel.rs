//! The cost of a packet of 1400 bytes in two tunnels, from one application to the other: without a
//! recorder, and with one that discards its entries.

mod common;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use etherparse::PacketBuilder;
use polypath_core::class::Classes;
use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::{Encapsulation, OVER_IPV4};
use polypath_core::machine::{Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::time::Time;
use polypath_session::address::Source;
use polypath_session::tunnel::{Input, Output, Tunnel};

const PACKET_LEN: usize = 1400;

fn tunnel(own: &str, peer: &str) -> Tunnel {
    let endpoint = EndpointConfig {
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        paths: 1,
        policy: PolicyConfig::single_path(0),
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: 8192,
        first_sequence: 0,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: None,
        spacing: None,
    };
    let session = common::config(own, peer);
    let entropy = Box::new(Seed(2).stream(own));
    Tunnel::new(&endpoint, session, entropy).expect("the configuration is sound")
}

/// Wakes `ends[who]` and delivers its datagrams to the other node immediately; returns the number
/// of delivered packets.
fn exchange(ends: &mut [Tunnel; 2], who: usize, wake: Wake<Input>) -> usize {
    let mut datagrams = Vec::new();
    let mut packets = 0;
    step(
        &mut ends[who],
        Time::ZERO,
        wake,
        &mut |output| match output {
            Output::Datagram { path, datagram, .. } | Output::Reply { path, datagram } => {
                datagrams.push((path, datagram));
            }
            Output::Packet(_) => packets += 1,
            Output::Authenticated { .. }
            | Output::RelayAuthenticated { .. }
            | Output::PacketTooBig { .. }
            | Output::Event(_)
            | Output::Session(_)
            | Output::Relay { .. } => {}
        },
    );
    for (path, datagram) in datagrams {
        let source = Source::RELAYED;
        let input = Input::Datagram {
            path,
            source,
            ecn: Ecn::NotEct,
            datagram,
        };
        packets += exchange(ends, 1 - who, Wake::Input(input));
    }
    packets
}

fn carry(criterion: &mut Criterion) {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64).udp(1000, 2000);
    let written = builder.write(&mut packet, &[7; PACKET_LEN - 28]);
    written.expect("a vector takes everything");
    let packet = Bytes::from(packet);
    let mut group = criterion.benchmark_group("tunnel");
    group.throughput(Throughput::Bytes(PACKET_LEN as u64));
    for name in ["carry", "carry and record"] {
        let mut ends = [tunnel("a", "b"), tunnel("b", "a")];
        if name == "carry and record" {
            ends = ends.map(|end| end.with_recorder(Box::new(drop)));
        }
        exchange(&mut ends, 0, Wake::Timeout);
        assert!(ends.iter().all(Tunnel::is_established));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let input = Input::Packet(packet.clone());
                assert_eq!(exchange(&mut ends, 0, Wake::Input(input)), 1);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, carry);
criterion_main!(benches);
