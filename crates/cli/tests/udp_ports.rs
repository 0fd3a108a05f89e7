//! Nodes with UDP ports over loopback, and the rate for an encoder.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{polypath, printed};
use serde_json::Value;
use tempfile::TempDir;

/// Two nodes, killed at the end.
struct Nodes {
    directory: TempDir,
    running: Vec<Child>,
    keys: [String; 2],
    listen: SocketAddr,
    to: UdpSocket,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.running {
            let _ = node.kill();
            let _ = node.wait();
        }
    }
}

fn free() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

impl Nodes {
    /// The keys and addresses of two nodes that do not run yet.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let keys = ["a.key", "b.key"].map(|name| {
            let file = directory.path().join(name);
            let key = printed(&polypath().arg("key").arg(file).output().unwrap());
            key.trim().to_owned()
        });
        let to = UdpSocket::bind("127.0.0.1:0").unwrap();
        to.set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        Self {
            directory,
            running: Vec::new(),
            keys,
            listen: free(),
            to,
        }
    }

    /// Starts both from files; the first has `tables` in its file.
    fn start(tables: &str) -> Self {
        let mut nodes = Self::new();
        let locals = [free(), free()];
        let ports = [
            format!("listen = \"{}\"", nodes.listen),
            format!("to = \"{}\"", nodes.to.local_addr().unwrap()),
        ];
        for (own, name, tables) in [(0, "a", tables), (1, "b", "")] {
            let peer = 1 - own;
            let text = format!(
                "control = {{ socket = \"{name}.sock\" }}\n[node]\nkey_file = \"{name}.key\"\n\
                 udp = [{{ port = 5000, {} }}]\n[peer]\npublic_key = \"{}\"\n\
                 [policy]\nkind = \"single-path\"\n{tables}\n\
                 [[path]]\nname = \"one\"\nlocal = \"{}\"\nremote = \"{}\"\n",
                ports[own], nodes.keys[peer], locals[own], locals[peer]
            );
            let file = nodes.path(&format!("{name}.toml"));
            fs::write(&file, text).unwrap();
            let mut command = polypath();
            command.arg("node").arg(file);
            nodes.spawn(name, command);
        }
        nodes
    }

    /// Runs a node whose log is `name.log`.
    fn spawn(&mut self, name: &str, mut command: Command) {
        let log = fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        self.running.push(command.stderr(log).spawn().unwrap());
    }

    /// `polypath send` to this address.
    fn send(&self, path: &str) -> Command {
        let mut send = polypath();
        send.args(["send", "--listen", &self.listen.to_string(), "--path", path]);
        send.args(["--peer", &self.keys[1], "--control"]);
        send.arg(self.path("a.sock"))
            .arg("--key")
            .arg(self.path("a.key"));
        send
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Sends datagrams until one arrives.
    fn exchange(&self) {
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut buffer = [0; 2000];
        for _ in 0..100 {
            sender.send_to(&[7; 1316], self.listen).unwrap();
            if let Ok(len) = self.to.recv(&mut buffer) {
                assert_eq!(buffer[..len], [7; 1316]);
                return;
            }
        }
        let logs = ["a.log", "b.log"].map(|name| fs::read_to_string(self.path(name)).unwrap());
        panic!("nothing arrives: {logs:#?}");
    }
}

