//! The command line of `polypath stream`.

mod common;

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use common::{polypath, printed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

fn stream(arguments: &[&str]) -> Output {
    polypath().arg("stream").args(arguments).output().unwrap()
}

/// The message of a command that failed with this exit code.
fn failed(code: i32, arguments: &[&str]) -> String {
    let output = stream(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{message}");
    message
}

/// A server, killed on drop.
struct RunningServer {
    child: Child,
    address: String,
    /// The lines that it printed up to its address.
    head: String,
}

impl RunningServer {
    fn start(arguments: &[&str], input: Stdio) -> Self {
        Self::start_as(polypath(), arguments, input)
    }

    fn start_as(mut program: Command, arguments: &[&str], input: Stdio) -> Self {
        let mut child = program
            .args(["stream", "serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap());
        let mut head = String::new();
        let address = loop {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{head}");
            head.push_str(&line);
            if let Some((_, rest)) = line.split_once("serving at ") {
                break rest.split(';').next().unwrap().to_owned();
            }
        };
        Self {
            child,
            address,
            head,
        }
    }

    /// Waits until a receiver has connected.
    fn await_receiver(&self) {
        let (_, port) = self.address.rsplit_once(':').unwrap();
        // The local port and the state `ESTABLISHED` of a row of /proc/net/tcp (proc(5)).
        let port = format!(":{:04X}", port.parse::<u16>().unwrap());
        let is_connected = |row: &str| {
            let mut fields = row.split_whitespace().skip(1);
            fields.next().is_some_and(|local| local.ends_with(&port)) && fields.nth(1) == Some("01")
        };
        let is_any_connected = || {
            let rows = fs::read_to_string("/proc/net/tcp").unwrap();
            rows.lines().any(is_connected)
        };
        let mut attempts = 0;
        while !is_any_connected() {
            attempts += 1;
            assert!(attempts < 3000, "no receiver connects");
            std::thread::sleep(Duration::from_millis(20));
        }
        // The stream begins with the hello, a round trip later.
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Ends it by a signal, and returns its counters.
    fn finish(mut self) -> Value {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
        let mut text = String::new();
        let output = self.child.stdout.as_mut().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A key file, and the public key of its streams.
fn key(folder: &Path, name: &str) -> (String, String) {
    let file = folder.join(name);
    let file = file.to_str().unwrap().to_owned();
    assert!(
        polypath()
            .args(["key", &file])
            .output()
            .unwrap()
            .status
            .success()
    );
    let public = printed(&stream(&["key", &file])).trim().to_owned();
    (file, public)
}

fn media(folder: &Path, len: usize) -> (PathBuf, Vec<u8>) {
    let bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
    let path = folder.join("media.ts");
    fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

#[test]
fn a_file_arrives_over_tls_in_a_new_file_and_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = media(folder.path(), 700_000);
    let (server_key, server_public) = key(folder.path(), "server.key");
    let (receiver_key, receiver_public) = key(folder.path(), "receiver.key");
    let source = path.to_str().unwrap();
    let arguments = [
        "--source",
        source,
        "--key",
        &server_key,
        "--allow",
        &receiver_public,
    ];
    let server = RunningServer::start(
        &[&arguments[..], &["--format", "json"]].concat(),
        Stdio::null(),
    );
    assert!(
        server.head.contains(&format!("--peer {server_public}")),
        "{}",
        server.head
    );
    let to = folder.path().join("received.ts");
    let to = to.to_str().unwrap();
    let get = [
        "get",
        &server.address,
        "--rate",
        "20Mbit/s",
        "--key",
        &receiver_key,
        "--peer",
        &server_public,
        "--format",
        "json",
    ];
    let output = stream(&[&get[..], &["--to", to]].concat());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert!(fs::read(to).unwrap() == bytes);
    let start = message.find("\n{").map_or(0, |at| at + 1);
    let report: Value = serde_json::from_str(&message[start..]).unwrap();
    assert_eq!(report["bytes"], 700_000);
    assert_eq!(report["connections"]["failed"], 0);

    let piped = stream(&[&get[..], &["--connections", "auto"]].concat());
    assert!(piped.status.success() && piped.stdout == bytes);

    let recording = folder.path().join("recording");
    let recording = recording.to_str().unwrap();
    let recorded = stream(&[&get[..], &["--record", recording]].concat());
    assert!(recorded.status.success() && recorded.stdout == bytes);
    let mut replay = polypath();
    let replayed = printed(&replay.args(["replay", recording]).output().unwrap());
    assert!(replayed.contains("match the recording of"), "{replayed}");
    for [file, to] in [
        [&*receiver_key, "-"],
        [recording, recording],
        ["/nowhere/recording", "-"],
    ] {
        let both = ["--to", to, "--record", file];
        let message = failed(2, &[&get[..], &both].concat());
        assert!(message.contains(&format!(" {file}: ")), "{message}");
    }

    // The file is not overwritten.
    let message = failed(2, &[&get[..], &["--to", to]].concat());
    assert!(message.contains("choose another name"), "{message}");
    // A failure creates no file.
    let nowhere = folder.path().join("failed.ts");
    let mut unreachable = get;
    unreachable[1] = "127.0.0.1:9";
    let away = ["--to", nowhere.to_str().unwrap(), "--patience", "1 s"];
    failed(1, &[&unreachable[..], &away].concat());
    assert!(!nowhere.exists());
    // Another key than the server's.
    let mut other = get;
    other[7] = &receiver_public;
    let message = failed(1, &other);
    assert!(message.contains(&server_public), "{message}");
    let counts = server.finish();
    assert_eq!(counts["receivers"]["completed"], 3);
}

#[test]
fn live_media_of_standard_input_ends_with_its_receivers() {
    let mut server = RunningServer::start(
        &["--source", "-", "--insecure", "--format", "json"],
        Stdio::piped(),
    );
    let mut input = server.child.stdin.take().unwrap();
    let receiver = polypath()
        .args([
            "stream",
            "get",
            &server.address,
            "--rate",
            "8 Mbit/s",
            "--insecure",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.await_receiver();
    let mut sent = Vec::new();
    for number in 0..300_u32 {
        let chunk = number.to_be_bytes().repeat(300);
        input.write_all(&chunk).unwrap();
        sent.extend(chunk);
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(input);
    let output = receiver.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(
        output.stdout.len() > sent.len() / 3,
        "{} B",
        output.stdout.len()
    );
    assert!(sent.ends_with(&output.stdout));
    assert!(
        server.child.wait().unwrap().success(),
        "it ends with its source"
    );
}

/// A signal ends the stream of live media for its receivers: they have all that came, and learn why
/// it ends.
#[test]
fn receivers_of_a_server_that_is_stopped_learn_it_at_once() {
    let mut server = RunningServer::start(&["--source", "-", "--insecure"], Stdio::piped());
    let mut input = server.child.stdin.take().unwrap();
    let receiver = polypath()
        .args(["stream", "get", &server.address, "--rate", "8 Mbit/s"])
        .args(["--insecure", "--patience", "1 h", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.await_receiver();
    let sent: Vec<u8> = (0..5000_u32).flat_map(u32::to_be_bytes).collect();
    input.write_all(&sent).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let pid = Pid::from_raw(i32::try_from(server.child.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let output = receiver.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout == sent, "{} B", output.stdout.len());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("the server was stopped"), "{message}");
    assert!(message.contains("\"complete\": false"), "{message}");
    assert!(server.child.wait().unwrap().success());
}

/// A source of TCP that is reset after 4 s of media: the receiver still gets them, at their rate, and
/// then the reason.
#[test]
fn receivers_get_what_is_left_of_a_source_that_fails() {
    let port = {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap().port()
    };
    let source = format!("tcp://127.0.0.1:{port}");
    let mut server = RunningServer::start(&["--source", &source, "--insecure"], Stdio::null());
    let get = ["stream", "get", &server.address, "--rate", "1 Mbit/s"];
    let receiver = polypath()
        .args(get)
        .arg("--insecure")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.await_receiver();
    // Words of their positions: the receiver may have come late.
    let sent: Vec<u8> = (0..125_020_u32).flat_map(u32::to_be_bytes).collect();
    let mut input = TcpStream::connect(("127.0.0.1", port)).unwrap();
    input.write_all(&sent).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    TcpStream::connect(("127.0.0.1", port)).expect_err("it has its one program");
    std::thread::sleep(Duration::from_millis(500));
    socket2::SockRef::from(&input)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(input);
    let output = receiver.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("the source of the server failed"),
        "{message}"
    );
    let media = output.stdout;
    let first = u32::from_be_bytes(*media.first_chunk().unwrap()) as usize * 4;
    assert!(media == sent[first..], "{} from {first}", media.len());
    assert_eq!(server.child.wait().unwrap().code(), Some(1));
}

#[test]
fn bad_input_of_a_server_is_refused_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = media(folder.path(), 10);
    let (server_key, _) = key(folder.path(), "server.key");
    let source = path.to_str().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--source"];
    let with = |more: &[&'static str]| [&serve[..], &[source], more].concat();
    let message = failed(2, &with(&[]));
    assert!(message.contains("--key"), "{message}");
    let keyed = [&serve[..], &[source, "--key", &server_key]].concat();
    let message = failed(2, &keyed);
    assert!(message.contains("--allow KEY"), "{message}");
    let message = failed(2, &[&keyed[..], &["--allow", "nonsense"]].concat());
    assert!(message.contains("polypath stream key FILE"), "{message}");
    // To open a pipe would wait for its writer.
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (refused, reason) in [
        ("rtp://127.0.0.1:5000", "not rtp://"),
        ("missing.ts", "missing.ts: No such file"),
        (folder.path().to_str().unwrap(), "no regular file"),
        (pipe.to_str().unwrap(), "no regular file"),
        ("udp://127.0.0.1:0", "port 0"),
    ] {
        let message = failed(2, &[&serve[..], &[refused, "--insecure"]].concat());
        assert!(message.contains(reason), "{message}");
    }
    let named = ["serve", "--listen", "localhost:7400", "--source", source];
    let message = failed(2, &[&named[..], &["--insecure"]].concat());
    assert!(message.contains("such as 127.0.0.1:5000"), "{message}");
    let twice = ["serve", "--listen", "127.0.0.1:7400", "--insecure"];
    let message = failed(
        2,
        &[&twice[..], &["--source", "tcp://127.0.0.1:7400"]].concat(),
    );
    assert!(message.contains("different ports"), "{message}");
    let exposed = ["serve", "--listen", "0.0.0.0:0", "--source", source];
    let message = failed(2, &[&exposed[..], &["--insecure"]].concat());
    assert!(message.contains("no loopback address"), "{message}");
    let unusable = [
        "serve",
        "--listen",
        "192.0.2.1:7400",
        "--source",
        source,
        "--key",
        &server_key,
        "--allow-anyone",
    ];
    let message = failed(3, &unusable);
    assert!(message.contains("listening at 192.0.2.1:7400"), "{message}");
}

#[test]
fn bad_input_of_a_receiver_is_refused_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (server_key, public) = key(folder.path(), "server.key");
    for host in ["server.example", "::1:7400", "server.example:web"] {
        let message = failed(2, &["get", host, "--rate", "1 Mbit/s", "--insecure"]);
        assert!(message.contains("a host and a port, such as"), "{message}");
    }
    let get = ["get", "127.0.0.1:9", "--rate"];
    let message = failed(2, &[&get[..], &["800", "--insecure"]].concat());
    assert!(message.contains("bit/s"), "{message}");
    let message = failed(2, &[&get[..], &["-1", "--insecure"]].concat());
    assert!(!message.contains("tip"), "{message}");
    for (to, reason) in [
        (folder.path().to_str().unwrap(), "is a folder"),
        ("udp://127.0.0.1:0", "port 0"),
    ] {
        let message = failed(
            2,
            &[&get[..], &["1 Mbit/s", "--insecure", "--to", to]].concat(),
        );
        assert!(message.contains(reason), "{message}");
    }
    let message = failed(2, &[&get[..], &["10 bit/s", "--insecure"]].concat());
    assert!(message.contains("1 kbit/s to"), "{message}");
    let message = failed(2, &[&get[..], &["1 Mbit/s", "--key", &server_key]].concat());
    assert!(message.contains("--peer"), "{message}");
    let both = [
        "1 Mbit/s",
        "--insecure",
        "--connections",
        "auto",
        "--window",
        "3",
    ];
    let message = failed(2, &[&get[..], &both].concat());
    assert!(message.contains("--window fixes"), "{message}");
    let remote = ["get", "192.0.2.1:7400", "--rate", "1 Mbit/s", "--insecure"];
    let message = failed(2, &remote);
    assert!(message.contains("no loopback address"), "{message}");
    let away = ["1 Mbit/s", "--insecure", "--patience", "1 s"];
    let message = failed(1, &[&get[..], &away].concat());
    assert!(message.contains("no connection for 1 s"), "{message}");
    assert_eq!(public.len(), 44);
}

/// The arguments of a server of a file without encryption.
fn insecure(path: &Path) -> [&str; 5] {
    let path = path.to_str().unwrap();
    ["--source", path, "--insecure", "--format", "json"]
}

/// 10 000 clients connect and say nothing, and a shell has set a limit of 80 descriptors: a receiver is
/// served all the same.
#[test]
fn half_open_clients_and_a_low_limit_of_descriptors_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = media(folder.path(), 100_000);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -S -n 80; exec \"$0\" \"$@\""]);
    shell.arg(polypath().get_program());
    let server = RunningServer::start_as(shell, &insecure(&path), Stdio::null());
    let mut idle = VecDeque::new();
    for _ in 0..10_000 {
        idle.push_back(TcpStream::connect(&server.address).unwrap());
        // This process has a limit, too.
        if idle.len() > 600 {
            idle.pop_front();
        }
    }
    let get = ["get", &server.address, "--rate", "20Mbit/s", "--insecure"];
    let output = stream(&get);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, bytes);
    drop(idle);
    let counters = server.finish();
    assert_eq!(counters["receivers"]["completed"], 1);
}

#[test]
fn a_full_disk_is_an_error_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = media(folder.path(), 200_000);
    let server = RunningServer::start(&insecure(&path), Stdio::null());
    let (_, port) = server.address.rsplit_once(':').unwrap();
    let get = [
        "get",
        // Which has two addresses as a rule.
        &format!("localhost:{port}"),
        "--rate",
        "20Mbit/s",
        "--insecure",
        "--to",
        "/dev/full",
    ];
    let message = failed(1, &get);
    assert!(message.contains("No space left on device"), "{message}");
}

#[test]
fn a_share_limits_automatic_connections_alone() {
    let get = [
        "get",
        "127.0.0.1:9",
        "--rate",
        "1Mbit/s",
        "--insecure",
        "--max-share",
        "2",
    ];
    let message = failed(2, &get);
    assert!(message.contains("--connections auto"), "{message}");
}
