//! The command line of `polypath node`: two processes with the files of docs/two-nodes.

mod common;
#[path = "node/keys.rs"]
mod keys;
#[path = "node/media_loss.rs"]
mod media_loss;
#[path = "node/operation.rs"]
mod operation;
#[path = "node/quota.rs"]
mod quota;
#[path = "node/refused.rs"]
mod refused;
#[path = "node/reload.rs"]
mod reload;
#[path = "common/service_manager.rs"]
mod service_manager;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{polypath, printed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath_lab::can_test;
use polypath_lab::namespace::Namespace;
use service_manager::next_message;
use tempfile::TempDir;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/two-nodes");

/// A node process, killed on drop.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // Fails if the node has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Node {
    /// Starts the node with the configuration `file`; its log is in the same folder.
    fn start(namespace: &Namespace, file: &Path) -> Self {
        Self::start_with(namespace, file, &[])
    }

    /// Starts the node with the configuration `file` and options.
    fn start_with(namespace: &Namespace, file: &Path, options: &[&OsStr]) -> Self {
        let mut command = polypath();
        command.arg("node").arg(file).stdin(Stdio::null());
        command.args(options);
        command.env("POLYPATH_LOG", "info");
        command.stderr(File::create(log_of(file)).unwrap());
        Self(namespace.spawn(&mut command).unwrap())
    }
}

fn log_of(file: &Path) -> PathBuf {
    file.with_extension("log")
}

/// Waits, at most 20 s, until the log of the node of `file` contains `text` `times` times; returns
/// the log.
fn await_log(file: &Path, text: &str, times: usize) -> String {
    let mut log = String::new();
    for _ in 0..200 {
        log = fs::read_to_string(log_of(file)).unwrap();
        if log.matches(text).count() >= times {
            return log;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the log does not contain `{text}` {times} times: {log}");
}

/// Two namespaces with the links that the files of docs/two-nodes expect, and these files.
struct Testbed {
    a: Namespace,
    b: Namespace,
    files: Files,
}

impl Testbed {
    /// None, with the reason on standard error, if no lab can run.
    fn new() -> Option<Self> {
        if !can_test() {
            return None;
        }
        let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        a.join(&b, "p1", ["10.1.1.1/24", "10.1.1.2/24"]).unwrap();
        a.join(&b, "p2", ["10.1.2.1/24", "10.1.2.2/24"]).unwrap();
        let files = Files::new();
        Some(Self { a, b, files })
    }

    fn start_a(&self) -> Node {
        Node::start(&self.a, &self.files.a)
    }

    fn start_b(&self) -> Node {
        Node::start(&self.b, &self.files.b)
    }
}

/// The files of docs/two-nodes, each with its peer's key.
struct Files {
    directory: TempDir,
    a: PathBuf,
    b: PathBuf,
}

impl Files {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        configure(directory.path());
        let [a, b] = ["a.toml", "b.toml"].map(|name| directory.path().join(name));
        Self { directory, a, b }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Replaces the first occurrence of `old` in `file` by `new`.
fn edit(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).unwrap();
    let edited = text.replacen(old, new, 1);
    assert_ne!(edited, text, "{old}");
    fs::write(file, edited).unwrap();
}

/// Creates keys, and writes the files of docs/two-nodes to `directory`, each with its peer's key
/// and the policy `probe-and-switch`.
fn configure(directory: &Path) {
    let create_key = |name: &str| {
        let file = directory.join(name).with_extension("key");
        let key = printed(&polypath().arg("key").arg(file).output().unwrap());
        key.trim().to_owned()
    };
    let (a, b) = (create_key("a"), create_key("b"));
    for name in ["a.toml", "b.toml"] {
        let text = fs::read_to_string(Path::new(FILES).join(name)).unwrap();
        let text = text.replace("@a@", &a).replace("@b@", &b);
        // The tests need one active path, which a policy that copies everything does not have.
        let text = text.replace("\"duplicate-all\"", "\"probe-and-switch\"");
        fs::write(directory.join(name), text).unwrap();
    }
}

/// Serves `content` to two HTTP requests on port 8080, over IPv4 and IPv6.
fn serve(namespace: &Namespace, content: Vec<u8>) -> std::thread::JoinHandle<()> {
    let listener = namespace.run(|| TcpListener::bind("[::]:8080")).unwrap();
    std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).unwrap() > 0);
            let header = format!(
                "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n",
                content.len()
            );
            stream.write_all(header.as_bytes()).unwrap();
            stream.write_all(&content).unwrap();
        }
    })
}

