//! Two nodes in two network namespaces that two pairs of virtual Ethernet interfaces join.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use overlay::{Overlay, Site};
use polypath_core::liveness::PathState;
use polypath_core::time::Time;
use polypath_lab::flow;
use polypath_live::clock::Clock;
use relay::{Mischief, Relay};

#[path = "nodes/datagrams.rs"]
mod datagrams;
#[path = "nodes/narrow.rs"]
mod narrow;
#[path = "nodes/overlay.rs"]
mod overlay;
#[path = "nodes/relay.rs"]
mod relay;
#[path = "nodes/transfer.rs"]
mod transfer;

const BOTH_PATHS: [&str; 2] = ["10.1.1.2:7001", "10.1.2.2:7001"];

/// Bytes that `ip -s link` counts more than the IP packet: the Ethernet header.
const ETHERNET: u64 = 14;

/// From the end that does not have the address.
fn ping(site: &Site, address: &str) {
    let from = if address == "10.77.0.2" {
        &site.a
    } else {
        &site.b
    };
    let mut command = Command::new("ping");
    command.args(["-n", "-c", "5", "-i", "0.05", "-W", "3", address]);
    let said = from.output(&mut command).unwrap();
    assert!(said.contains(" 0% packet loss"), "{said}");
}

#[test]
fn ping_and_tcp_cross_over_ipv4_and_ipv6() {
    let Some(site) = Site::new() else { return };
    let overlay = Overlay::start(&site, "duplicate-all", BOTH_PATHS);
    ping(&site, "10.77.0.1");
    ping(&site, "fd77::1");
    transfer::run(&site, "10.77.0.1:5000", 2_000_000, |_| {});
    transfer::run(&site, "[fd77::1]:5000", 2_000_000, |_| {});
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
    let Some(site) = Site::new() else { return };
    let overlay = Overlay::over_ipv6(&site);
    ping(&site, "10.77.0.1");
    transfer::run(&site, "[fd77::1]:5000", 4_000_000, |_| {});
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
fn the_statistics_agree_with_what_the_interfaces_counted() {
    let Some(site) = Site::new() else { return };
    // Without IPv6 the kernel sends nothing of its own over the paths, but for ARP.
    for name in ["net/ipv6/conf/p1", "net/ipv6/conf/p2"] {
        let parameter = name.strip_prefix("net/").unwrap();
        site.a
            .set(&format!("{parameter}/disable_ipv6"), "1")
            .unwrap();
        site.b
            .set(&format!("{parameter}/disable_ipv6"), "1")
            .unwrap();
    }
    let counted = |name: &str| site.sent_bytes(name);
    let before = [counted("p1"), counted("p2")];
    let overlay = Overlay::start(&site, "probe-and-switch", BOTH_PATHS);
    transfer::run(&site, "10.77.0.1:5000", 500_000, |_| {});
    let [a, _] = overlay.finish();
    for (index, path) in a.paths.iter().enumerate() {
        let counted = counted(["p1", "p2"][index]) - before[index];
        let told = path.sent.bytes + ETHERNET * path.sent.packets;
        let arp = 42 * 20;
        assert!(
            (told..=told + arp).contains(&counted),
            "{counted} on the link, {told} told"
        );
    }
}

#[test]
fn hostile_datagrams_are_counted_and_dropped_and_not_answered() {
    let Some(site) = Site::new() else { return };
    let relay = Relay::start(&site, Mischief::Everything);
    let overlay = Overlay::start(&site, "duplicate-acks", [relay::ADDRESS, BOTH_PATHS[1]]);
    let stranger = Overlay::stranger(&site);
    transfer::run(&site, "10.77.0.1:5000", 1_000_000, |_| {});
    ping(&site, "10.77.0.1");
    sleep(Duration::from_secs(1));
    let stranger = stranger.finish().unwrap();
    let [a, b] = overlay.finish();
    let answers = relay.finish();
    assert_eq!(answers, 0, "a stranger was answered");
    assert!(!stranger.established);
    assert!(stranger.paths[0].sent.packets > 0);
    assert_eq!(
        stranger.paths[0].received.packets, 0,
        "a wrong key was answered"
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

#[test]
fn a_transfer_survives_the_silence_of_the_path_that_carries_it() {
    let Some(site) = Site::new() else { return };
    let relay = Relay::start(&site, Mischief::None);
    let overlay = Overlay::start(&site, "probe-and-switch", [relay::ADDRESS, BOTH_PATHS[1]]);
    transfer::run(&site, "10.77.0.1:5000", 3_000_000, |received| {
        if received > 500_000 {
            relay.fall_silent();
        }
    });
    assert!(relay.is_silent());
    let [a, _] = overlay.finish();
    assert!(a.paths[1].sent.bytes > 2_000_000, "{a:?}");
}

#[test]
fn a_node_starts_while_its_first_path_is_down_and_uses_it_once_it_is_up() {
    let Some(site) = Site::new() else { return };
    let address = |what| site.a.ip(&["address", what, "10.1.1.1/24", "dev", "p1"]);
    address("del").unwrap();
    let overlay = Overlay::start(&site, "single-path", BOTH_PATHS);
    // Until the second path has answered, the first is as good.
    sleep(Duration::from_secs(1));
    ping(&site, "10.77.0.1");
    address("add").unwrap();
    // Heartbeats on a silent path are up to 4 s apart, and it is held for a second once it answers.
    sleep(Duration::from_secs(7));
    ping(&site, "10.77.0.1");
    let [a, _] = overlay.finish();
    let states = a.paths.iter().map(|path| path.liveness.unwrap().state);
    assert!(states.eq([PathState::Live; 2]), "{:?}", a.paths);
    assert!(a.paths[0].unsent > 0, "{:?}", a.paths);
    assert!(data_bytes(&a.paths[0]) > 0 && data_bytes(&a.paths[1]) > 0);
}

/// Data on a path: what was sent there and is no heartbeat.
fn data_bytes(stats: &polypath_live::stats::PathStats) -> usize {
    usize::try_from(stats.sent.bytes - stats.heartbeats.bytes).unwrap()
}

#[test]
fn a_flow_leaves_a_silent_path_and_uses_it_again_once_it_answers() {
    let Some(site) = Site::new() else { return };
    let relay = Relay::start(&site, Mischief::None);
    let overlay = Overlay::start(&site, "single-path", [relay::ADDRESS, BOTH_PATHS[1]]);
    ping(&site, "10.77.0.2");
    // 2 s on the first path, 3 s of which it is silent, 5 s in which it returns, 2 s on it again.
    let clock = Clock::starting_now();
    let arrived = datagrams::run(&site, clock, 600, |number| match number {
        100 => relay.fall_silent(),
        250 => relay.speak(),
        _ => {}
    });
    let [a, b] = overlay.finish();
    let outage = flow::outage(&arrived, Time::ZERO, Time::MAX).unwrap();
    assert!((outage + flow::INTERVAL).as_secs_f64() < 0.5, "{outage}");
    assert!(arrived.len() > 600 - 25, "{} of 600 arrived", arrived.len());
    let last = arrived.last().unwrap().number;
    assert!(last >= 598, "the last that arrived is {last}");
    for stats in [&a, &b] {
        let watched = stats.paths[0].liveness.unwrap();
        assert_eq!(watched.state, PathState::Live);
        assert!(watched.silences >= 1, "{watched:?}");
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
