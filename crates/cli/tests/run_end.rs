//! The end of runs of `polypath sim`: by `--seconds`, and on write errors.

mod common;
#[path = "common/files.rs"]
mod files;
#[path = "common/runs.rs"]
mod runs;

use std::fs;
use std::path::Path;
use std::process::Command;

use files::{content, write_file};
use runs::{NETWORK, SWEEP, run, run_for_error};

#[test]
fn errors_of_seconds_name_the_option_unless_the_file_is_invalid() {
    let dir = tempfile::tempdir().expect("a folder");
    let write_file = |name: &str, text: &str| write_file(dir.path(), name, text);
    let small = write_file("small.toml", NETWORK);
    let (broken, empty) = (
        write_file("broken.toml", "name = "),
        write_file("empty.toml", ""),
    );
    let swept = format!("{NETWORK}{SWEEP}\"run.duration\" = [\"2 s\", \"4 s\"]\n");
    let sweep = write_file("sweep.toml", &swept);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/demo.toml");
    for (file, wanted) in [
        (
            &small,
            "polypath: --seconds 1: nothing is left of 1 s to measure",
        ),
        (&sweep, "polypath: --seconds 1: `run.duration` is swept at "),
        (&demo, "--seconds 1 is for networks; "),
        (&broken, "broken.toml:1:"),
        (&empty, "empty.toml:1:1: "),
    ] {
        let (code, stderr) = run_for_error(file, &["--seconds", "1"]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}\nwithout {wanted}");
        let names_networks = stderr.contains("is for networks");
        assert_eq!(names_networks, *file == demo, "{stderr}");
    }
}

#[test]
fn a_run_ends_after_its_seconds_despite_later_events_in_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("small.toml");
    let later = "[[flow]]\nname = \"late\"\nfrom = \"a\"\nto = \"b\"\nstart = \"2500 ms\"\n\
                 receiver_window = [{ at = \"2700 ms\", window = 4 }]\ntraffic = { kind = \"ftp\" }\n";
    fs::write(&file, format!("{NETWORK}{later}")).expect("it can be written");
    let found = run(&file, &dir.path().join("out"), &["--seconds", "2"]);
    let report = String::from_utf8(found["report.json"].clone()).expect("it is text");
    let value: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(value["duration_s"], 2.0);
    assert_eq!(value["groups"][1]["name"], "late");
    assert_eq!(value["groups"][1]["goodput_bits_s"]["mean"], 0.0);
    let out = dir.path().join("other").to_string_lossy().into_owned();
    let (code, stderr) = run_for_error(&file, &["--seconds", "1", "--out", &out]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.ends_with("--set 'run.warm_up=0 s'\n"), "{stderr}");
    let set = ["--seconds", "1", "--set", "run.warm_up=0 s"];
    run(&file, &dir.path().join("set"), &set);
}

#[test]
fn a_full_disk_ends_the_run_with_an_error_that_names_the_file() {
    if !Path::new("/dev/full").exists() {
        eprintln!("skipped: this system has no /dev/full");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let out = dir.path().join("out").to_string_lossy().into_owned();
    for option in ["--pcap", "--events"] {
        let (code, stderr) = run_for_error(&file, &[option, "/dev/full", "--out", &out]);
        assert_eq!(code, Some(1), "{stderr}");
        let wanted = format!("choose another file with {option}");
        assert!(
            stderr.contains("/dev/full is incomplete: ") && stderr.contains(&wanted),
            "{stderr}"
        );
        let report = Path::new(&out).join("report.json");
        fs::remove_file(report).expect("the report is still written");
    }
}

#[test]
fn a_capture_that_fills_the_disk_of_the_report_makes_room_for_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let mount = dir.path().join("disk");
    fs::create_dir(&mount).expect("a folder");
    let small = "mount -t tmpfs -o size=256k tmpfs \"$1\" && cp \"$2\" \"$1\" && cd \"$1\" || exit 77\n\
        \"$0\" sim small.toml --pcap x.pcapng --out out >table; echo \"exit code $?\"\n\
        wc -c <x.pcapng; cat out/report.json";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", small]);
    command
        .arg(env!("CARGO_BIN_EXE_polypath"))
        .args([&mount, &file]);
    let output = command.output();
    let Some(output) = output
        .ok()
        .filter(|output| output.status.code() != Some(77))
    else {
        eprintln!("skipped: this system has no unshare, or mounts no file system in a namespace");
        return;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut lines = stdout.lines();
    assert_eq!(lines.next(), Some("exit code 1"), "{stdout}{stderr}");
    let len: u64 = lines
        .next()
        .and_then(|len| len.trim().parse().ok())
        .expect("a length");
    assert!((1..200_000).contains(&len), "{len} B");
    let report: Vec<&str> = lines.collect();
    let report: serde_json::Value = serde_json::from_str(&report.concat()).expect("a report");
    assert_eq!(report["name"], "small");
    let wanted = "polypath: x.pcapng is incomplete, and shortened to make room for the report: No space left";
    assert!(stderr.starts_with(wanted), "{stderr}");
}

#[test]
fn a_report_that_cannot_be_written_is_printed_and_the_old_one_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let out = dir.path().join("out");
    let before = run(&file, &out, &[]);
    for (format, printed) in [("table", "bulk"), ("json", "\"name\": \"bulk\"")] {
        // Files are limited to one block; SIGXFSZ is ignored, so that writes fail as on a full
        // disk.
        let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
        let mut limited = Command::new("sh");
        limited.args(["-c", script, env!("CARGO_BIN_EXE_polypath"), "sim"]);
        limited.arg(&file).arg("--out").arg(&out);
        limited.args(["--seed", "9", "--format", format]);
        let output = limited.output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("cannot write the report to "), "{stderr}");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains(printed), "{shown}");
        assert_eq!(content(&out), before);
    }
}
