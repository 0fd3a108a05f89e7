//! Datagrams through two nodes, over two links of a network with other flows.

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Network;
use polypath_sim::{
    AgentEvent, FlowCounters, NetworkEvent, NetworkOutcome, PathChange, run_network,
};

use super::recorder::Recorder;

/// The headers of a frame: IPv4 and UDP, the seal and the frame header.
const FRAME: u64 = 28 + 24 + 8;

/// Two links of 1 Mbit/s, the first with the keys `left`, and tunnels over both, with the keys
/// `traffic`.
fn network(tunnels: u32, left: &str, traffic: &str) -> Network {
    let link = |name: &str, keys: &str| {
        format!(
            r#"[[link]]
name = "{name}"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"
queue = "50 packets"
{keys}
"#
        )
    };
    let text = format!(
        r#"schema = 1
name = "tunnels"
run = {{ duration = "10 s" }}
{}{}
[[flow]]
name = "media"
count = {tunnels}
from = "a"
to = "b"
start_spread = "100 ms"
[flow.traffic]
kind = "tunnel"
packet = "200 B"
interval = "20 ms"
ways = [["left"], ["right"]]
{traffic}
"#,
        link("left", left),
        link("right", ""),
    );
    Network::parse(&text, "tunnels.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn run(network: &Network) -> (FlowCounters, Vec<(Time, PathChange)>) {
    let mut recorder = Recorder::default();
    let outcome = run_network(network, Seed(1), &mut recorder).unwrap();
    let change = |(at, event): &(Time, NetworkEvent)| match event {
        NetworkEvent::Agent {
            event: AgentEvent::Path(change),
            ..
        } => Some((*at, *change)),
        _ => None,
    };
    let changes = recorder.0.iter().filter_map(change).collect();
    (totals(&outcome), changes)
}

fn totals(outcome: &NetworkOutcome) -> FlowCounters {
    let flows = outcome.flows.iter();
    flows.flat_map(|flow| flow.spans.iter().copied()).sum()
}

/// The share of lost datagrams of those due before the end; fails if one was delivered twice.
fn lost(of: &FlowCounters) -> f64 {
    assert!(of.due.arrived <= of.due.sent, "{of:?}");
    assert!(of.delays.count <= of.sender.sent, "{of:?}");
    of.due.lost().unwrap()
}

/// A frame of 260 B takes 2.08 ms on the link, in addition to its 10 ms.
#[test]
fn datagrams_take_their_time_and_cost_their_frames() {
    let single = r#"policy = { kind = "single-path" }"#;
    let (found, changes) = run(&network(1, "", &format!("{single}\nliveness = \"off\"")));
    assert!((495..=500).contains(&found.sender.sent), "{found:?}");
    assert_eq!(found.wire_bytes, found.sender.sent * (200 + FRAME));
    let delay = found.delays.mean().unwrap();
    assert!((delay - 0.012_080).abs() < 1e-9, "{delay}");
    assert_eq!(found.heartbeats, 0);
    assert_eq!(changes.len(), 1, "where it begins: {changes:?}");
    let (watched, _) = run(&network(1, "", single));
    assert!(watched.heartbeats > 100, "{watched:?}");
    assert!(watched.wire_bytes > found.wire_bytes);
}

#[test]
fn copies_and_repairs_replace_what_a_link_loses_and_nothing_is_delivered_twice() {
    let found = |policy: &str| run(&network(1, "loss = 0.05", &format!("policy = {policy}"))).0;
    let single = found(r#"{ kind = "single-path" }"#);
    assert!((0.02..0.09).contains(&lost(&single)), "{single:?}");
    let copied = found(r#"{ kind = "duplicate-all" }"#);
    assert!(lost(&copied) < 1e-9, "{copied:?}");
    assert!(copied.wire_bytes > 2 * copied.sender.sent * (200 + FRAME));
    let repaired = found(r#"{ kind = "in-time", deadline = "200 ms" }"#);
    assert!(lost(&repaired) < 1e-9, "{repaired:?}");
    assert!(repaired.wire_bytes < copied.wire_bytes * 3 / 4);
}

/// Heartbeats find the outage; the datagrams until then are lost.
#[test]
fn data_leaves_a_path_that_fails() {
    let outage = r#"outage = [{ from = "3 s", until = "6 s" }]"#;
    let single = r#"policy = { kind = "single-path" }"#;
    let (found, changes) = run(&network(1, outage, single));
    let begin = Time::ZERO + Duration::from_secs(3);
    let [_, (left, leave), (back, come)] = changes[..] else {
        panic!("{changes:?}")
    };
    let [first, second] = [0, 1].map(PathId);
    assert_eq!((leave.from, leave.to), (Some(first), second));
    assert_eq!((come.from, come.to), (Some(second), first));
    assert!(left.since(begin) < Duration::from_millis(300), "{left}");
    assert!(back > begin + Duration::from_secs(3), "{back}");
    assert!(lost(&found) < 0.03, "{found:?}");
}

#[test]
fn tunnels_begin_on_random_routes_on_request() {
    let random = "first = \"random\"\npolicy = { kind = \"single-path\" }";
    let (found, changes) = run(&network(6, "", random));
    let begun = |path: u8| {
        let paths = changes
            .iter()
            .filter(|(_, change)| change.to == PathId(path));
        paths.count()
    };
    assert_eq!(changes.len(), 6, "nobody moves: {changes:?}");
    assert!(begun(0) > 0 && begun(1) > 0, "{changes:?}");
    assert!(lost(&found) < 1e-9, "{found:?}");
}

/// Twelve tunnels of 104 kbit/s, all on one link of 1 Mbit/s, fill its queue; in time, they use both.
#[test]
fn tunnels_share_queues() {
    let found = |policy: &str| run(&network(12, "", &format!("policy = {policy}"))).0;
    let single = found(r#"{ kind = "single-path" }"#);
    assert!(lost(&single) > 0.15, "{single:?}");
    let in_time = found(r#"{ kind = "in-time", deadline = "200 ms" }"#);
    assert!(lost(&in_time) < 0.05, "{in_time:?}");
    assert_eq!(
        in_time,
        found(r#"{ kind = "in-time", deadline = "200 ms" }"#)
    );
}
