//! The command line of `polypath lab`.

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

/// The user ID of `nobody`.
const NOBODY: u32 = 65_534;

/// The command `polypath lab` of [`CALM`] with the overrides `sets`, and its directory, accessible
/// to all.
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
fn the_report_has_every_scheme_and_the_lateness() {
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
    // Standard error is not a terminal here, so progress is printed as lines.
    let stderr = String::from_utf8_lossy(&output.stderr);
    for line in [
        "setting up",
        "rounds of transfers: 0 of 2",
        "collecting results",
    ] {
        assert!(stderr.contains(&format!("polypath: {line}\n")), "{stderr}");
    }
}

#[test]
fn a_short_media_file_is_transferred_whole_and_reported_as_such() {
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
fn an_unusable_media_file_or_folder_is_an_input_error() {
    let check = |option: &str, make: fn(&Path), part: &str| {
        let (mut command, directory) = lab(&["transfer.count=1"]);
        let path = directory.path().join("given");
        make(&path);
        let output = command.arg(option).arg(&path).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Without namespaces the command fails before it checks them.
        let no_namespaces = !nix::unistd::geteuid().is_root() && output.status.code() == Some(3);
        assert!(no_namespaces || output.status.code() == Some(2), "{stderr}");
        assert!(
            no_namespaces || (stderr.contains("given") && stderr.contains(part)),
            "{stderr}"
        );
    };
    check("--clip", |path| fs::write(path, []).unwrap(), "empty");
    check("--clip", |_| {}, "cannot transfer it: No such file");
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    check("--clip", folder, "cannot transfer it: it is a folder");
    check(
        "--keep",
        |path| fs::write(path, []).unwrap(),
        "not a folder",
    );
    let used = |path: &Path| fs::create_dir_all(path.join("before")).unwrap();
    check("--keep", used, "choose a new folder");
}

#[test]
fn an_interrupt_during_the_writing_of_the_report_ends_the_program() {
    if !can_test() {
        return;
    }
    let sets = [
        "transfer.count=1",
        "schemes=[\"tcp\"]",
        "lab.lateness_bound=1 s",
    ];
    let (mut command, directory) = lab(&sets);
    // Opening a FIFO without a reader blocks the writer.
    let out = directory.path().join("out");
    fs::create_dir(&out).unwrap();
    nix::unistd::mkfifo(&out.join("report.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let collecting = |line: &String| line.ends_with("collecting results");
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
    // The lab's files are gone, so the program is now writing the report.
    sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_run_with_too_much_lateness_is_reported_and_fails() {
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
fn an_unprivileged_lab_runs_in_a_user_namespace_or_names_the_remedy() {
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
    let no_namespaces = stderr.contains("kernel.unprivileged_userns_clone");
    let no_tun = stderr.contains("chmod 0666 /dev/net/tun");
    assert!(no_namespaces || (no_tun && !tun_is_open), "{stderr}");
}
