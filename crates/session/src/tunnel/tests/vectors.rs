//! The test vectors of docs/protocol.md, in `vectors/protocol.json`.
//!
//! `make protocol RENEW=--renew` writes the file; the commit states why it changed.

use std::path::PathBuf;
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
