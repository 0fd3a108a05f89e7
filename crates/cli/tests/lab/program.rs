//! `polypath lab` as its users run it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

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
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
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
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the run is invalid"), "{said}");
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
    let said = String::from_utf8_lossy(&output.stderr);
    let tun_is_open = fs::metadata("/dev/net/tun").unwrap().mode() & 0o006 == 0o006;
    if output.status.code() == Some(0) {
        assert!(tun_is_open || !root, "{said}");
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{said}");
    let namespaces_are_not = said.contains("kernel.unprivileged_userns_clone");
    let tun_is_not = said.contains("chmod 0666 /dev/net/tun");
    assert!(namespaces_are_not || (tun_is_not && !tun_is_open), "{said}");
}
