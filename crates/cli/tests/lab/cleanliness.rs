//! The cleanup of labs that end early.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath_core::rng::Seed;
use polypath_lab::{LabOptions, Progress, can_test, run};

use super::scenarios::{CALM, polypath, scenario};

/// The number of programs: four schemes, each with two nodes and a server.
const PROGRAMS: usize = 12;

/// A running lab with transfers for an hour, in a temporary directory; killed on drop.
struct Running {
    child: Child,
    directory: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if the lab has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start() -> Option<Running> {
    if !can_test() {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("calm.toml");
    fs::write(&file, CALM).unwrap();
    let mut command = Command::new(polypath());
    command
        .arg("lab")
        .arg(&file)
        .args(["--set", "transfer.count=10000"]);
    command.arg("--out").arg(directory.path().join("out"));
    command.env("TMPDIR", directory.path());
    let child = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = Running { child, directory };
    wait_until(|| programs(running.directory.path()).len() == PROGRAMS);
    Some(running)
}

impl Running {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }
}

/// The IDs of processes other than the lab with a file of a lab below `directory` in their
/// arguments.
fn programs(directory: &Path) -> BTreeSet<u32> {
    let directory = directory.join("polypath-lab-");
    let directory = directory.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| {
            let line = fs::read_to_string(process.path().join("cmdline")).ok()?;
            let number = process.file_name().to_str()?.parse().ok()?;
            line.contains(directory).then_some(number)
        })
        .collect()
}

/// The network namespaces of these processes, as `net:[4026532000]`.
fn namespaces(processes: &BTreeSet<u32>) -> BTreeSet<String> {
    let link = |process| fs::read_link(format!("/proc/{process}/ns/net"));
    let links = processes.iter().filter_map(|process| link(process).ok());
    links.map(|l| l.to_string_lossy().into_owned()).collect()
}

/// Asserts that no namespace is mounted and no device exists in the host's namespace.
fn assert_nothing_remains(namespaces: &BTreeSet<String>, before: &BTreeSet<String>) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let named = namespaces.iter().filter(|n| mounts.contains(n.as_str()));
    assert_eq!(named.count(), 0, "{mounts}");
    assert_eq!(&devices(), before);
}

/// Whether `directory` has temporary files of a lab.
fn has_files_of_a_lab(directory: &Path) -> bool {
    let mut entries = directory.read_dir().unwrap().flatten();
    entries.any(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("polypath-lab-")
    })
}

/// The interfaces of the host with names that a lab uses: `pp0`, `p1`, `p2`, ...
fn devices() -> BTreeSet<String> {
    let table = fs::read_to_string("/proc/net/dev").unwrap();
    let names = table.lines().filter_map(|line| line.split_once(':'));
    let is_lab = |name: &str| {
        let number = name.strip_prefix('p').unwrap_or("");
        name == "pp0" || number.parse::<u8>().is_ok()
    };
    names
        .map(|(name, _)| name.trim().to_owned())
        .filter(|name| is_lab(name))
        .collect()
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..1200 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("not within 60 s");
}

#[test]
fn nothing_is_left_behind_after_an_interrupt() {
    let before = devices();
    let Some(mut running) = start() else { return };
    let directory = running.directory.path().to_owned();
    let used = namespaces(&programs(&directory));
    running.signal(Signal::SIGINT);
    wait_until(|| !has_files_of_a_lab(&directory));
    let status = running.child.wait().unwrap();
    assert_eq!(status.code(), Some(1), "{status}");
    wait_until(|| programs(&directory).is_empty());
    assert_nothing_remains(&used, &before);
}

#[test]
fn no_program_outlives_a_lab_that_is_killed() {
    let before = devices();
    let Some(mut running) = start() else { return };
    let directory = running.directory.path().to_owned();
    let used = namespaces(&programs(&directory));
    running.signal(Signal::SIGKILL);
    running.child.wait().unwrap();
    wait_until(|| programs(&directory).is_empty());
    assert_nothing_remains(&used, &before);
}

#[test]
fn nothing_is_left_behind_after_a_panic() {
    if !can_test() {
        return;
    }
    let before = devices();
    let directory = tempfile::tempdir().unwrap();
    let options = LabOptions {
        node_binary: polypath(),
        transfer_file: None,
        keep: Some(directory.path().join("polypath-lab-kept")),
    };
    let scenario = scenario(CALM, &["schemes=[\"ppd-tcp2\"]"]);
    let mut used = BTreeSet::new();
    let result = catch_unwind(AssertUnwindSafe(|| {
        run(&scenario, Seed(1), &options, &mut |progress| {
            if matches!(progress, Progress::Transfers { .. }) {
                used = namespaces(&programs(directory.path()));
                panic!("on purpose, in the middle of the transfers");
            }
        })
    }));
    assert!(result.is_err());
    // One namespace for each endpoint.
    assert_eq!(used.len(), 2, "{used:?}");
    assert_eq!(programs(directory.path()), BTreeSet::new());
    assert_nothing_remains(&used, &before);
}
