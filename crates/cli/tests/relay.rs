//! The command line of `polypath relay`.

mod common;
#[path = "relay/service.rs"]
mod service;
#[path = "common/service_manager.rs"]
mod service_manager;

use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{polypath, printed};
use polypath_session::datagram::INITIATION_LEN;
use service_manager::next_message;
use tempfile::TempDir;

/// A relay's configuration file and its keys.
struct Files {
    directory: TempDir,
    config: PathBuf,
    stats: PathBuf,
    log: PathBuf,
}

impl Files {
    /// Creates the files of a relay at the address `local`.
    fn new(local: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Statistics are written by the user to whom a relay of root drops its privileges.
        let everybody = PermissionsExt::from_mode(0o777);
        fs::set_permissions(directory.path(), everybody).unwrap();
        let key = |name: &str| {
            let file = directory.path().join(name);
            let key = printed(&polypath().arg("key").arg(file).output().unwrap());
            key.trim().to_owned()
        };
        let (_, a, b) = (key("relay.key"), key("a.key"), key("b.key"));
        let text = format!(
            "[relay]\nkey_file = \"relay.key\"\n[[path]]\nname = \"one\"\nlocal = \"{local}\"\nrate = \"10 Mbit/s\"\n\
             nodes = [{{ name = \"a\", public_key = \"{a}\" }}, {{ name = \"b\", public_key = \"{b}\" }}]\n"
        );
        let [config, stats, log] =
            ["relay.toml", "relay.json", "relay.log"].map(|name| directory.path().join(name));
        fs::write(&config, text).unwrap();
        Self {
            directory,
            config,
            stats,
            log,
        }
    }

    fn start(&self) -> Child {
        let mut command = polypath();
        command.arg("relay").arg(&self.config);
        command.arg("--stats").arg(&self.stats);
        command
            .stdin(Stdio::null())
            .stderr(File::create(&self.log).unwrap());
        command.env("POLYPATH_LOG", "info");
        command.spawn().unwrap()
    }

    /// Waits, at most 20 s, until the log contains `text`; returns the log.
    fn await_log(&self, text: &str) -> String {
        let mut log = String::new();
        for _ in 0..200 {
            log = fs::read_to_string(&self.log).unwrap();
            if log.contains(text) {
                return log;
            }
            sleep(Duration::from_millis(100));
        }
        panic!("the log does not contain `{text}`: {log}");
    }
}

/// An unused loopback address.
fn free_address() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().to_string()
}

