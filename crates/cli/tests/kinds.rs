//! Files of another kind than a command reads.

mod common;

use std::fs;
use std::path::Path;

use common::{polypath, printed};

/// The commands that read a file, each with the kinds that it reads.
const COMMANDS: [(&[&str], &[&str]); 8] = [
    (&["sim"], &["transfers.toml", "media.toml", "network.toml"]),
    (&["lab"], &["transfers.toml", "media.toml"]),
    (&["node"], &["node.toml"]),
    (&["relay"], &["relay.toml"]),
    (&["replay"], &["a.recording"]),
    (&["status"], &["node.toml"]),
    (&["reproduce", "--ledger"], &["claims.toml"]),
    (&["key", "--public"], &["a.key"]),
];

/// The files, each with its kind and the command that reads it.
const FILES: [(&str, &str, &str); 10] = [
    (
        "transfers.toml",
        "a scenario of transfers",
        "run it with: polypath sim",
    ),
    (
        "media.toml",
        "a scenario of a media stream",
        "run it with: polypath sim",
    ),
    (
        "network.toml",
        "a network of flows",
        "run it with: polypath sim",
    ),
    ("node.toml", "a node file", "run it with: polypath node"),
    ("relay.toml", "a relay file", "run it with: polypath relay"),
    (
        "claims.toml",
        "a ledger of claims",
        "answer it with: polypath reproduce --ledger",
    ),
    (
        "a.recording",
        "a recording",
        "replay it with: polypath replay",
    ),
    (
        "a.key",
        "a key file",
        "print its public key with: polypath key --public",
    ),
    ("ab.psk", "a pre-shared key file", "preshared_key_file = \""),
    (
        "out.pcapng",
        "a packet capture",
        "read it with Wireshark or tshark",
    ),
];

/// Writes a file of each kind to `folder`.
fn write_files(folder: &Path) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for (name, source) in [
        ("transfers.toml", "scenarios/demo.toml"),
        ("media.toml", "scenarios/media-random.toml"),
        ("network.toml", "scenarios/race.toml"),
        ("node.toml", "docs/two-nodes/a.toml"),
        ("relay.toml", "docs/deploy/relay.toml"),
        ("claims.toml", "crates/claims/claims.toml"),
    ] {
        fs::copy(format!("{root}/{source}"), folder.join(name)).unwrap();
    }
    fs::write(
        folder.join("a.recording"),
        "{\"recording\":4,\"software\":\"x\"}\n",
    )
    .unwrap();
    fs::write(folder.join("out.pcapng"), b"\x0a\x0d\x0d\x0a\x1c\0\0\0").unwrap();
    for options in [&["key", "a.key"][..], &["key", "--preshared", "ab.psk"]] {
        let mut command = polypath();
        command.current_dir(folder).args(options);
        printed(&command.output().unwrap());
    }
}

#[test]
fn every_command_names_a_file_of_another_kind_as_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    write_files(directory.path());
    for (command, own) in COMMANDS {
        for (name, kind, remedy) in FILES {
            // `status` reads the name of a file without `.toml` as that of a TUN device.
            let is_toml = Path::new(name)
                .extension()
                .is_some_and(|ending| ending == "toml");
            if own.contains(&name) || (command == ["status"] && !is_toml) {
                continue;
            }
            let output = polypath()
                .current_dir(directory.path())
                .args(command)
                .arg(name)
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{command:?} {name}: {stderr}"
            );
            assert_eq!(stderr.lines().count(), 1, "{command:?} {name}: {stderr}");
            if command == ["status"] && name == "relay.toml" {
                assert!(
                    stderr.contains("a relay, which has no control socket"),
                    "{stderr}"
                );
                continue;
            }
            let named = format!("polypath: {name} is {kind}, not ");
            assert!(stderr.starts_with(&named), "{command:?}: {stderr}");
            assert!(stderr.contains(remedy), "{command:?}: {stderr}");
        }
    }
}

#[test]
fn a_scenario_is_read_from_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    write_files(directory.path());
    let mut command = polypath();
    command.current_dir(directory.path());
    command.args(["sim", "-", "--seconds", "2", "--out", "out"]);
    command.stdin(fs::File::open(directory.path().join("network.toml")).unwrap());
    let table = printed(&command.output().unwrap());
    assert!(table.starts_with("race: "), "{table}");
}
