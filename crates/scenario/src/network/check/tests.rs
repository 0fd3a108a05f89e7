use super::*;
use polypath_document::Override;

const NETWORK: &str = r#"schema = 1
name = "small"
run = { duration = "10 s", warm_up = "1 s" }
[tcp]
min_rto = "200 ms"
[topology]
preset = "dumbbell"
pairs = 2
access = { rate = "10 Mbit/s", delay = "1 ms", queue = "50 packets" }
[topology.bottleneck]
rate = "1 Mbit/s"
delay = "1 ms"
queue = "50 packets"
[[flow]]
name = "one"
count = 2
from = "left{}"
to = "right{}"
start = "2 s"
traffic = { kind = "ftp" }
[[flow]]
name = "two"
from = "left0"
to = "right1"
traffic = { kind = "ftp" }
"#;

fn problems_with(text: &str, overrides: &[Override]) -> Vec<String> {
    let mut files = |_: &str| Ok("0 200\nbad\n".into());
    let read = Network::parse_with(text, "nets/net.toml", overrides, &mut files);
    let errors = read.expect_err("it is wrong");
    errors.problems().iter().map(ToString::to_string).collect()
}

fn problems(from: &str, to: &str) -> Vec<String> {
    assert!(NETWORK.contains(from), "{from}");
    problems_with(&NETWORK.replace(from, to), &[])
}

#[test]
fn one_mistake_is_reported_once_at_its_key() {
    let none = problems("\"10 s\", warm_up = \"1 s\"", "\"0 s\"");
    assert_eq!(
        none,
        ["nets/net.toml:3:20: `duration` is zero; it must be longer"]
    );
    let tcp = problems("min_rto = \"200 ms\"", "min_rto = \"0 s\"");
    assert_eq!(
        tcp,
        ["nets/net.toml:5:11: `min_rto` is zero; it must be longer"]
    );
    let own = "name = \"two\"\ntcp = { tick = \"0 s\", ecn = true }";
    let own = problems("name = \"two\"", own);
    assert_eq!(
        own,
        ["nets/net.toml:23:16: `tick` is zero; it must be longer"]
    );
}

#[test]
fn an_invalid_argument_is_reported_at_its_key() {
    for (seconds, wanted) in [
        ("1 s", "nothing is left of 1 s to measure"),
        ("2 s", "the run is over at 2 s, before flow `one` starts"),
    ] {
        let set = format!("run.duration={seconds}").parse().unwrap();
        let found = problems_with(NETWORK, &[set]);
        let wanted = format!("--set run.duration={seconds}: {wanted}");
        assert!(
            found.iter().any(|p| p.starts_with(&wanted)),
            "{found:?}\nwithout {wanted}"
        );
    }
}

#[test]
fn a_run_may_end_before_what_the_file_sets_for_later() {
    let text = NETWORK.replace(
        "name = \"two\"",
        "name = \"two\"\nreceiver_window = [{ at = \"3 s\", window = 4 }]",
    );
    let whole = Network::parse(&text, "net.toml", &[]).unwrap();
    let mut cut = whole.clone();
    cut.end_at(Duration::from_millis(1500), "--seconds N")
        .unwrap();
    assert_eq!(cut.run.duration, Duration::from_millis(1500));
    assert_eq!(cut.flows, whole.flows);
    for (end, wanted) in [
        (
            Duration::from_secs(1),
            "--seconds N: nothing is left of 1 s to measure; make `warm_up` shorter than `duration`: \
             --set 'run.warm_up=0 s'",
        ),
        (
            Duration::from_nanos(1_000_019_999),
            "--seconds N: 19.999 us are too short for 20 spans of 1 us or more; make `duration` longer",
        ),
        (
            Duration::from_secs(90_000),
            "--seconds N: `duration` is 90000 s, but must be at most 86400 s",
        ),
    ] {
        let mut network = whole.clone();
        let errors = network.end_at(end, "--seconds N").unwrap_err();
        assert_eq!(errors.to_string(), wanted);
        assert_eq!(network, whole, "a refused end changes nothing");
    }
}

#[test]
fn a_host_beyond_a_preset_hints_at_its_measure() {
    let found = problems("count = 2", "count = 3");
    let wanted =
        "there is no node `left2`: `pairs` is 2; raise `pairs`, or lower the flow's `count`";
    assert!(found.iter().any(|p| p.contains(wanted)), "{found:?}");
    let found = problems("\"left0\"", "\"left0x\"");
    assert!(
        found[0].contains("unknown node `left0x`; did you mean `left0`?"),
        "{found:?}"
    );
}

