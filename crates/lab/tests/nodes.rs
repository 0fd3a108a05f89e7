//! Two nodes in two network namespaces that two veth pairs connect.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use middlebox::{Middlebox, Tampering};
use polypath_core::liveness::PathState;
use polypath_core::time::Time;
use polypath_lab::flow;
use polypath_live::clock::Clock;
use testbed::{Overlay, Testbed};

#[path = "nodes/datagrams.rs"]
mod datagrams;
#[path = "nodes/middlebox.rs"]
mod middlebox;
#[path = "nodes/overhead.rs"]
mod overhead;
#[path = "nodes/path_mtu.rs"]
mod path_mtu;
#[path = "nodes/testbed.rs"]
mod testbed;
#[path = "nodes/traffic_class.rs"]
mod traffic_class;
#[path = "nodes/transfer.rs"]
mod transfer;
#[path = "nodes/udp_ports.rs"]
mod udp_ports;

const BOTH_PATHS: [&str; 2] = ["10.1.1.2:7001", "10.1.2.2:7001"];

/// The Ethernet header, which `ip -s link` counts in addition to the IP packet, in bytes.
const ETHERNET: u64 = 14;

/// Pings `address` from the other endpoint.
fn ping(testbed: &Testbed, address: &str) {
    let from = if address == "10.77.0.2" {
        &testbed.a
    } else {
        &testbed.b
    };
    let mut command = Command::new("ping");
    command.args(["-n", "-c", "5", "-i", "0.05", "-W", "3", address]);
    let output = from.output(&mut command).unwrap();
    assert!(output.contains(" 0% packet loss"), "{output}");
}

#[test]
fn ping_and_tcp_cross_over_ipv4_and_ipv6() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let overlay = Overlay::start(&testbed, "duplicate-all", BOTH_PATHS);
    ping(&testbed, "10.77.0.1");
    ping(&testbed, "fd77::1");
    transfer::run(&testbed, "10.77.0.1:5000", 2_000_000, |_| {});
    transfer::run(&testbed, "[fd77::1]:5000", 2_000_000, |_| {});
    let [a, b] = overlay.finish();
    for stats in [&a, &b] {
        assert!(stats.established);
        assert_eq!(stats.tun.refused, 0);
        assert!(
            stats
                .paths
                .iter()
                .all(|path| path.sent.packets > 100 && path.unsent == 0)
        );
    }
    assert_eq!(
        a.tun.from_applications.packets,
        b.tun.to_applications.packets
    );
}

#[test]
fn paths_may_run_over_ipv6() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let overlay = Overlay::over_ipv6(&testbed);
    ping(&testbed, "10.77.0.1");
    transfer::run(&testbed, "[fd77::1]:5000", 4_000_000, |_| {});
    for stats in overlay.finish() {
        assert!(stats.established);
        assert!(
            stats
                .paths
                .iter()
                .all(|path| path.sent.packets > 100 && path.unsent == 0)
        );
    }
}

#[test]
fn the_statistics_agree_with_the_interface_counters() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    // Without IPv6 the kernel itself sends only ARP over the paths.
    for name in ["net/ipv6/conf/p1", "net/ipv6/conf/p2"] {
        let parameter = name.strip_prefix("net/").unwrap();
        testbed
            .a
            .set(&format!("{parameter}/disable_ipv6"), "1")
            .unwrap();
        testbed
            .b
            .set(&format!("{parameter}/disable_ipv6"), "1")
            .unwrap();
    }
    let counted = |name: &str| testbed.sent_bytes(name);
    let before = [counted("p1"), counted("p2")];
    let overlay = Overlay::start(&testbed, "probe-and-switch", BOTH_PATHS);
    transfer::run(&testbed, "10.77.0.1:5000", 500_000, |_| {});
    let [a, _] = overlay.finish();
    for (index, path) in a.paths.iter().enumerate() {
        let counted = counted(["p1", "p2"][index]) - before[index];
        let reported = path.sent.bytes + ETHERNET * path.sent.packets;
        let arp = 42 * 20;
        assert!(
            (reported..=reported + arp).contains(&counted),
            "{counted} B on the link, {reported} B reported"
        );
    }
}

