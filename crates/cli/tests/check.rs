//! The command line of `polypath check`.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use common::{polypath, printed};
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs `polypath check` in `folder`.
fn check(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = polypath();
    command.current_dir(folder).arg("check").args(arguments);
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_scenario_and_ledger_of_the_repository_is_valid() {
    let root = Path::new(ROOT);
    let scenarios = fs::read_dir(root.join("scenarios")).unwrap();
    let scenarios = scenarios.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = scenarios.map(|name| format!("scenarios/{name}")).collect();
    files.push("crates/claims/claims.toml".to_owned());
    files.push("crates/claims/own.toml".to_owned());
    let arguments: Vec<&str> = files.iter().map(String::as_str).collect();
    let lines = printed(&check(root, &arguments));
    let demo = "scenarios/demo.toml: a scenario of transfers: valid; \
                run it with: polypath sim scenarios/demo.toml, or polypath lab scenarios/demo.toml\n";
    assert!(lines.contains(demo), "{lines}");
    assert_eq!(lines.matches(": valid; ").count(), files.len(), "{lines}");
}

#[test]
fn invalid_files_have_all_problems_and_exit_code_2() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, content: &[u8]| fs::write(directory.path().join(name), content).unwrap();
    let node = fs::read_to_string(format!("{ROOT}/docs/two-nodes/a.toml")).unwrap();
    let key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
    write("node.toml", node.replace("@b@", key).as_bytes());
    write(
        "typo.toml",
        node.replace("[peer]", "[peeer]")
            .replace("local", "locla")
            .as_bytes(),
    );
    write("empty.toml", b"");
    write("binary", b"\x7fELF\0\0");
    write("cut.recording", b"{\"recording\":4,\"software\":\"x\"}\n");
    write("both.toml", b"[node]\n[relay]\n");
    write("rates", b"1\n2\n1\n");
    write("ab.psk", b"# polypath pre-shared key\n\nshort\n");
    let locla = node
        .lines()
        .position(|line| line.starts_with("local"))
        .unwrap()
        + 1;
    for (name, kind, problems) in [
        (
            "node.toml",
            "a node file",
            &["`node.key_file`: ", "`polypath key a.key`"][..],
        ),
        (
            "typo.toml",
            "a node file",
            &[
                &format!("typo.toml:{locla}:1: unknown key `locla`"),
                "`peeer`",
            ],
        ),
        (
            "empty.toml",
            "unknown kind",
            &["empty.toml is empty; `polypath init`"],
        ),
        (
            "binary",
            "unknown kind",
            &["binary is binary or not UTF-8 text"],
        ),
        (
            "none.toml",
            "unknown kind",
            &["cannot read none.toml: No such file"],
        ),
        (
            ".",
            "unknown kind",
            &["cannot read .: it is a directory; name a file"],
        ),
        ("cut.recording", "a recording", &["line 1: "]),
        (
            "both.toml",
            "unknown kind",
            &["keys of a node file and of a relay file"],
        ),
        (
            "ab.psk",
            "a pre-shared key file",
            &["ab.psk:3: not the key: ", "`polypath key --preshared`"],
        ),
        (
            "rates",
            "a trace",
            &["rates:3: 1 ms is earlier than the line before; sort"],
        ),
    ] {
        let output = check(directory.path(), &[name]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = stdout(&output);
        assert!(
            text.starts_with(&format!("{name}: {kind}: invalid\n")),
            "{text}"
        );
        for problem in problems {
            assert!(text.contains(problem), "{problem}: {text}");
        }
    }
}

#[test]
fn files_that_no_command_reads_are_named_as_what_they_are() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content, kind, problem) in [
        (
            "foreign.toml",
            &b"[package]\nname = \"x\"\n"[..],
            "unknown kind",
            "no key of a scenario, network, node",
        ),
        (
            "syntax.toml",
            b"[policy\nkind = \"in-time\"\n",
            "unknown kind",
            "syntax.toml:1:8: unclosed table, expected `]`",
        ),
        (
            "latin.toml",
            b"[node]\n# Z\xe4hler\n[peer]\n",
            "a node file",
            "latin.toml is not UTF-8 text: line 2 has the byte 0xe4; save it",
        ),
        (
            "utf16.toml",
            b"\xff\xfe[\0n\0o\0d\0e\0]\0",
            "unknown kind",
            "utf16.toml is binary or not UTF-8 text",
        ),
        (
            "long",
            &vec![b'x'; 17 << 20],
            "unknown kind",
            "long is too long for a text file",
        ),
        (
            "report.html",
            b"<!DOCTYPE html>\n",
            "an HTML page",
            "no command reads report.html; open it in a browser",
        ),
        (
            "flows.csv",
            b"seed,flow\n1,2\n",
            "a CSV table",
            "no command reads flows.csv; name the scenario or the node's file instead",
        ),
    ] {
        fs::write(directory.path().join(name), content).unwrap();
        let output = check(directory.path(), &[name]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = stdout(&output);
        let start = format!("{name}: {kind}: invalid\n");
        assert!(
            text.starts_with(&start) && text.contains(problem),
            "{problem}: {text}"
        );
    }
}

