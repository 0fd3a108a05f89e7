//! The test vectors of docs/protocol.md, in `vectors/protocol.json`.
//!
//! `make protocol RENEW=--renew` writes the file; the commit states why it changed.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::{env, fs};

use format::Vectors;

mod consume;
mod format;
mod generate;
mod parties;

/// The variable of the environment that, if it is set, has the file written instead of compared.
const RENEW: &str = "RENEW_PROTOCOL_VECTORS";

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/protocol.json")
}

#[test]
fn the_file_of_vectors_is_the_output_of_the_code() {
    let vectors = generate::vectors();
    let text = serde_json::to_string_pretty(&vectors).unwrap() + "\n";
    if env::var_os(RENEW).is_some() {
        return fs::write(file(), text).unwrap();
    }
    let kept = fs::read_to_string(file()).unwrap();
    let differs = text.lines().zip(kept.lines()).position(|(a, b)| a != b);
    assert!(
        text == kept,
        "vectors/protocol.json differs from line {} on; `make protocol RENEW=--renew` writes it",
        differs.unwrap_or_default() + 1
    );
}

#[test]
fn sessions_and_a_relay_receive_the_vectors_as_stated() {
    let kept = fs::read_to_string(file()).unwrap();
    let vectors: Vectors = serde_json::from_str(&kept).unwrap();
    consume::check(&vectors);
}

/// Runs the second implementation with the vectors in `file`, or `content` for `/dev/stdin`.
fn run_second_implementation(file: &str, content: &[u8]) -> Output {
    let mut command = Command::new("python3");
    command.arg(self::file().with_file_name("check.py"));
    command.arg(file).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A file that does not exist is refused before anything is read.
    let _ = child.stdin.take().unwrap().write_all(content);
    child.wait_with_output().unwrap()
}

#[test]
fn the_second_implementation_states_what_is_wrong_with_a_file() {
    let has_package = Command::new("python3")
        .args(["-c", "import cryptography"])
        .output();
    if !has_package.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: needs python3 with the package cryptography");
        return;
    }
    let kept = fs::read_to_string(file()).unwrap();
    let edited = |old: &str, new: &str| {
        assert!(kept.contains(old), "{old}");
        kept.replacen(old, new, 1).into_bytes()
    };
    for (content, code, message) in [
        (kept.clone().into_bytes(), 0, ""),
        (edited("\"private\": \"", "\"private\": \"00"), 2, "length"),
        (
            edited("\"sessions\"", "\"session\""),
            2,
            "'sessions' is missing",
        ),
        (
            edited("\"public\": \"", "\"public\": \"00"),
            1,
            "public key of",
        ),
        (b"{\n\"keys\": }\n".to_vec(), 2, "stdin:2:9: not JSON"),
        (b"[]".to_vec(), 2, "another type"),
        (b"{\"keys\": \"xx\"}".to_vec(), 2, "not hexadecimal"),
        (b"\xff".to_vec(), 2, "not UTF-8"),
    ] {
        let output = run_second_implementation("/dev/stdin", &content);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{message}: {stderr}");
        assert!(stderr.contains(message), "{message}: {stderr}");
        assert!(stderr.lines().count() <= 1, "{stderr}");
    }
    let output = run_second_implementation("none.json", &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("none.json: No such file"), "{stderr}");
}