#[test]
fn hostile_datagrams_are_counted_and_dropped_without_reply() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let middlebox = Middlebox::start(&testbed, Tampering::Everything);
    let overlay = Overlay::start(
        &testbed,
        "duplicate-acks",
        [middlebox::ADDRESS, BOTH_PATHS[1]],
    );
    let unknown_peer = Overlay::unknown_peer(&testbed);
    transfer::run(&testbed, "10.77.0.1:5000", 1_000_000, |_| {});
    ping(&testbed, "10.77.0.1");
    sleep(Duration::from_secs(1));
    let unknown_peer = unknown_peer.finish().unwrap();
    let [a, b] = overlay.finish();
    let replies = middlebox.finish();
    assert_eq!(replies, 0, "replies to tampered datagrams");
    assert!(!unknown_peer.established);
    assert!(unknown_peer.paths[0].sent.packets > 0);
    assert_eq!(
        unknown_peer.paths[0].received.packets, 0,
        "a reply to a wrong key"
    );
    let rejected = |stats: &polypath_live::stats::Stats, reason: &str| {
        stats.session["rejected"][reason].as_u64().unwrap()
    };
    assert!(rejected(&a, "wrong-key") > 0, "{a:?}");
    for reason in [
        "replayed",
        "truncated",
        "undecryptable",
        "oversized",
        "unknown-type",
    ] {
        for stats in [&a, &b] {
            assert!(rejected(stats, reason) > 10, "{reason}: {stats:?}");
        }
    }
}

/// Silences the first path during a transfer; returns the statistics of the nodes.
fn transfer_over_a_silent_path(policy: &str) -> Option<[polypath_live::stats::Stats; 2]> {
    let testbed = Testbed::new()?;
    let middlebox = Middlebox::start(&testbed, Tampering::None);
    let overlay = Overlay::start(&testbed, policy, [middlebox::ADDRESS, BOTH_PATHS[1]]);
    transfer::run(&testbed, "10.77.0.1:5000", 3_000_000, |received| {
        if received > 500_000 {
            middlebox.start_silence();
        }
    });
    assert!(middlebox.is_silent());
    Some(overlay.finish())
}

#[test]
fn a_transfer_survives_the_silence_of_its_path() {
    let Some([a, _]) = transfer_over_a_silent_path("probe-and-switch") else {
        return;
    };
    assert!(a.paths[1].sent.bytes > 2_000_000, "{a:?}");
}

/// The policy may choose the second path from the start.
#[test]
fn a_transfer_with_repairs_survives_the_silence_of_a_path() {
    let Some([a, b]) = transfer_over_a_silent_path("in-time") else {
        return;
    };
    assert!(a.paths[1].sent.bytes > 2_000_000, "{a:?}");
    assert!(a.repair.unwrap().packets > 2000, "{a:?}");
    assert!(b.order.is_some() && b.paths[1].delivery.is_some(), "{b:?}");
}

#[test]
fn a_node_starts_with_its_first_path_down_and_uses_it_once_it_is_up() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let address = |what| testbed.a.ip(&["address", what, "10.1.1.1/24", "dev", "p1"]);
    address("del").unwrap();
    let overlay = Overlay::start(&testbed, "single-path", BOTH_PATHS);
    // Until the second path has replied, the first is considered as good.
    sleep(Duration::from_secs(1));
    ping(&testbed, "10.77.0.1");
    address("add").unwrap();
    // Heartbeats on a silent path are up to 4 s apart, and it is on probation for a second once it
    // replies.
    sleep(Duration::from_secs(7));
    ping(&testbed, "10.77.0.1");
    let [a, _] = overlay.finish();
    let states = a.paths.iter().map(|path| path.liveness.unwrap().state);
    assert!(states.eq([PathState::Live; 2]), "{:?}", a.paths);
    assert!(a.paths[0].unsent > 0, "{:?}", a.paths);
    assert!(data_bytes(&a.paths[0]) > 0 && data_bytes(&a.paths[1]) > 0);
}

/// The bytes sent on a path other than heartbeats.
fn data_bytes(stats: &polypath_live::stats::PathStats) -> usize {
    usize::try_from(stats.sent.bytes - stats.heartbeats.bytes).unwrap()
}

