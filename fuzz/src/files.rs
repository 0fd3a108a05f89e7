//! Files: of nodes and relays, recordings, scenarios and networks, and traces that those name.

use polypath_live::config::NodeConfig;
use polypath_live::config::relay::RelayFile;
use polypath_live::recording::Reader;
use polypath_scenario::Experiment;
use polypath_document::Errors;
use polypath_session::record::Replay;

/// A network whose only flow plays a trace, and a path whose rate is one; `@` stands for the form.
const PLAYED: &str = r#"
schema = 1
name = "played"
run = { duration = "10 s" }
[[link]]
name = "line"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"
queue = "10 packets"
[[flow]]
name = "voice"
from = "a"
to = "b"
traffic = { kind = "trace", file = "trace", format = "@", repeat = "100 s" }
"#;

const RATE: &str = r#"
schema = 1
name = "rate"
schemes = ["tcp"]
transfer = { size = "1 kB", count = 1 }
[[path]]
name = "lte"
[[path.link]]
trace = "trace"
delay = "1 ms"
queue = "5 packets"
"#;

/// A file of a node is read, or all that is wrong with it is said.
pub fn check_node(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(NodeConfig::parse(text, "node.toml"));
    }
}

/// A file of a relay is read, or all that is wrong with it is said.
pub fn check_relay(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(RelayFile::parse(text, "relay.toml"));
    }
}

/// A recording is gone through up to where it is no more, or an endpoint decides otherwise; twice with the same end.
pub fn check_recording(bytes: &[u8]) {
    let (first, again) = (replay(bytes), replay(bytes));
    assert_eq!(first, again);
}

/// How many lines of a recording are as an endpoint of this version decides.
fn replay(bytes: &[u8]) -> Option<usize> {
    let (header, lines) = Reader::new(bytes).ok()?;
    let mut replay = Replay::new(&header.endpoint).ok()?;
    let entries = lines.map_while(Result::ok);
    Some(
        entries
            .take_while(|line| replay.check(&line.entry).is_ok())
            .count(),
    )
}

/// A scenario or a network is read, or all that is wrong with it is said.
pub fn check_scenario(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(Experiment::parse(text, "scenario.toml", &[]));
    }
}

/// A trace is read in one of its three forms, or what is wrong with it is said; the first byte chooses the form.
pub fn check_trace(bytes: &[u8]) {
    let Some((form, trace)) = bytes.split_first() else {
        return;
    };
    let scenario = match form % 3 {
        0 => RATE.to_owned(),
        1 => PLAYED.replace('@', "text"),
        _ => PLAYED.replace('@', "ns2"),
    };
    let mut files = |_: &str| Ok(trace.to_vec());
    check(Experiment::parse_with(
        &scenario,
        "scenario.toml",
        &[],
        &mut files,
    ));
}

/// Whoever is told that a file is wrong is told what.
fn check<T>(read: Result<T, Errors>) {
    if let Err(errors) = read {
        let said = errors.to_string();
        assert!(
            said.lines()
                .next()
                .is_some_and(|first| first.contains(".toml")),
            "{said}"
        );
    }
}
