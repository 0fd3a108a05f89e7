//! `polypath sim` of sweeps: interrupted, killed and resumed.

mod common;
#[path = "common/files.rs"]
mod files;
#[path = "common/runs.rs"]
mod runs;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, SystemTime};

use common::polypath;
use files::{content, write_file};
use runs::{NETWORK, SWEEP, run, run_for_error};

#[test]
fn an_interrupted_sweep_ends_with_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "sweep.toml", &format!("{NETWORK}{SWEEP}"));
    let whole = run(&file, &dir.path().join("whole"), &["--jobs", "1"]);
    assert_eq!(whole["sweep.csv"].split(|b| *b == b'\n').count(), 1 + 6 + 1);
    let cut = dir.path().join("cut");
    run(&file, &cut, &[]);
    for lost in ["sweep.csv", "points/00001.json", "points/00004.json"] {
        fs::remove_file(cut.join(lost)).expect("it was there");
    }
    fs::write(cut.join("points/00004.draft"), "half a rep").expect("it can be written");
    let mut resumed = run(&file, &cut, &["--jobs", "2"]);
    resumed.remove("points/00004.draft");
    assert_eq!(resumed, whole);
}

#[test]
fn replicas_of_all_points_give_the_same_bytes_on_any_number_of_threads() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "sweep.toml", &format!("{NETWORK}{SWEEP}"));
    let run = |out: &str, jobs| {
        let more = ["--replicas", "3", "--jobs", jobs];
        run(&file, &dir.path().join(out), &more)
    };
    let one = run("one", "1");
    assert_eq!(one, run("five", "5"));
    let sheet = String::from_utf8(one["sweep.csv"].clone()).expect("it is text");
    let columns = "point,tcp.variant,link.0.queue,first_seed,replicas,";
    assert!(sheet.starts_with(columns), "{sheet}");
}

/// Short transfers over two paths, in four combinations.
const TRANSFERS: &str = r#"schema = 1
name = "transfers"
schemes = ["tcp", "ppd-tcp3"]
transfer = { size = "50 kB", count = 3, warm_up = "1 s" }
[[path]]
name = "one"
link = [{ rate = "2 Mbit/s", delay = "10 ms", queue = "20 packets", loss = 0.01 }]
[[path]]
name = "two"
link = [{ rate = "2 Mbit/s", delay = "30 ms", queue = "20 packets" }]
[sweep]
"transfer.size" = ["50 kB", "80 kB"]
"path.two.link.0.delay" = ["5 ms", "50 ms"]
"#;

#[test]
fn sweeps_of_transfers_are_resumed_like_those_of_networks() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("sweep.toml");
    fs::write(&file, TRANSFERS).expect("it can be written");
    let whole = run(&file, &dir.path().join("whole"), &["--jobs", "1"]);
    let sheet = String::from_utf8(whole["sweep.csv"].clone()).expect("it is text");
    assert!(
        sheet.starts_with("point,transfer.size,path.two.link.0.delay,first_seed,scheme,transfers,"),
        "{sheet}"
    );
    assert_eq!(sheet.lines().count(), 1 + 4 * 2);
    let cut = dir.path().join("cut");
    run(&file, &cut, &["--jobs", "3"]);
    for lost in ["sweep.csv", "points/00002.json"] {
        fs::remove_file(cut.join(lost)).expect("it was there");
    }
    assert_eq!(run(&file, &cut, &[]), whole);
    let (code, stderr) = run_for_error(&file, &["--replicas", "2"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("for transfers set transfer.count"),
        "{stderr}"
    );
}

#[test]
fn damaged_points_are_named_and_run_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "sweep.toml", &format!("{NETWORK}{SWEEP}"));
    let out = dir.path().join("out");
    let whole = run(&file, &out, &[]);
    let point = |n: usize| out.join(format!("points/{n:05}.json"));
    fs::write(point(1), "{\"version\": 2").expect("it can be written");
    fs::copy(point(2), point(4)).expect("it can be written");
    let mut command = polypath();
    command.arg("sim").arg(&file).arg("--out").arg(&out);
    let output = command.output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    for wanted in ["4 of 6", "run again:", "00001.json", "00004.json"] {
        assert!(stderr.contains(wanted), "{stderr}\nwithout {wanted}");
    }
    assert_eq!(content(&out), whole);
}

