//! Datagrams over several routes in files: valid and refused ones.

use polypath_core::policy::delay_centric::{Guard, Heartbeats, TrendRule};
use polypath_core::policy::{DelayCentricConfig, PredictiveConfig, ReactiveConfig};
use polypath_core::time::Duration;
use polypath_core::units::Bytes;

use super::problems_with;
use crate::network::traffic::multihomed::FirstRoute;
use crate::network::{Network, Traffic};

const NETWORK: &str = r#"schema = 1
name = "two-paths"
run = { duration = "10 s" }
[[link]]
name = "wifi"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "100 packets"
[[link]]
name = "lte"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "100 packets"
[[flow]]
name = "media"
from = "a"
to = "b"
[flow.traffic]
kind = "multihomed"
packet = "250 B"
interval = "6 ms"
ways = [["wifi"], ["lte"]]
policy = { kind = "delay-centric" }
"#;

fn problems(from: &str, to: &str) -> Vec<String> {
    problems_with(NETWORK, from, to)
}

#[test]
fn the_defaults_are_those_of_the_paper() {
    let network = Network::parse(NETWORK, "net.toml", &[]).unwrap();
    let Traffic::Multihomed(multihomed) = &network.flows[0].traffic else {
        panic!("{:?}", network.flows[0].traffic)
    };
    assert_eq!(multihomed.ack, Bytes(52));
    assert_eq!(multihomed.first, FirstRoute::Listed);
    assert_eq!(multihomed.packets, None);
    let DelayCentricConfig::DelayCentric(ReactiveConfig {
        hysteresis,
        guard,
        heartbeats,
        ..
    }) = multihomed.policy
    else {
        panic!("{:?}", multihomed.policy)
    };
    assert_eq!(hysteresis, Duration::from_millis(10));
    assert_eq!(guard, Guard::default());
    assert_eq!(heartbeats, Heartbeats::default());
    let text = NETWORK.replace("\"delay-centric\"", "\"predictive-delay-centric\"");
    let network = Network::parse(&text, "net.toml", &[]).unwrap();
    let Traffic::Multihomed(multihomed) = &network.flows[0].traffic else {
        panic!("{:?}", network.flows[0].traffic)
    };
    let DelayCentricConfig::PredictiveDelayCentric(PredictiveConfig {
        threshold, trend, ..
    }) = multihomed.policy
    else {
        panic!("{:?}", multihomed.policy)
    };
    assert_eq!(threshold, Duration::from_millis(150));
    assert_eq!(trend, TrendRule::Modified);
    assert_eq!(
        network.flows[0].routes(0).collect::<Vec<_>>(),
        [["a", "wifi", "b"], ["a", "lte", "b"]]
    );
}

#[test]
fn an_invalid_key_is_reported_with_its_position_and_remedy() {
    let kind = problems("\"delay-centric\"", "\"delay-centrc\"");
    assert!(
        kind[0].starts_with("net.toml:27:") && kind[0].contains("delay-centric"),
        "{kind:?}"
    );
    let way = problems("[\"lte\"]", "[\"ltee\"]");
    assert!(
        way[0].starts_with("net.toml:26:") && way[0].contains("`lte`"),
        "{way:?}"
    );
    let none = problems("[[\"wifi\"], [\"lte\"]]", "[]");
    assert!(none[0].contains("ways"), "{none:?}");
    for same in ["[\"wifi\"]", "[\"wifi/back\"]", "[]"] {
        let same = problems("[\"lte\"]", same);
        assert!(
            same.len() == 1 && same[0].contains("ways 0 and 1 pass the same links"),
            "{same:?}"
        );
        assert!(same[0].starts_with("net.toml:26:"), "{same:?}");
    }
    let guard = problems(
        "\"delay-centric\"",
        "\"delay-centric\", guard = { least = \"4 s\", most = \"1 s\" }",
    );
    assert!(guard[0].contains("`most` be `least` or more"), "{guard:?}");
    let zero = problems(
        "\"delay-centric\"",
        "\"delay-centric\", heartbeats = { in_guard = \"0 s\" }",
    );
    assert!(zero[0].contains("in_guard"), "{zero:?}");
    let via = problems(
        "to = \"b\"\n[flow.traffic]",
        "to = \"b\"\nvia = [\"wifi\"]\n[flow.traffic]",
    );
    assert!(via[0].contains("remove `via`"), "{via:?}");
    let simplex = problems("to = \"b\"\nrate", "to = \"b\"\nsimplex = true\nrate");
    assert!(simplex[0].contains("simplex"), "{simplex:?}");
    let small = problems("\"100 packets\"", "\"200 B\"");
    assert!(small[0].contains("admits no"), "{small:?}");
}

#[test]
fn the_example_is_right() {
    let text = include_str!("../../../../../scenarios/two-paths.toml");
    let network = Network::parse(text, "two-paths.toml", &[]).unwrap();
    let Traffic::Multihomed(multihomed) = &network.flows[0].traffic else {
        panic!("{:?}", network.flows[0].traffic)
    };
    assert_eq!(
        (multihomed.first, multihomed.ways.len()),
        (FirstRoute::Random, 2)
    );
    let heartbeat = problems(
        "interval = \"6 ms\"",
        "interval = \"6 ms\"\nheartbeat = \"0 B\"",
    );
    assert!(heartbeat[0].contains("heartbeat"), "{heartbeat:?}");
}
