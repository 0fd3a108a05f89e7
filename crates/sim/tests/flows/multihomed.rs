//! Datagrams over two paths of the delay-centric paper's test bed (Fig. 1).

use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Network;
use polypath_sim::{
    AgentEvent, FlowCounters, NetworkEvent, NetworkOutcome, PathChange, run_network,
};

use super::recorder::Recorder;

/// Two links of 1 Mb/s from one host to the other, and sources over both.
fn text(sources: u32, interval: &str, rest: &str) -> String {
    let link = |name: &str| {
        format!(
            r#"[[link]]
name = "{name}"
from = "sender"
to = "receiver"
rate = "1 Mbit/s"
delay = "100 us"
queue = "1000 packets"
"#
        )
    };
    format!(
        r#"schema = 1
name = "two-paths"
run = {{ duration = "20 s" }}
{}{}
[[flow]]
name = "media"
count = {sources}
from = "sender"
to = "receiver"
start_spread = "1 s"
traffic = {{ kind = "multihomed", packet = "250 B", interval = "{interval}", ways = [["left"], ["right"]], {rest} }}
"#,
        link("left"),
        link("right")
    )
}

fn parse(text: &str) -> Network {
    Network::parse(text, "two-paths.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn network(sources: u32, interval: &str, rest: &str) -> Network {
    parse(&text(sources, interval, rest))
}

fn totals(outcome: &NetworkOutcome) -> Vec<FlowCounters> {
    let flows = outcome.flows.iter();
    flows.map(|flow| flow.spans.iter().copied().sum()).collect()
}

fn changes(recorder: &Recorder) -> Vec<(Time, u32, PathChange)> {
    let change = |(at, event): &(Time, NetworkEvent)| match event {
        NetworkEvent::Agent {
            flow,
            event: AgentEvent::Path(change),
        } => Some((*at, *flow, *change)),
        _ => None,
    };
    recorder.0.iter().filter_map(change).collect()
}

fn run(network: &Network, seed: u64) -> (NetworkOutcome, Vec<(Time, u32, PathChange)>) {
    let mut recorder = Recorder::default();
    let outcome = run_network(network, Seed(seed), &mut recorder).unwrap();
    let changes = changes(&recorder);
    (outcome, changes)
}

const PURE: &str = r#"policy = { kind = "delay-centric" }"#;

/// A packet of 250 B takes 2 ms on the link, in addition to its 100 us.
#[test]
fn a_lone_source_stays_where_it_begins_and_its_packets_take_their_time() {
    let rest = format!("packets = 500, {PURE}");
    let (outcome, changes) = run(&network(1, "10 ms", &rest), 1);
    let total = totals(&outcome)[0];
    assert_eq!((total.sender.sent, total.delays.count), (500, 500));
    let mean = total.delays.mean().unwrap();
    assert!((mean - 0.0021).abs() < 1e-9, "{mean}");
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].2.from, None);
    let [there, back, other, other_back] = &outcome.links[..] else {
        panic!("{:?}", outcome.links)
    };
    let packets = |link: &polypath_sim::LinkOutcome| -> u64 {
        link.spans.iter().map(|span| span.packets_in).sum()
    };
    assert_eq!((packets(there), packets(back)), (500, 500), "with ACKs");
    let heartbeats = packets(other);
    assert!((3..=10).contains(&heartbeats), "{heartbeats} in 5 s");
    assert_eq!(packets(other_back), heartbeats, "each is answered");
}

/// Six sources that all begin on the first path offer twice its capacity.
#[test]
fn sources_leave_a_path_that_they_overload() {
    let (outcome, changes) = run(&network(6, "7 ms", PURE), 1);
    let switches = changes
        .iter()
        .filter(|(_, _, change)| change.from.is_some());
    assert!(switches.count() >= 3);
    let sent = |link: &polypath_sim::LinkOutcome| -> u64 {
        link.spans.iter().map(|span| span.packets_in).sum()
    };
    let (left, right) = (sent(&outcome.links[0]), sent(&outcome.links[2]));
    assert!(left.min(right) * 4 > left.max(right), "{left}, {right}");
}

#[test]
fn a_random_first_route_is_drawn_for_each_source_and_repeats_with_the_seed() {
    let rest = format!("first = \"random\", {PURE}");
    let network = network(6, "20 ms", &rest);
    let first = |seed| {
        let (_, changes) = run(&network, seed);
        let first = changes
            .iter()
            .filter(|(_, _, change)| change.from.is_none());
        let mut first: Vec<(u32, u8)> = first.map(|(_, flow, c)| (*flow, c.to.0)).collect();
        first.sort_unstable();
        first
    };
    assert_eq!(first(1), first(1));
    assert_eq!(first(1).len(), 6);
    let right: usize = (0..50)
        .map(|seed| first(seed).iter().filter(|(_, path)| *path == 1).count())
        .sum();
    assert!((120..=180).contains(&right), "{right} of 300");
}

#[test]
fn a_run_repeats_and_watching_it_changes_nothing() {
    let rest = r#"policy = { kind = "predictive-delay-centric", threshold = "70 ms", guard = { least = "1 s", most = "4 s" } }"#;
    let network = network(6, "6100 us", rest);
    let (watched, changes) = run(&network, 5);
    let plain = run_network(&network, Seed(5), &mut ()).unwrap();
    assert_eq!(watched, plain);
    assert_eq!(run(&network, 5).1, changes);
    assert!(changes.len() > 6, "some switch");
}

/// Data leaves a failed path after the timeout, and only the packets sent on it until then are
/// lost.
#[test]
fn a_path_that_fails_is_left() {
    let outage = r#"outage = [{ from = "5 s", until = "20 s" }]"#;
    let text = text(1, "10 ms", PURE);
    let text = text.replacen("[[link]]", &format!("[[link]]\n{outage}"), 1);
    let network = parse(&text);
    let (outcome, changes) = run(&network, 1);
    let (at, _, change) = changes[1];
    assert_eq!(change.to.0, 1);
    let after = at.since(Time::ZERO + Duration::from_secs(5));
    assert!(after <= Duration::from_millis(1020), "{after}");
    assert_eq!(changes.len(), 2, "it does not return");
    let total = totals(&outcome)[0];
    assert!(total.sender.sent - total.delays.count <= 103);
}