#[test]
fn thresholds_that_cannot_be_reached_are_refused() {
    let queue = |queue: &str| {
        problems(
            "\"50 packets\"\n[[flow]]\nname = \"one\"",
            &format!("{{ kind = \"red\", {queue} }}\n[[flow]]\nname = \"one\""),
        )
    };
    for (keys, wanted) in [
        (
            "limit = \"50 packets\", min_th = 9, max_th = 9",
            "9 is not above `min_th`, 9;",
        ),
        (
            "limit = \"50 packets\", max_th = 4",
            "4 is not above `min_th`, 5 by default;",
        ),
        (
            "limit = \"8 packets\", min_th = 9",
            "the queue, 8 packets, is full before `min_th`, 9, is",
        ),
        (
            "limit = \"4 packets\"",
            "the queue, 4 packets, is full before `min_th`, 5 by default,",
        ),
        (
            "limit = \"4 kB\", min_th = 8.5",
            "the queue, 4 kB, is full before `min_th`, 8.5, is",
        ),
    ] {
        let found = queue(keys);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(wanted), "{found:?}\nwithout {wanted}");
    }
    let fast = NETWORK.replace("\"1 Mbit/s\"", "\"40 Mbit/s\"");
    let fast = fast.replace(
        "\"50 packets\"\n[[",
        "{ kind = \"red\", limit = \"20 packets\" }\n[[",
    );
    let found = problems_with(&fast, &[]);
    assert!(
        found[0].contains("is full before `min_th`, 25 by default"),
        "{found:?}"
    );
}

#[test]
fn outages_of_a_link_do_not_overlap() {
    let outages = |list: &str| {
        let keys = format!("outage = [{list}]\n[[flow]]\nname = \"one\"");
        NETWORK.replacen("[[flow]]\nname = \"one\"", &keys, 1)
    };
    let apart = "{ from = \"3 s\", until = \"4 s\" }, { from = \"1 s\", until = \"3 s\" }";
    assert!(Network::parse(&outages(apart), "net.toml", &[]).is_ok());
    for second in ["{ from = \"3 s\", until = \"4 s\" }", "{ from = \"1 s\" }"] {
        let text = outages(&format!("{{ from = \"2 s\", until = \"5 s\" }}, {second}"));
        let found = problems_with(&text, &[]);
        assert!(
            found[0].contains(":14:44: this outage overlaps the one from 2 s"),
            "{found:?}"
        );
    }
}

#[test]
fn a_mistake_in_a_named_file_has_its_path_and_the_line_that_names_it() {
    let found = problems(
        "\"right1\"\ntraffic = { kind = \"ftp\" }",
        "\"right1\"\ntraffic = { kind = \"trace\", file = \"voice.txt\" }",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let (wanted, at) = (
        "nets/voice.txt:2:1: `bad` is not a datagram",
        "(the file is named at nets/net.toml:25:36)",
    );
    assert!(
        found[0].starts_with(wanted) && found[0].ends_with(at),
        "{found:?}"
    );
}

/// Two links that meet at `router`, and a flow over both.
const CHAIN: &str = r#"schema = 1
name = "chain"
run = { duration = "10 s" }
[[link]]
from = "sender"
to = "router"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "50 packets"
[[link]]
from = "router"
to = "receiver"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "50 packets"
[[flow]]
name = "one"
from = "sender"
to = "receiver"
traffic = { kind = "ftp" }
"#;

#[test]
fn a_misspelt_node_is_reported_with_the_nearest_name() {
    assert!(Network::parse_with(CHAIN, "net.toml", &[], &mut |_| Ok(Vec::new())).is_ok());
    let unreachable = "net.toml:19:6: no links lead from `sender` to `receiver`";
    for (line, old, new, wanted) in [
        (
            18,
            "sender",
            "sendr",
            "net.toml:18:8: unknown node `sendr`; did you mean `sender`?",
        ),
        (
            19,
            "receiver",
            "reciever",
            "net.toml:19:6: unknown node `reciever`; did you mean `receiver`?",
        ),
        (
            5,
            "sender",
            "sendre",
            "net.toml:18:8: unknown node `sender`; did you mean `sendre`?",
        ),
        (
            6,
            "router",
            "roter",
            "no other link has `roter` of net.toml:6:6: did you mean `router`, as at net.toml:11:8?",
        ),
        (
            11,
            "router",
            "ruoter",
            "no other link has `router` of net.toml:6:6: did you mean `ruoter`, as at net.toml:11:8?",
        ),
        (
            12,
            "receiver",
            "recv",
            "net.toml:19:6: unknown node `receiver`; one of `sender`, `router`, `recv`",
        ),
        (6, "router", "gateway", "add a `[[link]]`"),
    ] {
        let lines = (1..).zip(CHAIN.lines());
        let lines = lines.map(|(number, text)| {
            if number == line {
                text.replace(old, new)
            } else {
                text.to_owned()
            }
        });
        let text: Vec<String> = lines.collect();
        let read = Network::parse_with(&text.join("\n"), "net.toml", &[], &mut |_| Ok(Vec::new()));
        let found = read.expect_err("a node is misspelt").to_string();
        let wanted = if wanted.starts_with("net.toml") {
            wanted.to_owned()
        } else {
            format!("{unreachable}; {wanted}")
        };
        assert!(found.starts_with(&wanted), "{found}");
    }
}
