//! Files: of nodes and relays, recordings, scenarios and networks, and the traces that they name.

use polypath_document::Errors;
use polypath_live::config::NodeConfig;
use polypath_live::config::relay::RelayFile;
use polypath_live::recording::{Reader, ReplayResult, replay};
use polypath_scenario::Experiment;

/// A network whose only flow replays a trace, and a path whose rate is one; `@` stands for the
/// format.
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

/// A node file is parsed, or its errors are reported.
pub fn check_node(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(NodeConfig::parse(text, "node.toml"));
    }
}

/// A relay file is parsed, or its errors are reported.
pub fn check_relay(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(RelayFile::parse(text, "relay.toml"));
    }
}

/// A recording is replayed up to its end or the first difference, twice with the same result.
pub fn check_recording(bytes: &[u8]) {
    let (first, second) = (replay_of(bytes), replay_of(bytes));
    assert_eq!(first, second);
}

/// The result of the replay by a machine of this version, or its error.
fn replay_of(bytes: &[u8]) -> Result<ReplayResult, String> {
    let (header, mut reader) = Reader::new(bytes).map_err(|error| error.to_string())?;
    replay(&header, &mut reader).map_err(|error| error.to_string())
}

/// A scenario or a network is parsed, or its errors are reported.
pub fn check_scenario(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(Experiment::parse(text, "scenario.toml", &[]));
    }
}

/// A trace is parsed in one of three formats, or its errors are reported; the first byte selects
/// the format.
pub fn check_trace(bytes: &[u8]) {
    let Some((format, trace)) = bytes.split_first() else {
        return;
    };
    let scenario = match format % 3 {
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

/// Each error names its file.
fn check<T>(read: Result<T, Errors>) {
    if let Err(errors) = read {
        let report = errors.to_string();
        assert!(
            report
                .lines()
                .next()
                .is_some_and(|first| first.contains(".toml")),
            "{report}"
        );
    }
}
