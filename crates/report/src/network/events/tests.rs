use std::collections::BTreeMap;

use polypath_core::rng::Seed;
use polypath_sim::{NetworkOutcome, run_network};
use serde_json::Value;

use super::*;

const NETWORK: &str = r#"schema = 1
name = "small"
run = { duration = "20 s" }
[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "20 ms"
loss = 0.02
queue = "10 packets"
[[flow]]
name = "bulk"
from = "a"
to = "b"
traffic = { kind = "ftp" }
tcp = { variant = "newreno" }
[[flow]]
name = "files"
from = "a"
to = "b"
traffic = { kind = "sessions", idle = "50 ms", file = { mu = 9.0, sigma = 1.0 } }
[[flow]]
name = "voice"
from = "b"
to = "a"
traffic = { kind = "cbr", packet = "200 B", interval = "20 ms" }
"#;

fn stream(packets: bool) -> (String, NetworkOutcome) {
    let network = Network::parse(NETWORK, "small.toml", &[]).unwrap();
    let mut bytes = Vec::new();
    let mut events = EventWriter::new(&network, 3, packets, &mut bytes).unwrap();
    let outcome = run_network(&network, Seed(3), &mut events).unwrap();
    events.finish().unwrap();
    (String::from_utf8(bytes).unwrap(), outcome)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// How many lines there are of each event.
fn counts(lines: &[Value]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for event in lines.iter().filter_map(|line| line["event"].as_str()) {
        *counts.entry(event).or_default() += 1;
    }
    counts
}

#[test]
fn the_stream_begins_with_its_version_and_is_the_same_for_a_seed() {
    let (text, _) = stream(true);
    let head = text.lines().next().unwrap();
    assert_eq!(head, r#"{"version":1,"network":"small","seed":3}"#);
    assert_eq!(text, stream(true).0);
}

#[test]
fn what_is_said_adds_up_to_the_report() {
    let (text, outcome) = stream(true);
    let lines = lines(&text);
    let counts = counts(&lines);
    let senders = outcome.flows.iter().flat_map(|flow| &flow.spans);
    let timeouts: u64 = senders.map(|span| span.sender.timeouts).sum();
    assert_eq!(counts["timeout"], timeouts);
    let dropped = |reason: &str| {
        let of = |line: &&Value| line["event"] == "dropped" && line["reason"] == reason;
        lines.iter().filter(of).count() as u64
    };
    let spans = || outcome.links.iter().flat_map(|link| &link.spans);
    assert_eq!(
        dropped("queue_full"),
        spans().map(|l| l.drops.queue_full).sum::<u64>()
    );
    assert_eq!(
        dropped("random"),
        spans().map(|l| l.drops.random).sum::<u64>()
    );
    assert!(dropped("queue_full") > 10 && dropped("random") > 10);
    let delivered: u64 = spans().map(|link| link.packets_delivered).sum();
    let under_way = delivered - counts["arrived"];
    assert!(under_way < 20 && delivered > 1000);
}

#[test]
fn every_recovery_is_entered_before_it_is_left_and_in_the_order_of_time() {
    let lines = lines(&stream(false).0);
    let mut open: BTreeMap<&str, &Value> = BTreeMap::new();
    let (mut last, mut left) = (0, 0);
    for line in &lines[1..] {
        let at = line["at"].as_u64().unwrap();
        assert!(at >= last);
        last = at;
        let flow = line["flow"].as_str().unwrap();
        match line["event"].as_str().unwrap() {
            "recovery-entered" => {
                open.insert(flow, &line["kind"]);
            }
            "recovery-left" => {
                left += 1;
                assert_eq!(open.remove(flow), Some(&line["kind"]), "{line}");
            }
            _ => {}
        }
    }
    assert!(left > 10);
}

#[test]
fn sessions_say_their_windows_from_the_first_connection_to_the_last() {
    let lines = lines(&stream(false).0);
    let initial =
        |line: &&Value| line["event"] == "window" && line["flow"] == "files" && line["cwnd"] == 2.0;
    assert!(lines.iter().filter(initial).count() > 10);
}

#[test]
fn packets_are_left_out_unless_they_are_wanted() {
    let (without, with) = (stream(false).0, stream(true).0);
    let is_packet = |line: &&str| line.contains("\"event\":\"arrived\"");
    assert_eq!(without.lines().filter(is_packet).count(), 0);
    let rest: Vec<&str> = with.lines().filter(|line| !is_packet(line)).collect();
    assert_eq!(rest, without.lines().collect::<Vec<_>>());
}
