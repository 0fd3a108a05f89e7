//! `polypath node` as its users run it: two processes, from the files of docs/two-nodes.

mod common;
#[path = "node/operation.rs"]
mod operation;
#[path = "node/refused.rs"]
mod refused;

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
use tempfile::TempDir;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/two-nodes");

/// A node process, which ends with the test.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // The test is over; it may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Node {
    /// Starts the node of `file`, whose log goes beside it.
    fn start(namespace: &Namespace, file: &Path) -> Self {
        Self::start_with(namespace, file, &[])
    }

    /// Starts the node of `file` with options.
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

/// Waits until the log of the node of `file` says `what` of as many paths, at most 20 s, and gives
/// the log.
fn await_log(file: &Path, what: &str, times: usize) -> String {
    let mut log = String::new();
    for _ in 0..200 {
        log = fs::read_to_string(log_of(file)).unwrap();
        if log.matches(what).count() >= times {
            return log;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("`{what}` is not said {times} times: {log}");
}

/// Two namespaces, joined by the links that the files of docs/two-nodes expect, and these files.
struct Testbed {
    a: Namespace,
    b: Namespace,
    files: Files,
}

impl Testbed {
    /// Nothing where this machine cannot have it.
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

/// The files of docs/two-nodes, each with the other's key.
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

/// Replaces the first `old` in `file` by `new`.
fn edit(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).unwrap();
    let edited = text.replacen(old, new, 1);
    assert_ne!(edited, text, "{old}");
    fs::write(file, edited).unwrap();
}

/// Makes keys and puts the files of docs/two-nodes into `directory`, each with the other's key.
fn configure(directory: &Path) {
    let make = |name: &str| {
        let file = directory.join(name).with_extension("key");
        let key = printed(&polypath().arg("key").arg(file).output().unwrap());
        key.trim().to_owned()
    };
    let (a, b) = (make("a"), make("b"));
    for name in ["a.toml", "b.toml"] {
        let text = fs::read_to_string(Path::new(FILES).join(name)).unwrap();
        let text = text.replace("@a@", &a).replace("@b@", &b);
        fs::write(directory.join(name), text).unwrap();
    }
}

/// Answers two requests on port 8080 of either family with `content`.
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

/// Pings until the first answer, at most 20 s.
fn await_answer(namespace: &Namespace, address: &str) {
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
    panic!("no answer from {address}: {last}");
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
    await_answer(b, "10.77.0.1");
    await_answer(b, "fd77::1");
    // A period that divides no buffer, so that a part that is missing or doubled shows.
    let content: Vec<u8> = (0..=250).cycle().take(500_000).collect();
    let server = serve(a, content.clone());
    let to = testbed.files.path("fetched");
    for host in ["10.77.0.1", "[fd77::1]"] {
        assert!(fetch(b, host, &to) == content, "{host}");
    }
    server.join().unwrap();
}

#[test]
fn what_a_node_decided_is_decided_again() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let recording = testbed.files.path("a.recording");
    let options = ["--record".as_ref(), recording.as_ref()];
    let mut a = Node::start_with(&testbed.a, &testbed.files.a, &options);
    let _b = testbed.start_b();
    await_answer(&testbed.b, "10.77.0.1");
    testbed.a.ip(&["link", "set", "p1", "down"]).unwrap();
    await_answer(&testbed.b, "fd77::1");
    let pid = Pid::from_raw(i32::try_from(a.0.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert!(a.0.wait().unwrap().success());
    let mode = fs::metadata(&recording).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let output = polypath().arg("replay").arg(&recording).output().unwrap();
    assert!(printed(&output).contains("decisions over"));
    assert!(output.stderr.is_empty(), "it ended in order");
}

#[test]
fn packets_beyond_the_mtu_of_the_paths_cross_in_fragments() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    for file in [&testbed.files.a, &testbed.files.b] {
        // As much as the links carry, which leaves nothing for the headers of the overlay.
        edit(file, "\"pp0\",", "\"pp0\", mtu = 1500,");
    }
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    await_log(&testbed.files.a, "datagrams will be fragmented", 1);
    await_answer(&testbed.b, "10.77.0.1");
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
fn a_silent_peer_is_told_once_for_each_path_and_its_answer_too() {
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
fn paths_in_another_order_at_the_peer_are_told() {
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
    // Where more comes: whoever began the handshake gets little until its end is proved.
    let told = |file: &PathBuf| {
        let log = fs::read_to_string(log_of(file)).unwrap();
        assert!(!log.contains("no answer from the peer yet"), "{log}");
        log.contains("what comes here is for another path")
    };
    let is_told = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        told(&testbed.files.a) || told(&testbed.files.b)
    });
    assert!(is_told, "neither node says so");
}

#[test]
fn what_comes_and_does_not_open_is_no_silence() {
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
    let told = "something comes here, and none of it opens as the peer's";
    let log = await_log(&testbed.files.b, told, 2);
    assert!(!log.contains("no answer from the peer yet"), "{log}");
}

#[test]
fn another_number_of_paths_at_the_peer_is_told() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let text = fs::read_to_string(&testbed.files.b).unwrap();
    let second = text.rfind("[[path]]").unwrap();
    fs::write(&testbed.files.b, &text[..second]).unwrap();
    let (_a, _b) = (testbed.start_a(), testbed.start_b());
    let told = "the peer has another number of paths";
    let (log_a, log_b) = (
        await_log(&testbed.files.a, told, 1),
        await_log(&testbed.files.b, told, 1),
    );
    assert!(log_a.contains("own=2 peer=1"), "{log_a}");
    assert!(log_b.contains("own=1 peer=2"), "{log_b}");
}

#[test]
fn a_node_goes_on_while_its_statistics_cannot_be_written() {
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
    let log = await_log(file, "tries again each second", 1);
    assert!(
        log.contains(&format!("--stats {}", stats.display())),
        "{log}"
    );
    fs::create_dir(&folder).unwrap();
    let written = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        stats.is_file()
    });
    assert!(written, "it has ended, or gave up");
}

