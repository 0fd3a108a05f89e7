use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_link::{CoDelConfig, QueueConfig, RedConfig};

use super::*;
use crate::Scenario;

/// Reads a scenario with one link with `queue`, in line 10.
fn parse(queue: &str) -> Result<QueueConfig, Vec<String>> {
    let text = format!(
        r#"schema = 1
name = "queues"
schemes = ["tcp"]
transfer = {{ size = "10 kB", count = 1 }}
[[path]]
name = "p"
[[path.link]]
rate = "10 Mbit/s"
delay = "20 ms"
queue = {queue}
gilbert_elliott = {{ p = 0.01, r = 0.2 }}
"#
    );
    match Scenario::parse(&text, "s.toml", &[]) {
        Ok(scenario) => Ok(scenario.paths[0].links[0].queue),
        Err(errors) => Err(errors.problems().iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn a_text_is_a_drop_tail_queue_and_a_table_another_discipline() {
    for (text, limit) in [
        ("50 packets", QueueLimit::Packets(50)),
        ("64 kB", QueueLimit::Bytes(Bytes(64_000))),
        ("unlimited", QueueLimit::Unlimited),
    ] {
        assert_eq!(
            parse(&format!("{text:?}")),
            Ok(QueueConfig::DropTail(limit))
        );
        assert_eq!(limit.to_string(), text);
    }
    let codel = parse(r#"{ kind = "codel", limit = "100 packets", ecn = true }"#);
    let expected = CoDelConfig {
        ecn: true,
        ..CoDelConfig::new(QueueLimit::Packets(100))
    };
    assert_eq!(
        (expected.target, expected.interval),
        (Duration::from_millis(5), Duration::from_millis(100))
    );
    assert_eq!(codel, Ok(expected.into()));
    let red = parse(r#"{ kind = "red", limit = "100 kB", min_th = 5, gentle = false }"#);
    let expected = RedConfig {
        min_th: Some(5.0),
        gentle: false,
        ..RedConfig::new(QueueLimit::Bytes(Bytes(100_000)))
    };
    assert_eq!(red, Ok(expected.into()));
}

#[test]
fn mistakes_in_queues_are_reported_with_line_and_remedy() {
    for (queue, wanted) in [
        (
            r#""50 pakets""#,
            "s.toml:10:9: `queue`: `50 pakets` is not a queue limit: write \"50 packets\", \"64 kB\" or \"unlimited\"",
        ),
        (
            "50",
            "s.toml:10:9: `queue` is an integer, where a table or a string is wanted",
        ),
        (
            r#"{ kind = "coddle", limit = "5 packets" }"#,
            "s.toml:10:18: unknown kind `coddle`; did you mean `codel`?",
        ),
        (
            r#"{ kind = "red", limit = "50 packets", maxth = 30 }"#,
            "s.toml:10:47: unknown key `maxth`; did you mean `max_th`?",
        ),
        (
            r#"{ kind = "codel" }"#,
            "s.toml:10:9: missing key `limit` in `queue`",
        ),
        (
            r#"{ kind = "codel", limit = "0 packets" }"#,
            "s.toml:10:35: `limit` is zero; the packet in transmission counts: the minimum is 1 packet",
        ),
        (
            r#"{ kind = "codel", limit = "5 packets", interval = "0 s" }"#,
            "s.toml:10:59: `interval` is zero; it must be longer",
        ),
        (
            r#"{ kind = "red", limit = "50 packets", max_p = 0 }"#,
            "s.toml:10:55: `max_p` is not more than zero; leave it out for the default",
        ),
        (
            r#"{ kind = "red", limit = "50 packets", min_th = 5, max_th = 5 }"#,
            "s.toml:10:68: 5 is not above `min_th`, 5; 3 `min_th` is usual",
        ),
        (
            r#"{ kind = "red", limit = "50 packets", weight = 1.5 }"#,
            "s.toml:10:56: `weight` is 1.5, but must be at most 1",
        ),
        (
            r#"{ kind = "red", limit = "50 packets", mean_packet = "0 B" }"#,
            "s.toml:10:61: `mean_packet` is zero; it must be at least 1 B",
        ),
    ] {
        let found = parse(queue).unwrap_err();
        assert!(found[0].starts_with(wanted), "{found:?}\nnot {wanted}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn a_large_limit_is_reported_as_too_large_and_not_as_malformed() {
    for (text, max) in [
        ("5000000000 packets", "1000000 packets"),
        ("99999999999999 packet", "1000000 packets"),
        ("99999999999999 GB", "10 GB"),
    ] {
        let error = (NOTATIONS[0].check)(text, None).unwrap_err();
        assert_eq!(
            error,
            format!("`{text}` is too large; the maximum is {max}")
        );
    }
}
