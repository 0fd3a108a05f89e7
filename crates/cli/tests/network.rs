//! The command line of `polypath sim` for networks.

mod common;
#[path = "common/files.rs"]
mod files;
#[path = "common/runs.rs"]
mod runs;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use common::polypath;
use files::write_file;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use runs::{NETWORK, SWEEP, run, run_for_error};

#[test]
fn replicas_give_the_same_bytes_on_any_number_of_threads() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let run = |out: &str, jobs| {
        let more = ["--replicas", "5", "--jobs", jobs];
        run(&file, &dir.path().join(out), &more)
    };
    let one = run("one", "1");
    assert_eq!(
        one.keys().collect::<Vec<_>>(),
        ["flows.csv", "links.csv", "report.html", "report.json"]
    );
    assert_eq!(one, run("three", "3"));
}

#[test]
fn an_invalid_network_or_sweep_is_refused_before_the_run_with_its_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("bad.toml");
    for (text, wanted) in [
        (
            format!("{NETWORK}{}", SWEEP.replace("tcp.variant", "tcp.varient")),
            "bad.toml:19:18: unknown key `varient`; did you mean `variant`?",
        ),
        (
            NETWORK.replace("to = \"b\"\nstart", "to = \"c\"\nstart"),
            "bad.toml:15:6: unknown node `c`",
        ),
    ] {
        fs::write(&file, text).expect("it can be written");
        let out = dir.path().join("out");
        let (code, stderr) = run_for_error(&file, &["--out", out.to_str().expect("a plain path")]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}\nwithout {wanted}");
        assert!(!out.exists(), "a refused run creates no folder");
    }
}

#[test]
fn the_lab_refuses_networks() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let output = polypath().arg("lab").arg(&file).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("run it with: polypath sim "), "{stderr}");
}

#[test]
fn recordings_are_reproducible_and_do_not_change_the_report() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let recorded = |name: &str, level: &str| {
        let (pcap, events) = (
            path(&format!("{name}.pcapng")),
            path(&format!("{name}.jsonl")),
        );
        let more = [
            "--pcap",
            &pcap,
            "--events",
            &events,
            "--events-level",
            level,
        ];
        let report = run(&file, &dir.path().join(name), &more);
        let read = |name| fs::read(name).expect("it is written");
        (report, read(pcap), read(events))
    };
    let plain = run(&file, &dir.path().join("plain"), &[]);
    let (report, pcap, events) = recorded("one", "packets");
    assert_eq!(report, plain, "recording does not change the run");
    assert_eq!(
        recorded("two", "packets"),
        (plain, pcap.clone(), events.clone())
    );
    assert_eq!(pcap[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section header");
    let (_, same_pcap, fewer) = recorded("three", "tcp");
    assert_eq!(pcap, same_pcap);
    assert!(fewer.len() < events.len());
    for (stream, arrivals) in [(&events, true), (&fewer, false)] {
        let text = std::str::from_utf8(stream).expect("it is text");
        assert!(text.starts_with("{\"version\":2,"));
        assert!(text.contains("\"event\":\"window\"") && text.contains("\"event\":\"dropped\""));
        assert_eq!(text.contains("\"event\":\"arrived\""), arrivals);
    }
}

#[test]
fn an_invalid_recording_is_refused_before_the_run_with_a_remedy() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = |name: &str| dir.path().join(name);
    let write_file = |name: &str, text: &str| write_file(dir.path(), name, text);
    let small = write_file("small.toml", NETWORK);
    let sweep = write_file("sweep.toml", &format!("{NETWORK}{SWEEP}"));
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/demo.toml");
    let pcap = path("out.pcapng").to_string_lossy().into_owned();
    let nowhere = path("nowhere/out.pcapng").to_string_lossy().into_owned();
    for (file, more, wanted) in [
        (
            &small,
            &["--pcap", &pcap, "--pcap-link", "botleneck"][..],
            "there is no link `botleneck`; did you mean `bottleneck`?",
        ),
        (
            &small,
            &["--pcap", &pcap, "--pcap-link", "bottleneck,x"],
            "--pcap-link: there is no link `x`",
        ),
        (
            &small,
            &["--pcap", &pcap, "--replicas", "2"],
            "omit --replicas",
        ),
        (&sweep, &["--pcap", &pcap], "remove `[sweep]`"),
        (
            &sweep,
            &["--events", &pcap],
            "--events records a single run",
        ),
        (
            &demo,
            &["--pcap", &pcap],
            "a file with transfers over paths",
        ),
        (
            &small,
            &["--pcap", &nowhere],
            "choose another file with --pcap",
        ),
        (
            &small,
            &["--events", &nowhere],
            "choose another file with --events",
        ),
        (&small, &["--pcap-link", "bottleneck"], "--pcap <FILE>"),
    ] {
        let out = path("out");
        let out_text = out.to_string_lossy();
        let (code, stderr) = run_for_error(file, &[more, &["--out", &out_text]].concat());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}\nwithout {wanted}");
        assert!(
            !out.exists() && !Path::new(&pcap).exists(),
            "a refused run creates nothing"
        );
    }
}

