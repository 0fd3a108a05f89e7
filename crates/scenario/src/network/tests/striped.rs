//! Streams over several connections in files: valid and refused ones.

use polypath_core::connections::{ControlConfig, ControllerConfig, VariationConfig};

use super::problems_with;
use crate::network::{Network, Traffic};

const NETWORK: &str = r#"schema = 1
name = "striped"
run = { duration = "10 s" }
[[link]]
name = "access"
from = "a"
to = "b"
rate = "6 Mbit/s"
delay = "20 ms"
queue = "50 packets"
[[flow]]
name = "media"
from = "a"
to = "b"
traffic = { kind = "striped", rate = "800 kbit/s", controller = { kind = "varied-connections" } }
"#;

fn problems(from: &str, to: &str) -> Vec<String> {
    problems_with(NETWORK, from, to)
}

#[test]
fn the_defaults_are_those_of_the_paper() {
    let network = Network::parse(NETWORK, "net.toml", &[]).unwrap();
    let Traffic::Striped(striped) = &network.flows[0].traffic else {
        panic!("{:?}", network.flows[0].traffic)
    };
    let expected = ControllerConfig::VariedConnections {
        connections: 1,
        variation: VariationConfig::default(),
        control: ControlConfig::default(),
    };
    assert_eq!(striped.controller, expected);
    assert_eq!((striped.buffer, striped.play_out), (4096, None));
    assert!(network.flows[0].traffic.needs_return_route());
}

/// The text that is replaced, its replacement, and a part of the reported problem.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "\"varied-connections\"",
        "\"varied-connection\"",
        "varied-connections",
    ),
    (
        "\"varied-connections\"",
        "\"adjust-window\", conections = 2",
        "connections",
    ),
    (
        "\"varied-connections\"",
        "\"adjust-window\", connections = 0",
        "1",
    ),
    (
        "\"varied-connections\"",
        "\"fixed-windows\", connections = 2",
        "window",
    ),
    (
        "\"varied-connections\"",
        "\"adjust-window\", control = { interval = \"0 s\" }",
        "longer",
    ),
    (
        "\"varied-connections\"",
        "\"adjust-window\", control = { memory = \"0 s\" }",
        "longer",
    ),
    (
        "\"varied-connections\"",
        "\"adjust-window\", control = { smothing = 0.5 }",
        "smoothing",
    ),
    ("800 kbit/s", "0 kbit/s", "a rate of zero"),
    (
        "} }\n",
        "}, connection_limit = \"0 kbit/s\" }\n",
        "a rate of zero",
    ),
    (
        "} }\n",
        "}, play_out = { prebuffer = \"1 s\", rebuffer = \"0 s\" } }\n",
        "rebuffer",
    ),
    (
        "} }\n",
        "} }\nreceiver_window = [{ at = \"1 s\", window = 4 }]\n",
        "controller",
    ),
    (
        "queue = \"50 packets\"",
        "queue = \"50 packets\"\nsimplex = true",
        "no links lead from `b` to `a`",
    ),
    ("queue = \"50 packets\"", "queue = \"999 B\"", "1 kB"),
];

#[test]
fn an_invalid_key_is_reported_with_its_remedy() {
    for &(from, to, wanted) in WRONG {
        let found = problems(from, to);
        assert_eq!(found.len(), 1, "{to}: {found:?}");
        assert!(found[0].contains(wanted), "{to}: {found:?}");
        assert!(found[0].starts_with("net.toml:"), "{to}: {found:?}");
    }
}