#[test]
fn a_sweep_of_one_combination_is_a_sweep() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("sweep.toml");
    fs::write(&file, format!("{NETWORK}[sweep]\nseed = [7]\n")).expect("it can be written");
    let one = run(&file, &dir.path().join("one"), &[]);
    let points = ["points/00000.json", "points/plan.json", "report.html"];
    let sheets = ["sweep-links.csv", "sweep.csv", "sweep.json"];
    assert_eq!(one.keys().collect::<Vec<_>>(), [points, sheets].concat());
    let sheet = String::from_utf8(one["sweep.csv"].clone()).expect("it is text");
    assert!(
        sheet.starts_with("point,seed,first_seed,replicas,"),
        "{sheet}"
    );
    assert!(sheet.contains("\n0,7,7,1,bulk,2,"), "{sheet}");
    let (code, stderr) = run_for_error(&file, &["--seed", "8"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--seed 8: `seed` is swept at "), "{stderr}");
}

/// A sweep of four points, of which the first and last permanently overload the link.
const OVERLOADED: &str = r#"[[flow]]
name = "flood"
from = "a"
to = "b"
traffic = { kind = "cbr", packet = "100 B", interval = "10 ms" }
[sweep]
"flow.flood.traffic.interval" = ["1 us", "10 ms", "20 ms", "2 us"]
"#;

#[test]
fn overflowing_points_are_named_and_the_others_reported() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("sweep.toml");
    let endless = NETWORK.replace("\"10 packets\"", "\"unlimited\"");
    fs::write(&file, format!("{endless}{OVERLOADED}")).expect("it can be written");
    let sheets = ["1", "3"].map(|jobs| {
        let out = dir.path().join(jobs);
        let out_text = out.to_str().expect("a plain path");
        let (code, stderr) = run_for_error(&file, &["--jobs", jobs, "--out", out_text]);
        assert_eq!(code, Some(1), "{stderr}");
        for wanted in [
            "2 of 4 points failed",
            "\npolypath: flow.flood.traffic.interval=1 us: ",
            "\npolypath: flow.flood.traffic.interval=2 us: ",
            "`bottleneck",
        ] {
            assert!(stderr.contains(wanted), "{stderr}\nwithout {wanted}");
        }
        content(&out)
    });
    assert_eq!(sheets[0], sheets[1]);
    let sheet = String::from_utf8_lossy(&sheets[0]["sweep.csv"]);
    let points: Vec<&str> = sheet.lines().skip(1).map(|row| &row[..2]).collect();
    assert_eq!(points, ["1,", "1,", "2,", "2,"]);
    let list: serde_json::Value =
        serde_json::from_slice(&sheets[0]["sweep.json"]).expect("it is JSON");
    let is_failed = |n: usize| list["points"][n]["error"].is_string();
    assert_eq!([0, 1, 2, 3].map(is_failed), [true, false, false, true]);
}

// The runs are so short that several processes often write the same point at the same time.
#[test]
fn equal_sweeps_in_one_folder_can_run_concurrently() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("sweep.toml");
    let short = NETWORK.replace("\"3 s\", warm_up = \"1 s\"", "\"20 ms\"");
    let short = short.replace("\"500 ms\"", "\"5 ms\"");
    fs::write(&file, format!("{short}{MANY}")).expect("it can be written");
    let whole = run(&file, &dir.path().join("whole"), &[]);
    let out = dir.path().join("out");
    let start = |_| {
        let mut sweep = polypath();
        sweep.arg("sim").arg(&file).arg("--out").arg(&out);
        let sweep = sweep.args(["--jobs", "2"]).stdout(Stdio::null());
        sweep.spawn().expect("it runs")
    };
    let sweeps = [0; 4].map(start);
    let ends = sweeps.map(|mut sweep| sweep.wait().expect("it ran").code());
    assert_eq!(ends, [Some(0); 4]);
    assert_eq!(content(&out), whole);
}