#[test]
fn a_recording_does_not_overwrite_its_scenario() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&file, &link).expect("it can be made");
    let out = dir.path().join("out").to_string_lossy().into_owned();
    for option in ["--pcap", "--events"] {
        for name in [&file, &link] {
            let (code, stderr) =
                run_for_error(&file, &[option, &name.to_string_lossy(), "--out", &out]);
            assert_eq!(code, Some(2), "{stderr}");
            assert!(stderr.contains("would overwrite the scenario"), "{stderr}");
        }
    }
    let left = fs::read_to_string(&file).expect("it is still there");
    assert_eq!(left, NETWORK);
}

#[test]
fn two_recordings_cannot_share_a_file_and_a_refused_one_keeps_old_content() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (old, new, out) = (path("old"), path("new"), path("out"));
    fs::write(&old, "valuable").expect("it can be written");
    std::os::unix::fs::symlink(&old, path("link")).expect("it can be made");
    for (pcap, events, wanted) in [
        (&new, &new, "name the same file"),
        (&old, &path("link"), "name the same file"),
        (
            &old,
            &path("nowhere/x"),
            "choose another file with --events",
        ),
        (
            &new,
            &path("nowhere/x"),
            "choose another file with --events",
        ),
    ] {
        let more = ["--pcap", pcap, "--events", events, "--out", &out];
        let (code, stderr) = run_for_error(&file, &more);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}\nwithout {wanted}");
        assert_eq!(fs::read(&old).expect("it is there"), b"valuable");
        assert!(!Path::new(&new).exists(), "a refused run creates nothing");
    }
}

#[test]
fn a_recording_on_standard_output_moves_the_report_to_standard_error() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "small.toml", NETWORK);
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (written, out) = (path("written"), path("out"));
    for option in ["--pcap", "--events"] {
        let (code, stderr) = run_for_error(&file, &[option, &written, "--out", &out]);
        assert_eq!(code, Some(0), "{stderr}");
        let mut command = polypath();
        command
            .arg("sim")
            .arg(&file)
            .args([option, "-", "--out", &out]);
        let output = command.current_dir(dir.path()).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert_eq!(output.stdout, fs::read(&written).expect("it is there"));
        assert!(
            stderr.contains("goodput") && stderr.contains("report: "),
            "{stderr}"
        );
        assert!(!dir.path().join("-").exists());
    }
    let (code, stderr) = run_for_error(&file, &["--pcap", "-", "--events", "-", "--out", &out]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("the same file, standard output"),
        "{stderr}"
    );
}

#[test]
fn files_of_an_earlier_run_of_another_kind_are_reported() {
    let dir = tempfile::tempdir().expect("a folder");
    let write_file = |name: &str, text: &str| write_file(dir.path(), name, text);
    let sweep = write_file("sweep.toml", &format!("{NETWORK}{SWEEP}"));
    let small = write_file("small.toml", NETWORK);
    let out = dir.path().join("out").to_string_lossy().into_owned();
    let run = |file: &Path| {
        let (code, stderr) = run_for_error(file, &["--out", &out]);
        assert_eq!(code, Some(0), "{stderr}");
        stderr
    };
    assert!(!run(&sweep).contains("of another run"));
    let output = run(&small);
    let wanted = "out: sweep.csv, sweep-links.csv, sweep.json, points; remove them";
    assert!(
        output.contains("of another run") && output.contains(wanted),
        "{output}"
    );
    assert!(run(&sweep).contains("out: report.json, flows.csv, links.csv; remove"));
}

/// Whether a pcapng file is complete: the lengths of its blocks add up to its size.
fn is_complete(file: &[u8]) -> bool {
    let mut rest = file;
    while let Some(length) = rest.get(4..8) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let Some(left) = rest.get(length..) else {
            return false;
        };
        rest = left;
    }
    rest.is_empty()
}

#[test]
fn an_interrupted_recording_is_readable_up_to_its_end() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("long.toml");
    let long = NETWORK.replace("\"3 s\"", "\"20000 s\"");
    fs::write(&file, long).expect("it can be written");
    let path = |name: &str| dir.path().join(name);
    let mut command = polypath();
    command.arg("sim").arg(&file).arg("--out").arg(path("out"));
    command.arg("--pcap").arg(path("pcap"));
    command.arg("--events").arg(path("events"));
    let child = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let length = |name| fs::metadata(path(name)).map_or(0, |of| of.len());
    while length("pcap") < 100_000 || length("events") < 100_000 {
        thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it runs");
    let output = child.wait_with_output().expect("it ran");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("pcap ends at ") && stderr.contains("events ends at "),
        "{stderr}"
    );
    assert!(is_complete(&fs::read(path("pcap")).expect("it is there")));
    let events = fs::read_to_string(path("events")).expect("it is text");
    assert!(events.ends_with('\n'));
    for line in events.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("a complete line");
    }
}