#[test]
fn a_node_with_a_udp_port_advises_an_encoder() {
    let nodes = Nodes::start("[spacing]\ncontrol = { kind = \"fixed\", spacing = \"2 ms\" }");
    nodes.exchange();
    let status = polypath().arg("status").arg(nodes.path("a.sock")).output();
    let status = printed(&status.unwrap());
    assert!(status.contains("udp5000"), "{status}");
    assert!(
        status.contains("packets leave 2000 us apart, up to 5.38 Mbit/s"),
        "{status}"
    );
    let mut advice = polypath()
        .args(["advise", "--interval", "50ms"])
        .arg(nodes.path("a.sock"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(advice.stdout.take().unwrap())
        .lines()
        .take(3);
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    // The reader has closed.
    assert!(advice.wait().unwrap().success());
    let rates = lines.iter().map(|line| line["payload_bit_per_s"].as_u64());
    // 1316 B each 2 ms.
    assert_eq!(rates.collect::<Vec<_>>(), [Some(5_264_000); 3]);
}

#[test]
fn a_node_that_does_not_space_its_packets_gives_no_advice() {
    let nodes = Nodes::start("");
    nodes.exchange();
    let advice = polypath()
        .arg("advise")
        .arg(nodes.path("a.sock"))
        .output()
        .unwrap();
    assert_eq!(advice.status.code(), Some(2));
    let error = String::from_utf8(advice.stderr).unwrap();
    assert!(error.contains("give it `[spacing]`"), "{error}");
}

#[test]
fn an_address_in_use_is_a_fault_of_the_machine() {
    let nodes = Nodes::start("");
    nodes.exchange();
    let file = nodes.path("a.toml");
    let text = fs::read_to_string(&file).unwrap();
    let other = nodes.path("c.toml");
    let text = text.replace("a.sock", "c.sock");
    let local = text.lines().find(|line| line.starts_with("local")).unwrap();
    fs::write(
        &other,
        text.replace(local, &format!("local = \"{}\"", free())),
    )
    .unwrap();
    let refused = polypath().arg("node").arg(other).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("node.udp.0.listen"), "{error}");
}

#[test]
fn a_datagram_crosses_from_send_to_recv() {
    let mut nodes = Nodes::new();
    let at = free().to_string();
    let send = nodes.send(&at);
    nodes.spawn("a", send);
    let mut recv = polypath();
    let to = format!("udp://{}", nodes.to.local_addr().unwrap());
    recv.args(["recv", "--to", &to, "--path", &at, "--peer", &nodes.keys[0]]);
    recv.args(["--control", "off", "--key"])
        .arg(nodes.path("b.key"));
    nodes.spawn("b", recv);
    nodes.exchange();
    let status = polypath().arg("status").arg(nodes.path("a.sock")).output();
    let status = printed(&status.unwrap());
    assert!(status.contains(" us apart, up to "), "{status}");
}

#[test]
fn the_printed_file_is_that_of_a_node() {
    let nodes = Nodes::new();
    let path = "wwan0=198.51.100.7:7001";
    let second = [
        "--path",
        "192.0.2.5=198.51.100.7:7002",
        "--deadline",
        "150ms",
    ];
    let more = [
        "--spacing",
        "1.6ms",
        "--max-wait",
        "50ms",
        "--metrics",
        "127.0.0.1:9600",
        "--print",
    ];
    let text = printed(&nodes.send(path).args(second).args(more).output().unwrap());
    let file = nodes.path("printed.toml");
    fs::write(&file, &text).unwrap();
    let checked = printed(&polypath().arg("check").arg(&file).output().unwrap());
    assert!(checked.contains("valid"), "{checked}");
    for line in [
        "kind = \"in-time\"",
        "deadline = \"150 ms\"",
        "control = { kind = \"fixed\", spacing = \"1.6 ms\" }",
        "interface = \"wwan0\"",
        "local = \"192.0.2.5:0\"",
        "remote = \"198.51.100.7:7002\"",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[test]
fn bad_options_are_named_with_a_remedy() {
    let nodes = Nodes::new();
    let path = "198.51.100.7:7001";
    for (options, expected) in [
        (&["--path", "198.51.100.7:7002"][..], "give each its uplink"),
        (
            &["--deadline", "150ms"],
            "--deadline is for the policy in-time",
        ),
        (&["--policy", "fastest"], "`fastest`"),
        (
            &["--spacing", "fast"],
            "neither cubic, damped, ad-hoc or off",
        ),
        (
            &["--spacing", "off", "--max-wait", "50ms"],
            "--max-wait has no effect",
        ),
        (&["--spacing", "0ms"], "without spacing, give off"),
        (&["--spacing", "200ms"], "longer than a packet may wait"),
        (&["--path", "eth0"], "no address and port"),
    ] {
        let refused = nodes.send(path).args(options).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{options:?}");
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(error.contains(expected), "{options:?}: {error}");
    }
}
