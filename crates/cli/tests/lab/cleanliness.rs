//! A lab that ends early leaves nothing behind.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::scenarios::{CALM, can_run, polypath};

/// A lab with transfers for an hour, in a temporary directory of its own.
struct Running {
    child: Child,
    directory: tempfile::TempDir,
}

fn start() -> Option<Running> {
    if !can_run() {
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
    // Four schemes, each with two nodes and a server.
    wait_until(|| programs(running.directory.path()) == 12);
    Some(running)
}

impl Running {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }
}

/// How many programs were started with a file below `directory`, the lab itself aside.
fn programs(directory: &Path) -> usize {
    let directory = directory.join("polypath-lab-");
    let directory = directory.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|p| fs::read_to_string(p.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(directory)).count()
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..200 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("not within 10 s");
}

/// What the machine's own network consists of.
fn interfaces() -> String {
    let said = Command::new("ip")
        .args(["-brief", "link"])
        .output()
        .unwrap();
    let named = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8([said.stdout, named.stdout].concat()).unwrap()
}

#[test]
fn nothing_is_left_behind_after_an_interrupt() {
    let before = interfaces();
    let Some(mut running) = start() else { return };
    running.signal(Signal::SIGINT);
    wait_until(|| running.directory.path().read_dir().unwrap().count() == 1);
    let status = running.child.wait().unwrap();
    assert!(!status.success(), "{status}");
    wait_until(|| programs(running.directory.path()) == 0);
    assert_eq!(interfaces(), before);
}

#[test]
fn no_program_outlives_a_lab_that_is_killed() {
    let before = interfaces();
    let Some(mut running) = start() else { return };
    running.signal(Signal::SIGKILL);
    running.child.wait().unwrap();
    wait_until(|| programs(running.directory.path()) == 0);
    assert_eq!(interfaces(), before);
}