#[test]
fn a_flow_moves_to_the_path_with_the_shorter_round_trip() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let middlebox = Middlebox::start(
        &testbed,
        Tampering::Delay(polypath_core::time::Duration::from_millis(40)),
    );
    let paths = [middlebox::ADDRESS, BOTH_PATHS[1]];
    let overlay = Overlay::start(&testbed, "delay-centric", paths);
    ping(&testbed, "10.77.0.2");
    // The first heartbeats are sent .5 to 1.5 s after the first packet.
    datagrams::run(&testbed, Clock::starting_now(), 250, |_| {});
    let [a, b] = overlay.finish();
    middlebox.finish();
    for stats in [&a, &b] {
        assert_eq!(stats.policy.active.as_deref(), Some("two"), "{stats:?}");
        assert_eq!(stats.policy.switches, 1);
        let rtt = |path: usize| stats.paths[path].measured.unwrap().rtt_ms;
        assert!((80.0..200.0).contains(&rtt(0)), "{}", rtt(0));
        assert!(rtt(1) < 40.0, "{}", rtt(1));
    }
    let (first, second) = (data_bytes(&a.paths[0]), data_bytes(&a.paths[1]));
    assert!(second > 2 * first, "{first} and {second} B");
}

#[test]
fn flows_of_udp_and_tcp_move_by_themselves_to_the_path_with_the_shorter_round_trip() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let delay = Tampering::Delay(polypath_core::time::Duration::from_millis(40));
    let middlebox = Middlebox::start(&testbed, delay);
    let policy = "kind = \"delay-centric\"\nscope = \"flow\"";
    let paths = [middlebox::ADDRESS, BOTH_PATHS[1]];
    let overlay = Overlay::start_with(&testbed, policy, paths);
    ping(&testbed, "10.77.0.2");
    datagrams::run(&testbed, Clock::starting_now(), 250, |_| {});
    transfer::run(&testbed, "10.77.0.1:5000", 1_000_000, |_| {});
    let [a, b] = overlay.finish();
    middlebox.finish();
    for stats in [&a, &b] {
        // Those of datagrams, of TCP, and of pings, which all have sent within 10 s.
        let flows = [0, 1].map(|path| stats.paths[path].flows.unwrap());
        assert_eq!(flows[0], 0, "{stats:?}");
        assert!(flows[1] >= 2, "{stats:?}");
    }
    assert!(a.policy.switches >= 2, "the flow, and new ones: {a:?}");
    let (first, second) = (data_bytes(&a.paths[0]), data_bytes(&a.paths[1]));
    assert!(second > 2 * first, "{first} and {second} B");
}

#[test]
fn a_flow_leaves_a_silent_path_and_returns_once_it_replies() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let middlebox = Middlebox::start(&testbed, Tampering::None);
    let overlay = Overlay::start(&testbed, "single-path", [middlebox::ADDRESS, BOTH_PATHS[1]]);
    ping(&testbed, "10.77.0.2");
    // 2 s on the first path, 3 s of silence, 5 s until it has returned, 2 s on it again.
    let clock = Clock::starting_now();
    let arrived = datagrams::run(&testbed, clock, 600, |number| match number {
        100 => middlebox.start_silence(),
        250 => middlebox.end_silence(),
        _ => {}
    });
    let [a, b] = overlay.finish();
    let outage = flow::outage(&arrived, Time::ZERO, Time::MAX).unwrap();
    assert!((outage + flow::INTERVAL).as_secs_f64() < 0.5, "{outage}");
    assert!(arrived.len() > 600 - 25, "{} of 600 arrived", arrived.len());
    let last = arrived.last().unwrap().number;
    assert!(last >= 598, "the last that arrived is {last}");
    for stats in [&a, &b] {
        let liveness = stats.paths[0].liveness.unwrap();
        assert_eq!(liveness.state, PathState::Live);
        assert!(liveness.silences >= 1, "{liveness:?}");
    }
    let (first, second) = (data_bytes(&a.paths[0]), data_bytes(&a.paths[1]));
    assert!(
        first >= (100 + 100) * flow::LEN,
        "{first} B on the first path"
    );
    assert!(
        second >= (150 - 25) * flow::LEN,
        "{second} B on the second path"
    );
}
