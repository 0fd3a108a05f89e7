//! Tunnels of nodes in files: valid and refused ones.

use polypath_core::endpoint::EndpointConfig;
use polypath_core::frame::Encapsulation;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::Duration;

use super::problems_with;
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
kind = "tunnel"
packet = "1200 B"
interval = "20 ms"
ways = [["wifi"], ["lte"]]
policy = { kind = "in-time" }
liveness = { interval = "50 ms" }
"#;

fn endpoint(text: &str) -> EndpointConfig {
    let network = Network::parse(text, "net.toml", &[]).unwrap();
    let Traffic::Tunnel(tunnel) = &network.flows[0].traffic else {
        panic!("{:?}", network.flows[0].traffic)
    };
    tunnel.endpoint()
}

#[test]
fn the_endpoints_are_those_of_a_node() {
    let endpoint = endpoint(NETWORK);
    assert_eq!(endpoint.paths, 2);
    assert_eq!(endpoint.encapsulation, Encapsulation::deployed(28));
    assert!(matches!(endpoint.policy, PolicyConfig::InTime(_)));
    let liveness = endpoint.liveness.unwrap();
    assert_eq!(liveness.interval, Duration::from_millis(50));
    let probing = NETWORK.replace("in-time", "probe-and-switch");
    let policy = self::endpoint(&probing).policy;
    assert!(policy.has_hysteresis(), "as in nodes: {policy:?}");
}

#[test]
fn what_a_node_would_refuse_is_refused() {
    for (from, to, part) in [
        ("[[\"wifi\"], [\"lte\"]]", "[]", "there are 0 ways"),
        (
            "{ kind = \"in-time\" }",
            "{ kind = \"single-path\", path = 2 }",
            "path 2 does not exist",
        ),
        (
            "policy = { kind = \"in-time\" }\nliveness = { interval = \"50 ms\" }",
            "policy = { kind = \"single-path\", leave = { loss = 0.1 } }\nliveness = \"off\"",
            "`leave` needs heartbeats",
        ),
        ("1200 B", "70 kB", "a packet of 70 kB"),
        ("1200 B", "20 B", "no IP packet has 20 B"),
        ("1200 B", "1441 B", "in several frames; use at most 1.44 kB"),
        ("\"20 ms\"", "\"0 ms\"", "`interval` is zero"),
    ] {
        let problems = problems_with(NETWORK, from, to);
        assert!(
            problems.iter().any(|problem| problem.contains(part)),
            "{part}: {problems:?}"
        );
    }
}
