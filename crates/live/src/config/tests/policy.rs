//! The keys of policies.

use super::*;

#[test]
fn probe_and_switch_has_hysteresis_unless_the_file_says_otherwise() {
    let policy = |key: &str| {
        let table = format!("kind = \"probe-and-switch\"\n{key}");
        let text = GOOD.replace("kind = \"probe-and-switch\"", &table);
        NodeConfig::parse(&text, "a.toml").map(|config| config.endpoint().policy)
    };
    let probing = PolicyConfig::probe_and_switch(0);
    assert_eq!(policy("").unwrap(), probing.or_hysteresis(true));
    for is_on in [true, false] {
        let found = policy(&format!("hysteresis = {is_on}")).unwrap();
        assert_eq!(found, probing.or_hysteresis(is_on));
    }
    let message = policy("hysteresis = 3").unwrap_err().to_string();
    assert!(
        message.contains("hysteresis") || message.contains("policy"),
        "{message}"
    );
    let message = policy("histeresis = true").unwrap_err().to_string();
    assert!(message.contains("histeresis"), "{message}");
}

#[test]
fn limits_of_single_path_are_read_and_checked() {
    let parse = |table: &str, top: &str| {
        let text = GOOD.replace("kind = \"probe-and-switch\"", table);
        NodeConfig::parse(&format!("{top}\n{text}"), "a.toml")
    };
    let policy = |leave: &str| format!("kind = \"single-path\"\nleave = {leave}");
    let both = policy("{ loss = 0.02, delay = \"50 ms\" }");
    let PolicyConfig::SinglePath {
        leave: Some(leave), ..
    } = parse(&both, "").unwrap().endpoint().policy
    else {
        panic!("no limits")
    };
    assert_eq!(
        leave.loss.map(polypath_core::repair::Share::millionths),
        Some(20_000)
    );
    let error = |leave: &str, top: &str| parse(&policy(leave), top).unwrap_err().to_string();
    for (leave, expected) in [
        ("{}", "`leave` states no limit"),
        ("{ loss = 0.9 }", "`loss` must be 0.001 to 0.5"),
        ("{ delay = \"1 ms\" }", "`delay` must be"),
        ("{ los = 0.02 }", "los"),
    ] {
        let message = error(leave, "");
        assert!(message.contains(expected), "{message}");
    }
    let message = error("{ loss = 0.02 }", "liveness = \"off\"\npmtu = \"off\"");
    assert!(message.contains("`leave` needs heartbeats"), "{message}");
}

#[test]
fn errors_of_a_policy_are_reported_at_the_value() {
    for (table, wanted) in [
        (
            "kind = \"in-time\"\norder = \"soon\"",
            "`order`: `soon` is not an order: ",
        ),
        (
            "kind = \"in-time\"\norder = \"3 s\"",
            "`order`: `3 s` is not an order: ",
        ),
        ("kind = \"in-time\"\norder = 3", "`order` is an integer"),
        (
            "kind = \"in-time\"\ndeadline = \"1 ms\"",
            "`deadline` must be",
        ),
        ("kind = \"in-time\"\nredundancy = 3", "`redundancy` is 3"),
        ("kind = \"single-path\"\npath = 9", "path 9 does not exist"),
        (
            "kind = \"single-path\"\nleave = { loss = 0.9 }",
            "`loss` must be",
        ),
        (
            "kind = \"round-robin\"\nweights = [300]",
            "`weights` is 300",
        ),
        (
            "kind = \"round-robin\"\nweights = [0, 0]",
            "all weights are zero",
        ),
        (
            "kind = \"delay-centric\"\nguard = { least = \"4 s\", most = \"1 s\" }",
            "`least` is 4 s",
        ),
        (
            "kind = \"delay-centric\"\nheartbeats = { timeout = \"1 us\" }",
            "`heartbeats.timeout` is 1 us",
        ),
    ] {
        let text = GOOD.replace("kind = \"probe-and-switch\"", table);
        let (_, value) = table.split_once('\n').unwrap();
        let line = text.lines().position(|line| line == value).unwrap() + 1;
        let errors = NodeConfig::parse(&text, "a.toml").unwrap_err();
        let problems: Vec<String> = errors.problems().iter().map(ToString::to_string).collect();
        let is_there = |problem: &&String| {
            problem.contains(wanted) && problem.starts_with(&format!("a.toml:{line}:"))
        };
        assert_eq!(problems.iter().filter(is_there).count(), 1, "{problems:?}");
        assert!(
            !problems.iter().any(|problem| problem.contains("stand-in")),
            "{problems:?}"
        );
    }
}