#[test]
fn a_node_whose_device_is_deleted_says_so_with_the_remedy_and_leaves_its_statistics() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let file = &testbed.files.a;
    for offload in ["", "duplicate-all"] {
        if !offload.is_empty() {
            edit(file, "probe-and-switch", offload);
        }
        let stats = testbed.files.path("a.json");
        let mut a = Node::start_with(&testbed.a, file, &["--stats".as_ref(), stats.as_ref()]);
        await_log(file, "ready", 1);
        testbed.a.ip(&["link", "delete", "pp0"]).unwrap();
        let ended = a.0.wait().unwrap();
        let log = fs::read_to_string(log_of(file)).unwrap();
        assert_eq!(ended.code(), Some(1), "{log}");
        assert!(log.contains("TUN device `pp0` is gone"), "{log}");
        let stats: serde_json::Value = serde_json::from_slice(&fs::read(stats).unwrap()).unwrap();
        assert!(stats["drive"]["inputs"].is_u64(), "{stats}");
    }
}

#[test]
fn a_full_disk_does_not_make_a_clean_stop_a_failure() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let file = &testbed.files.a;
    let options = ["--stats".as_ref(), "/dev/full".as_ref()];
    let mut a = Node::start_with(&testbed.a, file, &options);
    await_log(file, "tries again each second", 1);
    let pid = Pid::from_raw(i32::try_from(a.0.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let ended = a.0.wait().unwrap();
    let log = fs::read_to_string(log_of(file)).unwrap();
    assert!(ended.success(), "{ended}: {log}");
    assert!(log.contains("the last statistics are not written"), "{log}");
}

#[test]
fn an_uplink_that_falls_silent_is_told_and_its_return_too() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let silent = "heartbeats are not answered here any more";
    tell_a_silence(&testbed, silent, "heartbeats are answered here again");
}

#[test]
fn without_heartbeats_it_is_told_where_each_packet_leaves_something_on_every_path() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    for file in [&testbed.files.a, &testbed.files.b] {
        edit(file, "[node]", "liveness = \"off\"\n[node]");
    }
    let silent = "nothing of the peer comes here any more";
    tell_a_silence(&testbed, silent, "the peer is heard here again");
}

/// Takes an uplink down and up again, of which both logs must tell in these words.
fn tell_a_silence(testbed: &Testbed, silent: &str, back: &str) {
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
        let told = log.lines().find(|line| line.contains("any more")).unwrap();
        assert!(told.contains("WARN") && told.contains("uplink1"), "{told}");
    }
    set("up");
    for file in [&testbed.files.a, &testbed.files.b] {
        let log = await_log(file, back, 1);
        assert_eq!(log.matches("any more").count(), 1, "{log}");
    }
}
