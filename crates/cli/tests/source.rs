//! The command line of `polypath source`.

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Output, Stdio};

use common::{polypath, printed};
use polypath_lab::can_test;
use serde_json::Value;

const BED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/delay-centric.toml"
);

fn source(arguments: &[&str]) -> Output {
    polypath().arg("source").args(arguments).output().unwrap()
}

/// The message of a command line that was refused with exit code 2.
fn refused(arguments: &[&str]) -> String {
    let output = source(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    message
}

/// A responder with two sockets on this machine, killed on drop.
struct RunningResponder {
    child: Child,
    addresses: Vec<String>,
}

impl RunningResponder {
    fn start() -> Self {
        let mut child = polypath()
            .args(["source", "respond", "127.0.0.1:0", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let words = line.split([' ', ',', ';']);
        let addresses = words.filter(|word| word.starts_with("127.0.0.1:"));
        let addresses: Vec<String> = addresses.map(str::to_owned).collect();
        assert_eq!(addresses.len(), 2, "{line}");
        Self { child, addresses }
    }

    /// Sends to it over both paths; returns the report and the messages.
    fn send(&self, options: &[&str]) -> (Value, String) {
        let over = |n: usize| format!("127.0.0.1={}", self.addresses[n]);
        let (first, second) = (over(0), over(1));
        let send = [
            "send", BED, "--over", &first, "--over", &second, "--format", "json",
        ];
        let output = source(&[&send, options].concat());
        let report = serde_json::from_str(&printed(&output)).unwrap();
        (report, String::from_utf8(output.stderr).unwrap())
    }

    /// Stops it and returns its counters.
    fn finish(mut self) -> Value {
        let pid = i32::try_from(self.child.id()).unwrap();
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid),
            nix::sys::signal::Signal::SIGTERM,
        )
        .unwrap();
        let stdout = self.child.stdout.take().unwrap();
        let report = serde_json::from_reader(stdout).unwrap();
        assert!(self.child.wait().unwrap().success());
        report
    }
}

impl Drop for RunningResponder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn datagrams_of_a_file_are_sent_and_answered() {
    let responder = RunningResponder::start();
    let (report, messages) = responder.send(&["--seconds", "3", "--seed", "5"]);
    let counters = responder.finish();
    // Six sources of 150 datagrams per second for 2 s after the warm-up.
    let sent = report["sent_datagrams"].as_u64().unwrap();
    assert!((1770..=1800).contains(&sent), "{report:#}");
    assert!(report["lost_share"].as_f64().unwrap() < 0.02, "{report:#}");
    assert_eq!(
        (&report["senders"], &report["seed"]),
        (&6.into(), &"5".into())
    );
    assert!(report["round_trip_ms"]["p50"].as_f64().unwrap() < 50.0);
    assert_eq!(messages, "", "no deadline is stuck at the end");
    let shares = report["paths"].as_array().unwrap().iter();
    let shares: f64 = shares.map(|path| path["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    // With those of the warm-up.
    assert!(counters["datagrams"].as_u64().unwrap() > sent);
    assert_eq!(counters["rejected"], 0);
}

/// A source that begins on the first path, and stays there.
#[test]
fn a_path_without_datagrams_has_lost_none() {
    let responder = RunningResponder::start();
    let (report, messages) = responder.send(&[
        "--senders",
        "1",
        "--seconds",
        "2",
        "--set",
        "flow.media.traffic.first=listed",
        "--set",
        "flow.media.traffic.policy.hysteresis=10 s",
    ]);
    let [first, second] = [0, 1].map(|path| &report["paths"][path]);
    assert_eq!(
        (&second["sent_datagrams"], &second["lost_share"]),
        (&0.into(), &Value::Null),
        "{report:#}"
    );
    assert!(first["lost_share"].as_f64().unwrap() < 0.02, "{report:#}");
    assert_eq!(messages, "");
}

#[test]
fn nobody_answers_is_an_error() {
    let silent = [0, 1].map(|_| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let over = |n: usize| format!("127.0.0.1={}", silent[n].local_addr().unwrap());
    let (first, second) = (over(0), over(1));
    let output = source(&[
        "send",
        BED,
        "--over",
        &first,
        "--over",
        &second,
        "--seconds",
        "2",
    ]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("no datagram was acknowledged"),
        "{message}"
    );
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("100.000 % lost"), "{table}");
}

#[test]
fn bad_command_lines_are_refused_with_a_remedy() {
    let one = ["send", BED, "--over", "127.0.0.1=127.0.0.1:9"];
    assert!(refused(&one).contains("2 `ways`"));
    let words = ["send", BED, "--over", "wifi=127.0.0.1:9"];
    assert!(refused(&words).contains("LOCAL=REMOTE:PORT"));
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/demo.toml");
    let over = ["--over", "127.0.0.1=127.0.0.1:9"];
    let message = refused(&[&["send", demo][..], &over].concat());
    assert!(message.contains("demo.toml"), "{message}");
    assert!(refused(&["respond", "127.0.0.1:0", "--ack", "20"]).contains("20 B"));
    assert!(refused(&["respond"]).contains("ADDRESS:PORT"));
    let small = ["lab", BED, "--set", "flow.media.traffic.ack=20 B"];
    let message = refused(&small);
    assert!(
        message.contains("`traffic.ack`") && message.contains("52 B"),
        "{message}"
    );
    let many = ["lab", BED, "--senders", "1000"];
    assert!(refused(&many).contains("--senders"));
    let twice = refused(&[&["send", BED][..], &over, &over].concat());
    assert!(
        twice.contains("--over 127.0.0.1=127.0.0.1:9 is given twice"),
        "{twice}"
    );
    let other = ["--over", "127.0.0.1=127.0.0.1:10"];
    let many = [&["send", BED, "--senders", "1000"][..], &over, &other].concat();
    assert!(refused(&many).contains("at most 20000"));
    let same = refused(&["respond", "127.0.0.1:9", "127.0.0.1:9"]);
    assert!(same.contains("127.0.0.1:9 is given twice"), "{same}");
    let nodes = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/thousand-nodes.toml"
    );
    let few = ["lab", nodes, "--senders", "2"];
    assert!(refused(&few).contains("tunnel between nodes"));
}

#[test]
fn the_lab_has_a_row_beside_each_simulated_one() {
    if !can_test() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("report");
    let run = [
        "lab",
        BED,
        "--utilisation",
        "0.4",
        "--seconds",
        "4",
        "--replicas",
        "2",
        "--format",
        "json",
        "--out",
        out.to_str().unwrap(),
    ];
    let output = source(&run);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let settings = report["settings"].as_array().unwrap();
    let names: Vec<&str> = settings
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["file", "file, lab"]);
    assert_eq!(settings[1]["mode"], "lab");
    assert_eq!(report["recommended"], Value::Null);
    let rate = |n: usize| {
        settings[n]["heartbeat_rate_per_sender_s"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!((rate(0) - rate(1)).abs() < 0.3, "{report:#}");
    // A stalled machine is the only reason for a failure.
    let is_valid = report["lab"]["is_valid"].as_bool().unwrap();
    assert_eq!(
        output.status.code(),
        Some(i32::from(!is_valid)),
        "{report:#}"
    );
    assert!(Path::new(&out).join("report.html").exists());
}