#[test]
fn another_sweep_in_the_same_folder_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write_file(dir.path(), "sweep.toml", &format!("{NETWORK}{SWEEP}"));
    let out = dir.path().join("out");
    let before = run(&file, &out, &[]);
    let out_text = out.to_str().expect("a plain path");
    let (code, stderr) = run_for_error(&file, &["--seed", "2", "--out", out_text]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("contains the points of another sweep"),
        "{stderr}"
    );
    assert_eq!(content(&out), before);
}

#[test]
fn a_sweep_with_an_edited_trace_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("sweep.toml");
    let traced = NETWORK.replace("rate = \"2 Mbit/s\"", "trace = \"cell.trace\"");
    fs::write(&file, format!("{traced}{SWEEP}")).expect("it can be written");
    let trace = |text| fs::write(dir.path().join("cell.trace"), text).expect("it can be written");
    trace("0\n4\n8\n12\n");
    let out = dir.path().join("out");
    let before = run(&file, &out, &[]);
    fs::remove_file(out.join("points/00003.json")).expect("it was there");
    trace("0\n4\n8\n13\n");
    let out_text = out.to_str().expect("a plain path");
    let (code, stderr) = run_for_error(&file, &["--out", out_text]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("of other input files"), "{stderr}");
    trace("0\n4\n8\n12\n");
    assert_eq!(run(&file, &out, &[]), before);
}

/// A sweep with two hundred points.
const MANY: &str = r#"[sweep]
"link.0.queue" = ["5 packets", "6 packets", "7 packets", "8 packets", "9 packets"]
"link.0.delay" = ["1 ms", "2 ms", "3 ms", "4 ms", "5 ms", "6 ms", "7 ms", "8 ms"]
"tcp.variant" = ["tahoe", "reno", "newreno", "sack", "cubic"]
"#;

/// The number of finished points.
fn finished(out: &Path) -> usize {
    let entries = fs::read_dir(out.join("points")).into_iter().flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with('0'))
        .filter(|name| name.to_string_lossy().ends_with(".json"))
        .count()
}

/// Starts a sweep and kills it when `condition` is true.
fn kill_when(file: &Path, out: &Path, condition: impl Fn() -> bool) {
    let mut sweep = polypath();
    sweep.arg("sim").arg(file).arg("--out").arg(out);
    let mut child = sweep.args(["--jobs", "2"]).spawn().expect("it runs");
    while !condition() {
        assert!(
            child.try_wait().expect("it runs").is_none(),
            "the sweep has ended"
        );
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("it runs");
    let status = child.wait().expect("it ran");
    assert_eq!(status.code(), None, "killed before its end");
}

/// Makes the unfinished files of killed sweeps old. Young ones could belong to a sweep that still
/// runs and would stay.
fn age_drafts(points: &Path) {
    for entry in fs::read_dir(points).expect("the folder is there").flatten() {
        let path = entry.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "draft")
        {
            let draft = fs::File::options().append(true).open(&path);
            let draft = draft.expect("it is there");
            let modified = draft.set_modified(SystemTime::UNIX_EPOCH);
            modified.expect("it can be set");
        }
    }
}

#[test]
fn a_killed_sweep_ends_with_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("sweep.toml");
    let short = NETWORK.replace("\"3 s\", warm_up = \"1 s\"", "\"20 s\"");
    fs::write(&file, format!("{short}{MANY}")).expect("it can be written");
    let whole = run(&file, &dir.path().join("whole"), &["--jobs", "1"]);
    assert_eq!(finished(&dir.path().join("whole")), 200);
    let out = dir.path().join("killed");
    kill_when(&file, &out, || out.join("points").exists());
    // Far from the end: on a busy machine a sweep finishes many points before it is killed.
    kill_when(&file, &out, || finished(&out) >= 10);
    kill_when(&file, &out, || finished(&out) >= 30);
    assert!(finished(&out) < 200 && !out.join("sweep.csv").exists());
    age_drafts(&out.join("points"));
    assert_eq!(run(&file, &out, &["--jobs", "2"]), whole);
}