/// Pings until the first reply, at most 20 s.
fn await_reply(namespace: &Namespace, address: &str) {
    let mut last = String::new();
    for _ in 0..20 {
        let mut command = Command::new("ping");
        command.args(["-n", "-c", "1", "-W", "1", address]);
        match namespace.output(&mut command) {
            Ok(_) => return,
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no reply from {address}: {last}");
}

fn fetch(namespace: &Namespace, host: &str, to: &Path) -> Vec<u8> {
    let mut command = Command::new("curl");
    command.args(["--disable", "--noproxy", "*", "--silent", "--show-error"]);
    command
        .args(["--fail", "--max-time", "20", "--output"])
        .arg(to);
    command.arg(format!("http://{host}:8080/file"));
    namespace.output(&mut command).unwrap();
    fs::read(to).unwrap()
}

#[test]
fn curl_and_ping_cross_two_nodes_over_ipv4_and_ipv6() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    let (a, b) = (&testbed.a, &testbed.b);
    await_reply(b, "10.77.0.1");
    await_reply(b, "fd77::1");
    // The period divides no buffer size, so that a missing or repeated part is detected.
    let content: Vec<u8> = (0..=250).cycle().take(500_000).collect();
    let server = serve(a, content.clone());
    let to = testbed.files.path("fetched");
    for host in ["10.77.0.1", "[fd77::1]"] {
        assert!(fetch(b, host, &to) == content, "{host}");
    }
    server.join().unwrap();
}

#[test]
fn a_replay_makes_the_decisions_of_a_node() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let recording = testbed.files.path("a.recording");
    let options = ["--record".as_ref(), recording.as_ref()];
    let mut a = Node::start_with(&testbed.a, &testbed.files.a, &options);
    let _b = testbed.start_b();
    await_reply(&testbed.b, "10.77.0.1");
    testbed.a.ip(&["link", "set", "p1", "down"]).unwrap();
    await_reply(&testbed.b, "fd77::1");
    let pid = Pid::from_raw(i32::try_from(a.0.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert!(a.0.wait().unwrap().success());
    let mode = fs::metadata(&recording).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let output = polypath().arg("replay").arg(&recording).output().unwrap();
    assert!(printed(&output).contains("decisions over"));
    assert!(output.stderr.is_empty(), "the recording is complete");
}

#[test]
fn packets_beyond_the_mtu_of_the_paths_cross_in_fragments() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    for file in [&testbed.files.a, &testbed.files.b] {
        // The MTU of the links, which leaves no room for the headers of the overlay.
        edit(file, "\"pp0\",", "\"pp0\", mtu = 1500,");
    }
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    await_log(&testbed.files.a, "datagrams will be fragmented", 1);
    await_reply(&testbed.b, "10.77.0.1");
    let ping = |size: &str, address: &str| {
        let mut command = Command::new("ping");
        command.args(["-n", "-c", "3", "-i", "0.1", "-W", "2", "-M", "do"]);
        command.args(["-s", size, address]);
        testbed.b.output(&mut command)
    };
    for (size, address) in [("1472", "10.77.0.1"), ("1452", "fd77::1")] {
        let output = ping(size, address).unwrap();
        assert!(output.contains(" 0% packet loss"), "{output}");
    }
    ping("1473", "10.77.0.1").unwrap_err();
}

#[test]
fn a_silent_peer_and_its_first_reply_are_logged_once_for_each_path() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let _a = testbed.start_a();
    let log = await_log(&testbed.files.a, "no answer from the peer yet", 2);
    assert!(log.contains("uplink1") && log.contains("uplink2"), "{log}");
    assert!(!log.contains("the peer answers"), "{log}");
    let _b = testbed.start_b();
    let log = await_log(&testbed.files.a, "the peer answers", 2);
    assert_eq!(
        log.matches("no answer from the peer yet").count(),
        2,
        "{log}"
    );
}

#[test]
fn another_order_of_paths_at_the_peer_is_logged() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let text = fs::read_to_string(&testbed.files.b).unwrap();
    let parts: Vec<&str> = text.split("[[path]]").collect();
    let [head, first, second] = parts[..] else {
        panic!("{text}")
    };
    let swapped = format!("{head}[[path]]{second}\n[[path]]{first}");
    fs::write(&testbed.files.b, swapped).unwrap();
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    // Either node may log it: the initiator receives little until the handshake is complete.
    let is_logged_by = |file: &PathBuf| {
        let log = fs::read_to_string(log_of(file)).unwrap();
        assert!(!log.contains("no answer from the peer yet"), "{log}");
        log.contains("datagrams for another path arrive here")
    };
    let is_logged = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        is_logged_by(&testbed.files.a) || is_logged_by(&testbed.files.b)
    });
    assert!(is_logged, "neither node logs it");
}

#[test]
fn unauthentic_datagrams_are_not_logged_as_silence() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let key = printed(
        &polypath()
            .arg("key")
            .arg(testbed.files.path("c.key"))
            .output()
            .unwrap(),
    );
    let text = fs::read_to_string(&testbed.files.a).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("public_key"))
        .unwrap();
    edit(
        &testbed.files.a,
        line,
        &format!("public_key = \"{}\"", key.trim()),
    );
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    let message = "datagrams arrive here, and none is authentic from the peer";
    let log = await_log(&testbed.files.b, message, 2);
    assert!(!log.contains("no answer from the peer yet"), "{log}");
}