/// The standard error of a relay that exits with `code`.
fn refusal(file: &Path, code: i32) -> String {
    let output = polypath().arg("relay").arg(file).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

#[test]
fn unauthentic_datagrams_are_counted_without_reply_and_signals_stop_the_relay() {
    let address = free_address();
    let files = Files::new(&address);
    for signal in ["TERM", "INT"] {
        let mut relay = files.start();
        files.await_log("ready");
        let unknown = UdpSocket::bind("127.0.0.1:0").unwrap();
        for bytes in [&[1; INITIATION_LEN][..], &[3; 100], b"junk"] {
            unknown.send_to(bytes, &address).unwrap();
        }
        let log = files.await_log("bad-mac");
        let source = format!("source={}", unknown.local_addr().unwrap());
        assert!(log.contains(&source), "{log}");
        assert!(log.contains("`relay.public_key`"), "{log}");
        unknown
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        unknown.recv(&mut [0; 2000]).unwrap_err();
        let pid = relay.id().to_string();
        let killed = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(killed.unwrap().success());
        assert!(relay.wait().unwrap().success(), "{signal}");
        let stats: serde_json::Value =
            serde_json::from_slice(&fs::read(&files.stats).unwrap()).unwrap();
        assert_eq!(stats["version"], 1);
        let path = &stats["paths"][0];
        assert_eq!(path["name"], "one");
        assert_eq!(path["received"]["packets"], 3);
        assert_eq!(path["sent"]["packets"], 0);
        assert_eq!(path["rejected"]["bad-mac"], 1);
        assert_eq!(path["rejected"]["unknown-index"], 1);
        assert_eq!(path["nodes"][0]["name"], "a");
        assert_eq!(path["nodes"][1]["established"], false);
        assert_eq!(path["nodes"][1]["dropped"]["rate"], 0);
    }
}

#[test]
fn input_errors_have_a_message_and_an_exit_code() {
    let address = free_address();
    let files = Files::new(&address);
    let text = fs::read_to_string(&files.config).unwrap();
    let wrong = files.directory.path().join("wrong.toml");
    fs::write(&wrong, text.replace("rate =", "rat =")).unwrap();
    let stderr = refusal(&wrong, 2);
    assert!(
        stderr.contains("wrong.toml:6:") && stderr.contains("`rate`"),
        "{stderr}"
    );
    fs::write(&wrong, text.replace("relay.key", "none.key")).unwrap();
    let stderr = refusal(&wrong, 2);
    assert!(stderr.contains("polypath key"), "{stderr}");
    refusal(&files.directory.path().join("none.toml"), 2);
    let _occupied = UdpSocket::bind(&address).unwrap();
    let stderr = refusal(&files.config, 3);
    assert!(stderr.contains("ss -ulpn"), "{stderr}");
}

#[test]
fn the_json_log_includes_the_final_error() {
    let files = Files::new(&free_address());
    let start = |level: &str| {
        let mut command = polypath();
        command.arg("relay").arg(&files.config);
        command
            .args(["--log-format", "json"])
            .env("POLYPATH_LOG", level);
        let log = File::create(&files.log).unwrap();
        command.stdin(Stdio::null()).stderr(log).spawn().unwrap()
    };
    let lines = || {
        let log = fs::read_to_string(&files.log).unwrap();
        let read = |line| serde_json::from_str::<serde_json::Value>(line).expect(line);
        log.lines().map(read).collect::<Vec<_>>()
    };
    let mut relay = start("info");
    files.await_log("ready");
    relay.kill().unwrap();
    relay.wait().unwrap();
    let ready = lines().pop().unwrap();
    fs::write(&files.config, "name = 1\nnonsense = 2\n").unwrap();
    // The failure is printed at any level.
    assert_eq!(start("off").wait().unwrap().code(), Some(2));
    let failure = lines();
    assert_eq!(failure.len(), 1, "{failure:?}");
    assert_eq!(
        (&failure[0]["level"], &failure[0]["exit_code"]),
        (&"ERROR".into(), &2.into())
    );
    let message = failure[0]["message"].as_str().unwrap();
    assert!(
        message.contains("relay.toml:1:") && message.contains("`nonsense`"),
        "{message}"
    );
    let same = |key: &str| {
        let len = |line: &serde_json::Value| line[key].as_str().map(str::len);
        assert_eq!(len(&failure[0]), len(&ready), "{key}: {failure:?} {ready}");
    };
    same("timestamp");
    assert!(failure[0]["target"].is_string());
}

#[test]
fn an_unknown_log_level_is_refused_and_an_empty_one_is_the_default() {
    let files = Files::new(&free_address());
    let start = |level: &str| {
        let mut command = polypath();
        command
            .arg("relay")
            .arg(&files.config)
            .env("POLYPATH_LOG", level);
        let log = File::create(&files.log).unwrap();
        command.stdin(Stdio::null()).stderr(log).spawn().unwrap()
    };
    assert_eq!(start("nonsense").wait().unwrap().code(), Some(2));
    let stderr = fs::read_to_string(&files.log).unwrap();
    assert!(stderr.contains("POLYPATH_LOG: `nonsense`"), "{stderr}");
    let mut relay = start("");
    files.await_log("ready");
    relay.kill().unwrap();
    relay.wait().unwrap();
}

#[test]
fn the_schema_of_its_file_is_printed() {
    let output = polypath().args(["schema", "relay"]).output().unwrap();
    let schema: serde_json::Value = serde_json::from_str(&printed(&output)).unwrap();
    assert!(schema["properties"]["path"].is_object(), "{schema}");
}
