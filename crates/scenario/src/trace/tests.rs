use super::*;
use crate::{Network, Scenario};
use polypath_document::Errors;

const SCENARIO: &str = r#"schema = 1
name = "traced"
schemes = ["tcp"]
transfer = { size = "10 kB", count = 1 }
[[path]]
name = "p"
[[path.link]]
trace = "lte.down"
trace_back = "lte.up"
delay = "20 ms"
queue = { kind = "codel", limit = "unlimited" }
[[path.link]]
trace = "lte.down"
delay = "20 ms"
queue = "50 packets"
"#;

/// Files by name, and how often each was read.
fn parse(text: &str, files: &[(&str, &str)]) -> (Result<Scenario, Errors>, Vec<String>) {
    let mut read = Vec::new();
    let mut find = |name: &str| {
        read.push(name.to_owned());
        let found = files.iter().find(|(file, _)| *file == name);
        found
            .map(|(_, text)| text.as_bytes().to_vec())
            .ok_or("no such file".to_owned())
    };
    let scenario = Scenario::parse_with(text, "s.toml", &[], &mut find);
    (scenario, read)
}

fn problems(text: &str, files: &[(&str, &str)]) -> Vec<String> {
    let errors = parse(text, files).0.unwrap_err();
    errors.problems().iter().map(ToString::to_string).collect()
}

fn ms(times: &[u64]) -> Arc<[Duration]> {
    times.iter().map(|ms| Duration::from_millis(*ms)).collect()
}

#[test]
fn each_direction_has_its_trace_and_each_file_is_read_once() {
    let (scenario, read) = parse(SCENARIO, &[("lte.down", "0\n5\n5\n"), ("lte.up", "7")]);
    let scenario = scenario.unwrap();
    let link = &scenario.paths[0].links[0];
    let times = |link: &Link| link.trace.as_ref().unwrap().entries.clone();
    assert_eq!(times(link), ms(&[0, 5, 5]));
    assert_eq!(times(&link.reversed()), ms(&[7]));
    let both = &scenario.paths[0].links[1];
    assert_eq!(times(&both.reversed()), ms(&[0, 5, 5]));
    assert_eq!(read, ["lte.down", "lte.up"]);
    let text = toml::to_string(&scenario).unwrap();
    let again = parse(&text, &[("lte.down", "0\n5\n5"), ("lte.up", "7")]).0;
    assert_eq!(again.unwrap(), scenario);
}

#[test]
fn an_invalid_trace_is_reported_with_its_line() {
    let with = |down: &'static str| problems(SCENARIO, &[("lte.down", down), ("lte.up", "7")]);
    assert_eq!(
        with("1\n2\nx\n"),
        [
            "lte.down:3:1: `x` is not a time in milliseconds; each line is a whole number (the file is named at s.toml:8:9)"
        ]
    );
    assert_eq!(
        with("1\n3\n2\n"),
        [
            "lte.down:3:1: 2 ms is earlier than the line before; sort the lines (the file is named at s.toml:8:9)"
        ]
    );
    let no_time = "the trace lasts no time; its last line must be more than 0 (the file is named at s.toml:8:9)";
    assert_eq!(with(""), [format!("lte.down:1:1: {no_time}")]);
    assert_eq!(with("0\n0"), [format!("lte.down:2:1: {no_time}")]);
    assert_eq!(
        problems(SCENARIO, &[("lte.down", "1")]),
        ["s.toml:9:14: cannot read `lte.up`: no such file; name a file relative to this one"]
    );
}

#[test]
fn without_files_a_trace_is_refused() {
    let errors = Scenario::parse(SCENARIO, "s.toml", &[]).unwrap_err();
    let first = errors.problems()[0].to_string();
    assert!(
        first.starts_with("s.toml:8:9: cannot read `lte.down`: files cannot be read here"),
        "{first}"
    );
}

#[test]
fn a_link_has_a_rate_or_a_trace() {
    let files = [("lte.down", "1"), ("lte.up", "1")];
    let both = SCENARIO.replacen("trace = ", "rate = \"1 Mbit/s\"\ntrace = ", 1);
    assert_eq!(
        problems(&both, &files),
        ["s.toml:8:8: `rate` and `trace` exclude each other; remove one"]
    );
    let back = SCENARIO.replacen("trace = ", "rate = \"1 Mbit/s\" #", 1);
    assert_eq!(
        problems(&back, &files),
        ["s.toml:9:14: `trace_back` is the return direction of a `trace`; call it `trace`"]
    );
    let none = SCENARIO.replacen("trace = \"lte.down\"\ntrace_back = \"lte.up\"\n", "", 1);
    assert_eq!(
        problems(&none, &files),
        ["s.toml:7:1: the link has no rate; give it a `rate` or a `trace`"]
    );
}

#[test]
fn networks_have_traces_too() {
    let text = r#"schema = 1
name = "n"
run = { duration = "1 s" }
[topology]
preset = "dumbbell"
pairs = 1
access = { rate = "1 Mbit/s", delay = "1 ms", queue = "5 packets" }
bottleneck = { trace = "a", delay = "1 ms", queue = "5 packets" }
[[link]]
from = "left0"
to = "x"
trace = "a"
trace_back = "b"
delay = "1 ms"
queue = { kind = "red", limit = "20 packets" }
[[flow]]
name = "f"
from = "left0"
to = "right0"
traffic = { kind = "ftp" }
"#;
    let mut files = |name: &str| Ok(if name == "a" { b"3" } else { b"4" }.to_vec());
    let network = Network::parse_with(text, "n.toml", &[], &mut files).unwrap();
    let graph = network.graph();
    let times = |name: &str| {
        let link = &graph.links[graph.find_link(name).unwrap()].link;
        link.trace.as_ref().map(|trace| trace.entries.clone())
    };
    assert_eq!(times("bottleneck"), Some(ms(&[3])));
    assert_eq!(times("left0-x"), Some(ms(&[3])));
    assert_eq!(times("left0-x/back"), Some(ms(&[4])));
    assert_eq!(times("access-left0"), None);
}