#[test]
fn another_number_of_paths_at_the_peer_is_logged() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let text = fs::read_to_string(&testbed.files.b).unwrap();
    let second = text.rfind("[[path]]").unwrap();
    fs::write(&testbed.files.b, &text[..second]).unwrap();
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    let message = "the peer has another number of paths";
    let (log_a, log_b) = (
        await_log(&testbed.files.a, message, 1),
        await_log(&testbed.files.b, message, 1),
    );
    assert!(log_a.contains("own=2 peer=1"), "{log_a}");
    assert!(log_b.contains("own=1 peer=2"), "{log_b}");
}

#[test]
fn a_node_keeps_running_while_its_statistics_cannot_be_written() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let file = &testbed.files.a;
    let folder = testbed.files.path("statistics");
    let stats = folder.join("a.json");
    fs::create_dir(&folder).unwrap();
    let _a = Node::start_with(&testbed.a, file, &["--stats".as_ref(), stats.as_ref()]);
    await_log(file, "ready", 1);
    fs::rename(&folder, testbed.files.path("elsewhere")).unwrap();
    let log = await_log(file, "retries each second", 1);
    assert!(
        log.contains(&format!("--stats {}", stats.display())),
        "{log}"
    );
    fs::create_dir(&folder).unwrap();
    let written = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        stats.is_file()
    });
    assert!(written, "the node has exited, or does not retry");
}

#[test]
fn a_node_whose_device_is_deleted_logs_it_and_writes_its_statistics() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let file = &testbed.files.a;
    for policy in ["", "duplicate-all"] {
        if !policy.is_empty() {
            edit(file, "probe-and-switch", policy);
        }
        let stats = testbed.files.path("a.json");
        let mut a = Node::start_with(&testbed.a, file, &["--stats".as_ref(), stats.as_ref()]);
        await_log(file, "ready", 1);
        testbed.a.ip(&["link", "delete", "pp0"]).unwrap();
        let ended = a.0.wait().unwrap();
        let log = fs::read_to_string(log_of(file)).unwrap();
        assert_eq!(ended.code(), Some(1), "{log}");
        assert!(log.contains("TUN device `pp0` was deleted"), "{log}");
        let stats: serde_json::Value = serde_json::from_slice(&fs::read(stats).unwrap()).unwrap();
        assert!(stats["drive"]["inputs"].is_u64(), "{stats}");
    }
}

#[test]
fn a_full_disk_does_not_change_the_exit_code_of_a_stop() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let file = &testbed.files.a;
    let options = ["--stats".as_ref(), "/dev/full".as_ref()];
    let mut a = Node::start_with(&testbed.a, file, &options);
    await_log(file, "retries each second", 1);
    let pid = Pid::from_raw(i32::try_from(a.0.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let ended = a.0.wait().unwrap();
    let log = fs::read_to_string(log_of(file)).unwrap();
    assert!(ended.success(), "{ended}: {log}");
    assert!(
        log.contains("the last statistics cannot be written"),
        "{log}"
    );
}

#[test]
fn the_silence_of_an_uplink_and_its_return_are_logged() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let silent = "heartbeats are no longer answered here";
    check_silence_is_logged(&testbed, silent, "heartbeats are answered here again");
}

#[test]
fn without_heartbeats_silence_is_logged_if_every_packet_uses_every_path() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    for file in [&testbed.files.a, &testbed.files.b] {
        edit(file, "[node]", "liveness = \"off\"\n[node]");
    }
    let silent = "no datagrams from the peer arrive here";
    check_silence_is_logged(
        &testbed,
        silent,
        "datagrams from the peer arrive here again",
    );
}

/// Takes an uplink down and up again; both logs must contain `silent` and then `back`.
fn check_silence_is_logged(testbed: &Testbed, silent: &str, back: &str) {
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    await_log(&testbed.files.a, "the peer answers", 2);
    let mut ping = Command::new("ping");
    ping.args(["-n", "-q", "-i", "0.1", "10.77.0.1"]);
    let _ping = Node(testbed.b.spawn(ping.stdout(Stdio::null())).unwrap());
    let set = |state: &str| {
        let mut command = Command::new("ip");
        command.args(["link", "set", "p1", state]);
        testbed.a.output(&mut command).unwrap();
    };
    set("down");
    for file in [&testbed.files.a, &testbed.files.b] {
        let log = await_log(file, silent, 1);
        let line = log.lines().find(|line| line.contains(silent)).unwrap();
        assert!(line.contains("WARN") && line.contains("uplink1"), "{line}");
    }
    set("up");
    for file in [&testbed.files.a, &testbed.files.b] {
        let log = await_log(file, back, 1);
        assert_eq!(log.matches(silent).count(), 1, "{log}");
    }
}
