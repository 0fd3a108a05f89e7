//! A relay as a service: notifications to its manager, and its privileges.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::UnixDatagram;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};

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
    let next = || next_message(&manager);
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
    check_privileges(&relay, NOBODY, false);
    send(&relay, Signal::SIGTERM);
    assert!(relay.wait().unwrap().success());
}

/// Checks that the threads of packets and of statistics are of the user `uid` and its group alone,
/// and whether they have capabilities.
fn check_privileges(relay: &Child, uid: u32, capable: bool) {
    let mut threads = 0;
    for task in fs::read_dir(format!("/proc/{}/task", relay.id())).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let of = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().skip(1).collect::<Vec<_>>()
        };
        // Real, effective, saved and file system.
        assert_eq!(of("Uid:"), [uid.to_string().as_str(); 4], "{status}");
        if !capable {
            assert!(!of("Groups:").contains(&"0"), "{status}");
            assert!(!of("Gid:").contains(&"0"), "{status}");
        }
        for set in ["CapEff:", "CapPrm:"] {
            assert_eq!(of(set) != ["0000000000000000"], capable, "{status}");
        }
        threads += 1;
    }
    assert_eq!(threads, 2, "the threads of packets and of statistics");
}

#[test]
fn a_relay_of_root_becomes_another_user_and_writes_its_statistics() {
    if !Uid::effective().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let files = Files::new(&free_address());
    let default = match User::from_name("polypath").unwrap() {
        Some(user) => user.uid.as_raw(),
        None => NOBODY,
    };
    let text = fs::read_to_string(&files.config).unwrap();
    for (user, uid) in [("", default), ("user = \"daemon\"\n", 1)] {
        fs::write(
            &files.config,
            text.replace("[[path]]", &format!("{user}[[path]]")),
        )
        .unwrap();
        let mut relay = files.start();
        files.await_log("the privileges of root are dropped");
        files.await_log("ready");
        check_privileges(&relay, uid, false);
        // It has read its key, which the user may not read, and written its first statistics.
        assert_eq!(
            files
                .directory
                .path()
                .join("relay.key")
                .metadata()
                .unwrap()
                .uid(),
            0
        );
        send(&relay, Signal::SIGTERM);
        assert!(relay.wait().unwrap().success());
        let stats = fs::read(&files.stats).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
        assert!(stats["drive"]["inputs"].is_u64(), "{stats}");
        let metadata = files.stats.metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o007), (uid, 0));
    }
}

#[test]
fn a_relay_of_root_stays_root_only_on_demand() {
    if !Uid::effective().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let files = Files::new(&free_address());
    let private = PermissionsExt::from_mode(0o700);
    fs::set_permissions(files.directory.path(), private).unwrap();
    let mut refused = files.start();
    assert_eq!(refused.wait().unwrap().code(), Some(2));
    let log = fs::read_to_string(&files.log).unwrap();
    let option = format!("--stats {}", files.stats.display());
    assert!(
        log.contains(&option) && log.contains("ermission denied"),
        "{log}"
    );
    let default = match User::from_name("polypath").unwrap() {
        Some(user) => user.name,
        None => "nobody".to_owned(),
    };
    assert!(log.contains(&format!("as the user `{default}`")), "{log}");
    let text = fs::read_to_string(&files.config).unwrap();
    let root = text.replace("[[path]]", "user = \"root\"\n[[path]]");
    fs::write(&files.config, &root).unwrap();
    let mut relay = files.start();
    files.await_log("keeps the privileges of root");
    files.await_log("ready");
    check_privileges(&relay, 0, true);
    send(&relay, Signal::SIGTERM);
    assert!(relay.wait().unwrap().success());
    fs::write(&files.config, root.replace("\"root\"", "\"no-such-user\"")).unwrap();
    let stderr = refusal(&files.config, 2);
    assert!(
        stderr.contains("relay.toml:3:") && stderr.contains("useradd"),
        "{stderr}"
    );
}
