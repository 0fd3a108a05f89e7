//! `polypath replay`: recordings that are decided again, altered, broken and foreign.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{polypath, printed};
use polypath_core::endpoint::{Endpoint, EndpointConfig, Input, Output, ProbingConfig};
use polypath_core::frame::{Body, Encapsulation, Frame, PathId};
use polypath_core::liveness::LivenessConfig;
use polypath_core::machine::{Wake, step};
use polypath_core::policy::PolicyConfig;
use polypath_core::time::{Duration, Time};
use polypath_live::recording::{End, Header, Line, SOFTWARE, VERSION};
use polypath_session::record::{Entry, Shape};
use serde_json::Value;
use tempfile::TempDir;

/// A recording of an endpoint whose heartbeats are answered on its second path alone.
fn recording() -> Vec<String> {
    let config = EndpointConfig {
        paths: 2,
        policy: PolicyConfig::SinglePath { path: 0 },
        encapsulation: Encapsulation::deployed(28),
        window: 64,
        first_sequence: 1,
        probing: ProbingConfig::default(),
        detector: None,
        liveness: Some(LivenessConfig::default()),
    };
    let header = Header {
        recording: VERSION,
        software: SOFTWARE.to_owned(),
        started: 1,
        endpoint: config,
    };
    let mut lines = vec![serde_json::to_string(&header).unwrap()];
    let mut endpoint: Endpoint<Shape> = Endpoint::new(&config).unwrap();
    let mut wake = |at, wake: Wake<Input<Shape>>| {
        let mut said = Vec::new();
        let next = step(&mut endpoint, at, wake.clone(), &mut |s| said.push(s));
        let next = next.map(|deadline| deadline.at);
        let entry = Entry {
            at,
            wake,
            outputs: said,
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
        for said in &entry.outputs {
            if let Output::Transmit(frame) = said
                && let Body::Heartbeat(purpose) = frame.body
                && frame.path == PathId(1)
            {
                let answer: Frame<Shape> =
                    frame.carrying(frame.path, Body::HeartbeatReply(purpose));
                wake(at, Wake::Input(Input::Frame(answer)));
            }
        }
        // It changes nothing, and tells when the endpoint wants to be woken.
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

/// The exit code, and what is said on standard output and standard error.
fn replay(text: &str, more: &[&str]) -> (i32, String, String) {
    let file = file(text);
    let output = polypath().arg("replay").arg(&file.path).args(more).output();
    let output = output.unwrap();
    let words = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let code = output.status.code().unwrap();
    (code, words(&output.stdout), words(&output.stderr))
}

#[test]
fn what_was_recorded_is_decided_again() {
    let lines = recording();
    let text = lines.join("\n") + "\n";
    let (code, said, errors) = replay(&text, &[]);
    assert_eq!((code, errors.as_str()), (0, ""), "{said}");
    let wakes = lines.len() - 2;
    assert!(said.starts_with(&format!("{wakes} wakes and ")), "{said}");
    let file = file(&text);
    let mut command = polypath();
    command
        .arg("replay")
        .args(["--format", "json"])
        .arg(&file.path);
    let said: Value = serde_json::from_str(&printed(&command.output().unwrap())).unwrap();
    assert_eq!(said["wakes"].as_u64(), Some(wakes as u64));
    assert!(said["decisions"].as_u64().unwrap() > 100 && said["difference"].is_null());
    assert!(said["span_s"].as_f64().unwrap() > 18.0);
}

#[test]
fn an_altered_decision_is_named_with_its_line_and_time() {
    let mut lines = recording();
    let transmits = |line: &String| line.contains("{\"transmit\":{\"path\":1");
    let at = lines.iter().rposition(transmits).unwrap();
    lines[at] = lines[at].replacen("{\"transmit\":{\"path\":1", "{\"transmit\":{\"path\":0", 1);
    let text = lines.join("\n") + "\n";
    let (code, said, errors) = replay(&text, &["--format", "json"]);
    assert_eq!(code, 1, "{errors}");
    let number = at as u64 + 1;
    assert!(errors.contains(&format!("line {number}, at ")), "{errors}");
    assert!(
        errors.contains("recorded {\"transmit\":{\"path\":0"),
        "{errors}"
    );
    assert!(
        errors.contains("replayed {\"transmit\":{\"path\":1"),
        "{errors}"
    );
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["difference"]["line"].as_u64(), Some(number));
    assert_eq!(said["difference"]["difference"]["decision"], "output");
}

#[test]
fn a_deadline_that_was_put_off_is_named_with_its_line() {
    let mut lines = recording();
    let at = lines.len() / 2;
    let mut line: Line = serde_json::from_str(&lines[at]).unwrap();
    line.entry.deadline = line
        .entry
        .deadline
        .map(|next| next + Duration::from_nanos(1));
    lines[at] = serde_json::to_string(&line).unwrap();
    let (code, _, errors) = replay(&lines.join("\n"), &[]);
    assert_eq!(code, 1);
    assert!(
        errors.contains(&format!("line {}, at ", at + 1)),
        "{errors}"
    );
    assert!(errors.contains("the next deadline: recorded"), "{errors}");
}

#[test]
fn a_recording_that_was_cut_off_counts_up_to_there() {
    let lines = recording();
    let text = lines.join("\n");
    let (end, all) = (lines.last().unwrap().len(), lines.len() - 2);
    // Within the end, without it, and within the line before.
    for (cut, wakes) in [(2, all), (end + 1, all), (end + 5, all - 1)] {
        let (code, said, errors) = replay(&text[..text.len() - cut], &[]);
        assert_eq!(code, 0, "{errors}");
        assert!(
            errors.contains("the end of the recording is missing"),
            "{errors}"
        );
        assert!(
            errors.contains(&format!("behind line {} ", wakes + 1)),
            "{errors}"
        );
        assert!(said.starts_with(&format!("{wakes} wakes")), "{said}");
    }
}

#[test]
fn a_line_that_is_missing_is_named() {
    let mut lines = recording();
    let at = lines.len() / 2;
    lines.remove(at);
    let (code, _, errors) = replay(&lines.join("\n"), &[]);
    assert_eq!(code, 2, "{errors}");
    assert!(
        errors.contains(&format!("line {}: it was line {}", at + 1, at + 2)),
        "{errors}"
    );
}

#[test]
fn the_name_of_what_recorded_does_not_steer_the_terminal() {
    let odd = "\"software\":\"\\u001b]0;x\\u0007\\nodd ";
    let text = recording().join("\n").replacen("\"software\":\"", odd, 1);
    let (code, said, errors) = replay(&text, &[]);
    assert_eq!(code, 0, "{errors}");
    assert!(said.contains("odd polypath"), "{said}");
    assert!(!said.trim_end().contains(char::is_control), "{said:?}");
}

#[test]
fn a_recording_is_no_file_of_a_node_and_that_is_said() {
    let file = file(&recording().join("\n"));
    for command in ["node", "relay", "sim"] {
        let output = polypath().arg(command).arg(&file.path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("this is a recording of a node"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    let lines = recording();
    let broken = [&lines[..5], &["{}".to_owned()], &lines[5..]].concat();
    let (code, said, errors) = replay(&broken.join("\n"), &[]);
    assert_eq!((code, said.as_str()), (2, ""), "{errors}");
    assert!(
        errors.contains("line 6: missing field `line`") && errors.contains("head -n 5"),
        "{errors}"
    );
    let (code, _, errors) = replay("{\"version\":1}\n", &[]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("line 1: this is no recording") && errors.contains("--record"),
        "{errors}"
    );
    let no_paths = lines.join("\n").replacen("\"paths\":2", "\"paths\":0", 1);
    let (code, _, errors) = replay(&no_paths, &[]);
    assert!(
        code == 2 && errors.contains("line 1: an endpoint has 1 to"),
        "{errors}"
    );
    let missing = polypath().args(["replay", "/nonesuch"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
