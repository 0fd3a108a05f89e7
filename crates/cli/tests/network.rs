//! `polypath sim` of networks, as its users run it.

mod common;
#[path = "common/runs.rs"]
mod runs;

use std::fs;
use std::path::Path;

use common::polypath;
use runs::{NETWORK, SWEEP, refused, run};

#[test]
fn replicas_give_the_same_bytes_on_any_number_of_threads() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("small.toml");
    fs::write(&file, NETWORK).expect("it can be written");
    let run = |out: &str, jobs| {
        let more = ["--replicas", "5", "--jobs", jobs];
        run(&file, &dir.path().join(out), &more)
    };
    let one = run("one", "1");
    assert_eq!(
        one.keys().collect::<Vec<_>>(),
        ["flows.csv", "links.csv", "report.json"]
    );
    assert_eq!(one, run("three", "3"));
}

#[test]
fn what_cannot_be_swept_or_run_is_refused_before_the_run_with_its_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("bad.toml");
    for (text, wanted) in [
        (
            format!("{NETWORK}{}", SWEEP.replace("tcp.variant", "tcp.varient")),
            "bad.toml:20:18: unknown key `varient`; did you mean `variant`?",
        ),
        (
            NETWORK.replace("to = \"b\"\nstart", "to = \"c\"\nstart"),
            "bad.toml:15:6: unknown node `c`",
        ),
    ] {
        fs::write(&file, text).expect("it can be written");
        let out = dir.path().join("out");
        let (code, said) = refused(&file, &["--out", out.to_str().expect("a plain path")]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(wanted), "{said}\nwithout {wanted}");
        assert!(!out.exists(), "a refused run leaves no folder");
    }
}

#[test]
fn the_lab_says_that_it_runs_no_networks() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("small.toml");
    fs::write(&file, NETWORK).expect("it can be written");
    let output = polypath().arg("lab").arg(&file).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`polypath sim`"), "{said}");
}

#[test]
fn a_capture_and_an_event_stream_are_the_same_for_a_seed_and_change_no_report() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("small.toml");
    fs::write(&file, NETWORK).expect("it can be written");
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
    assert_eq!(report, plain, "a run that is watched is the same run");
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
        assert!(text.starts_with("{\"version\":1,"));
        assert!(text.contains("\"event\":\"window\"") && text.contains("\"event\":\"dropped\""));
        assert_eq!(text.contains("\"event\":\"arrived\""), arrivals);
    }
}

#[test]
fn what_cannot_be_recorded_is_refused_before_the_run_with_a_remedy() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = |name: &str| dir.path().join(name);
    let written = |name: &str, text: &str| {
        fs::write(path(name), text).expect("it can be written");
        path(name)
    };
    let small = written("small.toml", NETWORK);
    let sweep = written("sweep.toml", &format!("{NETWORK}{SWEEP}"));
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
            "leave out --replicas",
        ),
        (&sweep, &["--pcap", &pcap], "remove `[sweep]`"),
        (&sweep, &["--events", &pcap], "--events records one run"),
        (
            &demo,
            &["--pcap", &pcap],
            "a file with transfers over paths",
        ),
        (
            &small,
            &["--pcap", &nowhere],
            "name another file with --pcap",
        ),
        (
            &small,
            &["--events", &nowhere],
            "name another file with --events",
        ),
        (&small, &["--pcap-link", "bottleneck"], "--pcap <FILE>"),
    ] {
        let out = path("out");
        let out_text = out.to_string_lossy();
        let (code, said) = refused(file, &[more, &["--out", &out_text]].concat());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(wanted), "{said}\nwithout {wanted}");
        assert!(
            !out.exists() && !Path::new(&pcap).exists(),
            "a refused run leaves nothing"
        );
    }
}

#[test]
fn a_full_disk_ends_the_run_with_the_name_of_the_file() {
    if !Path::new("/dev/full").exists() {
        eprintln!("skipped: there is no /dev/full here");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("small.toml");
    fs::write(&file, NETWORK).expect("it can be written");
    let out = dir.path().join("out").to_string_lossy().into_owned();
    for option in ["--pcap", "--events"] {
        let (code, said) = refused(&file, &[option, "/dev/full", "--out", &out]);
        assert_eq!(code, Some(1), "{said}");
        let wanted = format!("name another file with {option}");
        assert!(
            said.contains("/dev/full") && said.contains(&wanted),
            "{said}"
        );
    }
}
