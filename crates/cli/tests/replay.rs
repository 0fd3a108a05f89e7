//! `polypath replay` of recordings: unchanged, altered, damaged, and files that are not recordings.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{polypath, printed};
use polypath_core::class::Classes;
use polypath_core::endpoint::{Endpoint, EndpointConfig, Input, Output, ProbingConfig};
use polypath_core::frame::{Body, Encapsulation, Frame, PathId};
use polypath_core::liveness::LivenessConfig;
use polypath_core::machine::{Wake, step};
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};
use polypath_live::recording::{End, Line, RecordedMachine, RecordingHeader, SOFTWARE, VERSION};
use polypath_session::record::{Entry, Shape};
use serde_json::Value;
use tempfile::TempDir;

/// The lines of a recording of an endpoint whose peer answers heartbeats on the second path alone.
fn recording() -> Vec<String> {
    let config = EndpointConfig {
        paths: 2,
        policy: PolicyConfig::single_path(0),
        encapsulation: Encapsulation::deployed(28),
        window: 64,
        first_sequence: 1,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: Some(LivenessConfig::default()),
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        spacing: None,
    };
    let header = RecordingHeader {
        recording: VERSION,
        software: SOFTWARE.to_owned(),
        started: 1,
        machine: RecordedMachine::Endpoint(Box::new(config.clone())),
    };
    let mut lines = vec![serde_json::to_string(&header).unwrap()];
    let mut endpoint: Endpoint<Shape> = Endpoint::new(&config).unwrap();
    let mut wake = |at, wake: Wake<Input<Shape>>| {
        let mut outputs = Vec::new();
        let next = step(&mut endpoint, at, wake.clone(), &mut |s| outputs.push(s));
        let next = next.map(|deadline| deadline.at);
        let entry = Entry {
            at,
            wake,
            outputs,
            deadline: next,
        };
        let number = lines.len() as u64 + 1;
        let line = Line { number, entry };
        lines.push(serde_json::to_string(&line).unwrap());
        line.entry
    };
    let mut at = Time::ZERO;
    while at < Time::ZERO + Duration::from_secs(20) {
        let entry = wake(at, Wake::Timeout);
        for outputs in &entry.outputs {
            if let Output::Transmit(frame) = outputs
                && let Body::Heartbeat(purpose) = frame.body
                && frame.path == PathId(1)
            {
                let reply: Frame<Shape> = frame.carrying(frame.path, Body::HeartbeatReply(purpose));
                wake(at, Wake::Input(Input::Frame(reply)));
            }
        }
        // This input changes nothing, and its result is the next deadline.
        at = wake(at, Wake::Input(Input::DriverBehind(at)))
            .deadline
            .unwrap();
    }
    let end = lines.len() as u64 + 1;
    lines.push(serde_json::to_string(&End { end }).unwrap());
    lines
}

struct File {
    _directory: TempDir,
    path: PathBuf,
}

fn file(text: &str) -> File {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recording");
    fs::write(&path, text).unwrap();
    File {
        _directory: directory,
        path,
    }
}

