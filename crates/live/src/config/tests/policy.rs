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
