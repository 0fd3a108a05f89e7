//! Spaced packets in files: valid and refused ones.

use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};

use super::problems_with;
use crate::network::{Network, Traffic};

const NETWORK: &str = r#"schema = 1
name = "spaced"
run = { duration = "10 s" }
[[link]]
name = "access"
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "2 ms"
queue = "10 packets"
[[flow]]
name = "media"
from = "a"
to = "b"
traffic = { kind = "spaced", packet = "1000 B", control = "damped" }
"#;

fn problems(from: &str, to: &str) -> Vec<String> {
    problems_with(NETWORK, from, to)
}

#[test]
fn the_defaults_are_those_of_the_paper() {
    let network = Network::parse(NETWORK, "net.toml", &[]).unwrap();
    let Traffic::Spaced(spaced) = &network.flows[0].traffic else {
        panic!("{:?}", network.flows[0].traffic)
    };
    assert!(spaced.has_feedback());
    assert_eq!(spaced.spacing, Duration::ZERO);
    assert_eq!(spaced.first, Duration::from_micros(50));
    assert_eq!(spaced.step, Duration::from_micros(2));
    assert_eq!(spaced.feedback.size, Bytes(40));
    let sender = spaced.sender(Some(Rate::from_mbits(100))).unwrap();
    assert_eq!(sender.line_rate, Some(Rate::from_mbits(100)));
    assert_eq!(spaced.sender(None), None);
}

#[test]
fn an_invalid_key_is_reported_with_its_remedy() {
    let control = problems("\"damped\"", "\"dampd\"");
    assert!(control[0].starts_with("net.toml:15:"), "{control:?}");
    assert!(control[0].contains("damped"), "{control:?}");
    let key = problems(
        "control = \"damped\"",
        "control = \"damped\", spacin = \"1 ms\"",
    );
    assert!(key[0].contains("spacing"), "{key:?}");
    let nested = problems(
        "\"damped\"",
        "\"damped\", feedback = { countin = \"clock\" }",
    );
    assert!(nested[0].contains("counting"), "{nested:?}");
    let missing = problems(", control = \"damped\"", "");
    assert!(missing[0].contains("control"), "{missing:?}");
    let zero = problems(
        "\"damped\"",
        "\"damped\", feedback = { base_rtt = \"0 s\" }",
    );
    assert_eq!(zero.len(), 1, "{zero:?}");
    assert!(zero[0].contains("a ping measures it"), "{zero:?}");
    let fast = problems("\"100 Mbit/s\"", "\"100 Gbit/s\"");
    assert_eq!(fast.len(), 1, "{fast:?}");
    assert!(fast[0].contains("take less than 1 us"), "{fast:?}");
    let simplex = problems(
        "queue = \"10 packets\"",
        "queue = \"10 packets\"\nsimplex = true",
    );
    assert!(
        simplex[0].contains("no links lead from `b` to `a`"),
        "{simplex:?}"
    );
    let admitted = problems("queue = \"10 packets\"", "queue = \"999 B\"");
    assert!(
        admitted.iter().any(|p| p.contains("no packet of 1 kB")),
        "{admitted:?}"
    );
}

#[test]
fn unused_keys_and_zero_rates_are_refused() {
    for (more, wanted) in [
        ("\"damped\", line_rate = \"0 Mbit/s\"", "a rate of zero"),
        ("\"damped\", first = \"0 s\"", "first"),
        ("\"damped\", feedback = { base_rtt = \"11 s\" }", "10 s"),
        ("\"fixed\", first = \"1 us\"", "`first` has no effect"),
        ("\"cubic\", first = \"1 us\"", "`first` has no effect"),
        (
            "\"damped\", max_queue = \"1 ms\"",
            "`max_queue` has no effect",
        ),
        ("\"cubic\", reference_rtt = \"2 s\"", "1 ms to 1 s"),
        ("\"cubic\", max_queue = \"2 s\"", "1 s at most"),
        (
            "\"cubic\", feedback = { attribution = \"latest\" }",
            "`feedback.attribution` has no effect",
        ),
        (
            "\"fixed\", feedback = { counting = \"clock\" }",
            "`feedback` has no effect",
        ),
    ] {
        let found = problems("\"damped\"", more);
        assert_eq!(found.len(), 1, "{more}: {found:?}");
        assert!(found[0].contains(wanted), "{more}: {found:?}");
    }
}

#[test]
fn a_fixed_spacing_needs_no_way_back() {
    let text = NETWORK
        .replace("\"damped\"", "\"fixed\", spacing = \"1 ms\"")
        .replace(
            "queue = \"10 packets\"",
            "queue = \"10 packets\"\nsimplex = true",
        );
    Network::parse(&text, "net.toml", &[]).unwrap();
}