/// The result of a replay.
struct Replayed {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Replays the recording `text`.
fn replay(text: &str, more: &[&str]) -> Replayed {
    let file = file(text);
    let output = polypath().arg("replay").arg(&file.path).args(more).output();
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Replayed {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

#[test]
fn an_unchanged_recording_is_replayed_without_difference() {
    let lines = recording();
    let text = lines.join("\n") + "\n";
    let Replayed {
        code,
        stdout,
        stderr,
    } = replay(&text, &[]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let wakes = lines.len() - 2;
    assert!(
        stdout.starts_with(&format!("{wakes} wakes and ")),
        "{stdout}"
    );
    let file = file(&text);
    let mut command = polypath();
    command
        .arg("replay")
        .args(["--format", "json"])
        .arg(&file.path);
    let report: Value = serde_json::from_str(&printed(&command.output().unwrap())).unwrap();
    assert_eq!(report["wakes"].as_u64(), Some(wakes as u64));
    assert!(report["decisions"].as_u64().unwrap() > 100 && report["difference"].is_null());
    assert!(report["span_s"].as_f64().unwrap() > 18.0);
}

#[test]
fn an_altered_decision_is_named_with_its_line_and_time() {
    let mut lines = recording();
    let transmits = |line: &String| line.contains("{\"transmit\":{\"path\":1");
    let at = lines.iter().rposition(transmits).unwrap();
    lines[at] = lines[at].replacen("{\"transmit\":{\"path\":1", "{\"transmit\":{\"path\":0", 1);
    let text = lines.join("\n") + "\n";
    let Replayed {
        code,
        stdout,
        stderr,
    } = replay(&text, &["--format", "json"]);
    assert_eq!(code, 1, "{stderr}");
    let number = at as u64 + 1;
    assert!(stderr.contains(&format!("line {number}, at ")), "{stderr}");
    assert!(
        stderr.contains("recorded {\"transmit\":{\"path\":0"),
        "{stderr}"
    );
    assert!(
        stderr.contains("replayed {\"transmit\":{\"path\":1"),
        "{stderr}"
    );
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["difference"]["line"].as_u64(), Some(number));
    assert_eq!(report["difference"]["difference"]["decision"], "output");
}

#[test]
fn an_altered_deadline_is_named_with_its_line() {
    let mut lines = recording();
    let at = lines.len() / 2;
    let mut line: Line<Entry> = serde_json::from_str(&lines[at]).unwrap();
    line.entry.deadline = line
        .entry
        .deadline
        .map(|next| next + Duration::from_nanos(1));
    lines[at] = serde_json::to_string(&line).unwrap();
    let Replayed { code, stderr, .. } = replay(&lines.join("\n"), &[]);
    assert_eq!(code, 1);
    assert!(
        stderr.contains(&format!("line {}, at ", at + 1)),
        "{stderr}"
    );
    assert!(stderr.contains("the next deadline: recorded"), "{stderr}");
}

#[test]
fn a_truncated_recording_is_replayed_up_to_its_end() {
    let lines = recording();
    let text = lines.join("\n");
    let (end, all) = (lines.last().unwrap().len(), lines.len() - 2);
    // Truncated within the last line, before it, and within the line before it.
    for (cut, wakes) in [(2, all), (end + 1, all), (end + 5, all - 1)] {
        let Replayed {
            code,
            stdout,
            stderr,
        } = replay(&text[..text.len() - cut], &[]);
        assert_eq!(code, 0, "{stderr}");
        assert!(
            stderr.contains("the end of the recording is missing"),
            "{stderr}"
        );
        assert!(
            stderr.contains(&format!("after line {}\n", wakes + 1)),
            "{stderr}"
        );
        assert!(stdout.starts_with(&format!("{wakes} wakes")), "{stdout}");
    }
}

#[test]
fn a_missing_line_is_named() {
    let mut lines = recording();
    let at = lines.len() / 2;
    lines.remove(at);
    let Replayed { code, stderr, .. } = replay(&lines.join("\n"), &[]);
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains(&format!("line {}: it was line {}", at + 1, at + 2)),
        "{stderr}"
    );
}

#[test]
fn control_characters_of_a_recording_do_not_reach_the_terminal() {
    let odd = "\"software\":\"\\u001b]0;x\\u0007\\nodd ";
    let text = recording().join("\n").replacen("\"software\":\"", odd, 1);
    let Replayed {
        code,
        stdout,
        stderr,
    } = replay(&text, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("odd polypath"), "{stdout}");
    assert!(!stdout.trim_end().contains(char::is_control), "{stdout:?}");
}

#[test]
fn other_commands_refuse_a_recording_and_name_it_as_such() {
    let file = file(&recording().join("\n"));
    for command in ["node", "relay", "sim"] {
        let output = polypath().arg(command).arg(&file.path).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("is a recording, not a "), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn a_file_that_is_not_a_recording_is_refused_with_its_line() {
    let lines = recording();
    let broken = [&lines[..5], &["{}".to_owned()], &lines[5..]].concat();
    let Replayed {
        code,
        stdout,
        stderr,
    } = replay(&broken.join("\n"), &[]);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(
        stderr.contains("line 6: missing field `line`") && stderr.contains("head -n 5"),
        "{stderr}"
    );
    let Replayed { code, stderr, .. } = replay("{\"version\":1}\n", &[]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("is a JSON document, not a recording"),
        "{stderr}"
    );
    let no_paths = lines.join("\n").replacen("\"paths\":2", "\"paths\":0", 1);
    let Replayed { code, stderr, .. } = replay(&no_paths, &[]);
    assert!(
        code == 2 && stderr.contains("line 1: an endpoint has 1 to"),
        "{stderr}"
    );
    let missing = polypath().args(["replay", "/nonesuch"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