#[test]
fn valid_files_have_their_commands() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, content: &str| fs::write(directory.path().join(name), content).unwrap();
    let demo = fs::read_to_string(format!("{ROOT}/scenarios/demo.toml")).unwrap();
    write("sweep.toml", &format!("{demo}\n[sweep]\nseed = [1, 2]\n"));
    write("packets", "0.001 1200 # first\n0.5 40\n");
    write(
        "my sweep.toml",
        &format!("{demo}\n[sweep]\nseed = [1, 2]\n"),
    );
    write("-.toml", &demo);
    write("empty.toml", "");
    let valid = printed(&check(directory.path(), &["sweep.toml", "packets"]));
    let sweep =
        "sweep.toml: a scenario of transfers: valid; run it with: polypath sim sweep.toml\n";
    assert_eq!(
        valid,
        format!("{sweep}packets: a trace: valid; name it in a scenario: trace = \"packets\"\n")
    );
    // The commands are safe to paste.
    let quoted = printed(&check(directory.path(), &["my sweep.toml", "--", "-.toml"]));
    for command in [
        ": valid; run it with: polypath sim 'my sweep.toml'\n",
        ": valid; run it with: polypath sim ./-.toml, or polypath lab ./-.toml\n",
    ] {
        assert!(quoted.contains(command), "{quoted}");
    }
    // A network whose senders choose among paths has more commands than others.
    for (name, commands) in [
        ("race", "polypath sim FILE"),
        (
            "delay-centric",
            "polypath sim FILE, or polypath stability FILE, or polypath source lab FILE",
        ),
        // Its thousand senders are too many for real sockets.
        (
            "two-uplinks",
            "polypath sim FILE, or polypath stability FILE",
        ),
        (
            "thousand-nodes",
            "polypath sim FILE, or polypath stability FILE",
        ),
        ("media-random", "polypath sim FILE, or polypath lab FILE"),
    ] {
        let file = format!("{ROOT}/scenarios/{name}.toml");
        let text = printed(&check(directory.path(), &[&file]));
        let end = format!(
            ": valid; run it with: {}\n",
            commands.replace("FILE", &file)
        );
        assert!(text.ends_with(&end), "{text}");
    }
    let both = check(
        directory.path(),
        &["sweep.toml", "empty.toml", "--format", "json"],
    );
    assert_eq!(both.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&both.stderr),
        "polypath: 1 of 2 files are invalid\n"
    );
    let both: Value = serde_json::from_slice(&both.stdout).unwrap();
    assert_eq!(
        (&both[0]["kind"], &both[0]["valid"]),
        (&"transfers".into(), &true.into())
    );
    assert_eq!(both[0]["commands"][0], "polypath sim sweep.toml");
    assert_eq!(
        (
            &both[1]["kind"],
            both[1]["problems"].as_array().unwrap().len()
        ),
        (&Value::Null, 1)
    );
}

#[test]
fn a_file_is_read_from_standard_input() {
    let mut command = polypath();
    command.args(["check", "-"]);
    let file = fs::File::open(format!("{ROOT}/scenarios/race.toml")).unwrap();
    let text = printed(&command.stdin(Stdio::from(file)).output().unwrap());
    assert_eq!(
        text,
        "-: a network of flows: valid; run it with: polypath sim -\n"
    );
}
