//! `polypath lab` as its users run it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath_lab::can_test;
use serde_json::Value;
use tempfile::TempDir;

use super::scenarios::{CALM, polypath};

/// Whom nothing belongs to.
const NOBODY: u32 = 65_534;

/// `polypath lab` of [`CALM`] with `sets`, and the directory of its report, which all may use.
fn lab(sets: &[&str]) -> (Command, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let file = directory.path().join("calm.toml");
    fs::write(&file, CALM).unwrap();
    let mut command = Command::new(polypath());
    command.arg("lab").arg(&file).args(["--format", "json"]);
    command.arg("--out").arg(directory.path().join("out"));
    command.args(sets.iter().flat_map(|set| ["--set", set]));
    command.env("TMPDIR", directory.path());
    (command, directory)
}

fn report(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"))
}

#[test]
fn it_reports_every_scheme_and_its_own_lateness() {
    if !can_test() {
        return;
    }
    let sets = ["transfer.count=2", "lab.lateness_bound=1 s"];
    let (mut command, directory) = lab(&sets);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = report(&output);
    let names: Vec<&str> = report["schemes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|scheme| {
            assert_eq!(scheme["intact"], true, "{scheme}");
            scheme["name"].as_str().unwrap()
        })
        .collect();
    assert_eq!(names, ["tcp", "ppd-tcp1", "ppd-tcp2", "ppd-tcp3"]);
    let lateness = &report["lateness_us"];
    let quantile = |name: &str| lateness[name].as_f64().unwrap();
    assert!(quantile("p99") > 0.0, "{lateness}");
    assert!(quantile("max") >= quantile("p99"), "{lateness}");
    assert!(directory.path().join("out/report.html").is_file());
    assert_eq!(report["content"], "100 kB of random bytes");
    // Standard error is no terminal here: lines take the place of the bar.
    let stderr = String::from_utf8_lossy(&output.stderr);
    for line in ["setting up", "rounds of transfers: 0 of 2", "collecting"] {
        assert!(stderr.contains(&format!("polypath: {line}\n")), "{stderr}");
    }
}

#[test]
fn a_short_clip_is_transferred_whole_and_the_report_says_so() {
    if !can_test() {
        return;
    }
    let sets = [
        "transfer.count=1",
        "schemes=[\"tcp\"]",
        "lab.lateness_bound=1 s",
    ];
    let (mut command, directory) = lab(&sets);
    let clip = directory.path().join("film.ts");
    fs::write(&clip, vec![7; 40_000]).unwrap();
    let output = command.arg("--clip").arg(&clip).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = report(&output);
    let content = "all 40 kB of film.ts, which has less than the scenario's 100 kB";
    assert_eq!(report["content"], content);
    assert_eq!(report["schemes"][0]["intact"], true);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("shorter than transfer.size"), "{stderr}");
    let transfers = fs::read_to_string(directory.path().join("out/transfers.csv")).unwrap();
    assert!(transfers.contains(",40000,true"), "{transfers}");
}

#[test]
fn an_unusable_clip_or_folder_is_bad_input() {
    let refused = |option: &str, make: fn(&Path), part: &str| {
        let (mut command, directory) = lab(&["transfer.count=1"]);
        let path = directory.path().join("given");
        make(&path);
        let output = command.arg(option).arg(&path).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Where namespaces are refused it does not come to look at either.
        let refused = !nix::unistd::geteuid().is_root() && output.status.code() == Some(3);
        assert!(refused || output.status.code() == Some(2), "{stderr}");
        assert!(
            refused || (stderr.contains("given") && stderr.contains(part)),
            "{stderr}"
        );
    };
    refused("--clip", |path| fs::write(path, []).unwrap(), "empty");
    refused("--clip", |_| {}, "no file to transfer: No such file");
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    refused("--clip", folder, "no file to transfer: it is a folder");
    refused(
        "--keep",
        |path| fs::write(path, []).unwrap(),
        "it is no folder",
    );
    let used = |path: &Path| fs::create_dir_all(path.join("before")).unwrap();
    refused("--keep", used, "name a new folder");
}

#[test]
fn an_interrupt_while_the_report_is_written_ends_the_program() {
    if !can_test() {
        return;
    }
    let sets = [
        "transfer.count=1",
        "schemes=[\"tcp\"]",
        "lab.lateness_bound=1 s",
    ];
    let (mut command, directory) = lab(&sets);
    // Whoever writes into a pipe that nobody reads waits.
    let out = directory.path().join("out");
    fs::create_dir(&out).unwrap();
    nix::unistd::mkfifo(&out.join("report.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let collecting = |line: &String| line.ends_with("collecting");
    assert!(
        stderr
            .lines()
            .map_while(Result::ok)
            .any(|line| collecting(&line))
    );
    let has_files = || {
        let entries = directory.path().read_dir().unwrap().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().starts_with("polypath-lab-"))
    };
    for _ in 0..600 {
        if !has_files() {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    // The lab's files are gone, so that only the report is left to be written.
    sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_run_that_was_too_late_is_reported_and_fails() {
    if !can_test() {
        return;
    }
    let sets = [
        "transfer.count=1",
        "schemes=[\"ppd-tcp2\"]",
        "lab.lateness_bound=1 ns",
    ];
    let output = lab(&sets).0.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(report(&output)["lateness_us"]["p99"].as_f64().unwrap() > 0.0);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("the run is invalid"), "{stderr}");
}

#[test]
fn without_privileges_it_runs_in_a_user_namespace_or_names_the_remedy() {
    if !can_test() {
        return;
    }
    let (mut command, _directory) = lab(&["transfer.count=1", "lab.lateness_bound=1 s"]);
    let root = nix::unistd::geteuid().is_root();
    if root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let tun_is_open = fs::metadata("/dev/net/tun").unwrap().mode() & 0o006 == 0o006;
    if output.status.code() == Some(0) {
        assert!(tun_is_open || !root, "{stderr}");
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let namespaces_are_not = stderr.contains("kernel.unprivileged_userns_clone");
    let tun_is_not = stderr.contains("chmod 0666 /dev/net/tun");
    assert!(
        namespaces_are_not || (tun_is_not && !tun_is_open),
        "{stderr}"
    );
}
