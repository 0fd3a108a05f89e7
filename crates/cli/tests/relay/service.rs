//! A relay as a service: notifications to its manager, and its privileges.

use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};

use super::*;

/// The user ID of `nobody`.
const NOBODY: u32 = 65_534;

fn send(relay: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(relay.id()).unwrap());
    kill(pid, signal).unwrap();
}

#[test]
fn the_service_manager_is_notified_and_a_hangup_changes_nothing() {
    let files = Files::new(&free_address());
    let notify = files.directory.path().join("notify");
    let manager = UnixDatagram::bind(&notify).unwrap();
    let timeout = Some(Duration::from_secs(20));
    manager.set_read_timeout(timeout).unwrap();
    let mut command = polypath();
    command.arg("relay").arg(&files.config).stdin(Stdio::null());
    command.env("NOTIFY_SOCKET", &notify);
    command.env("WATCHDOG_USEC", "200000");
    command.stderr(File::create(&files.log).unwrap());
    let mut relay = command.spawn().unwrap();
    let next = || {
        let mut buffer = [0; 512];
        let len = manager.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    };
    assert_eq!(next(), "READY=1");
    let messages: Vec<String> = (0..2).map(|_| next()).collect();
    assert_eq!(messages, ["WATCHDOG=1", "STATUS=0 of 2 nodes connected"]);
    send(&relay, Signal::SIGHUP);
    // At half the watchdog interval, for longer than a second: an unchanged status is not repeated.
    let watchdogs = (0..20).filter(|_| next() == "WATCHDOG=1").count();
    assert_eq!(watchdogs, 20);
    files.await_log("SIGHUP: a relay does not reload its file");
    send(&relay, Signal::SIGTERM);
    assert!((0..100).any(|_| next() == "STOPPING=1"));
    assert!(relay.wait().unwrap().success());
}

#[test]
fn privileges_are_dropped_once_the_sockets_are_open() {
    if !Uid::effective().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let address = free_address();
    let files = Files::new(&address);
    let directory = files.directory.path();
    fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    chown(directory.join("relay.key"), Some(NOBODY), Some(NOBODY)).unwrap();
    // As systemd starts it, with the unit of the package.
    let capabilities = "+net_admin,+net_raw,+net_bind_service";
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.args(["--inh-caps", capabilities, "--ambient-caps", capabilities]);
    command.arg(polypath().get_program()).arg("relay");
    command.args([files.config.as_os_str(), OsStr::new("--stats")]);
    command.arg(&files.stats).env("POLYPATH_LOG", "info");
    let log = File::create(&files.log).unwrap();
    let mut relay = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
    files.await_log("ready");
    // They were used before that: the buffer exceeds `net.core.rmem_max`, and the kernel reports
    // twice its size.
    let mut sockets = Command::new("ss");
    let sockets = sockets.args(["-ulnmH", "src", &address]).output().unwrap();
    let sockets = printed(&sockets);
    assert!(sockets.contains("rb8388608"), "{sockets}");
    let mut threads = 0;
    for task in fs::read_dir(format!("/proc/{}/task", relay.id())).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let of = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().nth(1).unwrap().to_owned()
        };
        assert_eq!(of("Uid:"), NOBODY.to_string(), "{status}");
        for set in ["CapEff:", "CapPrm:", "CapAmb:"] {
            assert_eq!(of(set), "0000000000000000", "{status}");
        }
        threads += 1;
    }
    assert_eq!(threads, 2, "the threads of packets and of statistics");
    send(&relay, Signal::SIGTERM);
    assert!(relay.wait().unwrap().success());
}
