use std::net::UdpSocket;

use polypath_core::frame::PathId;
use polypath_sim::Side;

use super::*;
use crate::can_test;
use polypath_scenario::Scenario;

/// A network with one path of two links of 5 ms each; none, with the reason, if no lab can run.
pub(crate) fn open() -> Option<(Network, Endpoints)> {
    can_test().then(|| Network::open(&scenario(), Seed(1)).unwrap())
}

fn scenario() -> Scenario {
    Scenario::parse(
        r#"
        schema = 1
        name = "border"
        schemes = ["tcp"]
        transfer = { size = "1 kB", count = 1 }
        [[path]]
        name = "path1"
        link = [{ repeat = 2, rate = "100 Mbit/s", delay = "5 ms", queue = "50 packets" }]
        "#,
        "border.toml",
        &[],
    )
    .unwrap()
}

#[test]
fn a_stall_counts_for_every_late_packet() {
    const PACKETS: u64 = 5;
    let Some((mut network, endpoints)) = open() else {
        return;
    };
    let clock = Clock::starting_now();
    let bind = || UdpSocket::bind("10.128.0.1:9");
    let socket = endpoints.at(Side::Server).run(bind).unwrap();
    for _ in 0..PACKETS {
        socket.send_to(&[0; 100], "10.128.0.2:9").unwrap();
    }
    // The namespace's own first packets may be among them.
    let (mut buffer, server) = (vec![0; 2048], 0);
    while network
        .read_device(server, clock.now(), 1, &mut buffer)
        .unwrap()
        > 0
    {}
    let entered = network.counters().entered;
    assert!(entered >= PACKETS, "{entered} entered");
    // Long enough that packets enter and leave the last link in one call, 20 ms late.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let mut lateness = DurationHistogram::default();
    network.advance(clock.now(), clock, &mut lateness).unwrap();
    assert_eq!(network.counters().left, entered);
    assert_eq!(lateness.count(), entered);
    assert!(lateness.quantile(0.0) > Duration::from_millis(15));
}

#[test]
fn a_silenced_path_drops_packets_that_enter_and_that_leave() {
    let Some((mut network, endpoints)) = open() else {
        return;
    };
    let clock = Clock::starting_now();
    let bind = || UdpSocket::bind("10.128.0.1:9");
    let socket = endpoints.at(Side::Server).run(bind).unwrap();
    let mut carry = |silenced_before: bool, silenced_within: bool| {
        let silence = network.silence();
        let set = |is: bool| {
            if is {
                silence.begin(PathId(0));
            } else {
                silence.end();
            }
        };
        let before = network.counters();
        set(silenced_before);
        socket.send_to(&[0; 100], "10.128.0.2:9").unwrap();
        while network
            .read_device(0, clock.now(), 1, &mut vec![0; 2048])
            .unwrap()
            > 0
        {}
        set(silenced_within);
        std::thread::sleep(std::time::Duration::from_millis(15));
        let mut lateness = DurationHistogram::default();
        network.advance(clock.now(), clock, &mut lateness).unwrap();
        let after = network.counters();
        let entered = after.entered - before.entered;
        assert!(entered > 0);
        (after.silenced - before.silenced) / entered
    };
    assert_eq!(carry(false, false), 0);
    assert_eq!(carry(true, false), 1);
    assert_eq!(carry(false, true), 1);
    assert_eq!(carry(false, false), 0);
}

#[test]
fn a_silence_covers_one_path() {
    let silence = Silence::default();
    silence.begin(PathId(1));
    assert!(silence.covers(PathId(1)) && !silence.covers(PathId(0)));
    silence.begin(PathId(0));
    assert!(silence.covers(PathId(0)) && !silence.covers(PathId(1)));
    silence.end();
    assert!(!silence.covers(PathId(0)));
}
