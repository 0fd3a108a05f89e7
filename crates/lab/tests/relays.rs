//! Two nodes and a relay in three network namespaces, with a link between each pair.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use polypath_core::liveness::PathState;
use polypath_lab::can_test;
use polypath_lab::namespace::Namespace;
use polypath_live::config::NodeConfig;
use polypath_live::config::relay::RelayFile;
use polypath_live::drive::StopHandle;
use polypath_live::keys;
use polypath_live::node::{Node, Options};
use polypath_live::relay::{self, RelayServer};
use polypath_live::stats::Stats;
use tempfile::TempDir;

// The direct path of each node, and the addresses of the relayed path.
const DIRECT: [&str; 2] = [
    "name = \"direct\"\nlocal = \"10.1.1.1:7001\"\nremote = \"10.1.1.2:7001\"\n",
    "name = \"direct\"\nlocal = \"10.1.1.2:7001\"\nremote = \"10.1.1.1:7001\"\n",
];
const LOCAL: [&str; 2] = ["10.2.1.1:7002", "10.2.2.2:7002"];
const RELAY: [&str; 2] = ["10.2.1.9:7101", "10.2.2.9:7101"];

/// The namespaces, and a directory for keys and configurations.
struct Testbed {
    nodes: [Namespace; 2],
    relay: Namespace,
    directory: TempDir,
}

/// A node or relay on a thread of its own.
struct Running<T> {
    stop: StopHandle,
    thread: JoinHandle<T>,
}

impl<T> Running<T> {
    /// Stops it and returns its statistics.
    fn finish(self) -> T {
        self.stop.stop();
        self.thread.join().unwrap()
    }
}

impl Testbed {
    /// None, with the reason on standard error, if no lab can run.
    fn new() -> Option<Self> {
        if !can_test() {
            return None;
        }
        let namespace = || Namespace::new().unwrap();
        let (a, b, relay) = (namespace(), namespace(), namespace());
        a.join(&b, "direct", ["10.1.1.1/24", "10.1.1.2/24"])
            .unwrap();
        a.join(&relay, "r1", ["10.2.1.1/24", "10.2.1.9/24"])
            .unwrap();
        b.join(&relay, "r2", ["10.2.2.2/24", "10.2.2.9/24"])
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c", "relay"] {
            keys::generate(&directory.path().join(format!("{name}.key"))).unwrap();
        }
        Some(Self {
            nodes: [a, b],
            relay,
            directory,
        })
    }

    fn public_key(&self, name: &str) -> String {
        let key = keys::load(&self.directory.path().join(format!("{name}.key")));
        key.unwrap().public().to_string()
    }

    fn start_relay(&self) -> Running<relay::Stats> {
        let text = format!(
            "[relay]\nkey_file = \"relay.key\"\n\
             [[path]]\nname = \"one\"\nlocal = \"0.0.0.0:7101\"\nrate = \"10 Gbit/s\"\n\
             nodes = [{{ name = \"a\", public_key = \"{}\" }}, {{ name = \"b\", public_key = \"{}\" }}]\n",
            self.public_key("a"),
            self.public_key("b")
        );
        let path = self.directory.path().join("relay.toml");
        fs::write(&path, text).unwrap();
        let file = RelayFile::load(&path).unwrap();
        let open = || RelayServer::open(&file).map_err(io::Error::other);
        let mut relay = self.relay.run(open).unwrap();
        Running {
            stop: relay.stop_handle(),
            thread: std::thread::spawn(move || relay.run().unwrap()),
        }
    }

    /// The table of the relayed path of the node with this index.
    fn relayed(&self, index: usize) -> String {
        let key = self.public_key("relay");
        format!(
            "name = \"by relay\"\nlocal = \"{}\"\nrelay = {{ public_key = \"{key}\", address = \"{}\" }}\n",
            LOCAL[index], RELAY[index]
        )
    }

    /// Starts the node with index `index`, the names of itself and its peer, and these paths.
    fn start(
        &self,
        index: usize,
        names: [&str; 2],
        policy: &str,
        paths: &[&str],
    ) -> Running<Stats> {
        let ([name, peer], digit) = (names, index + 1);
        let mut text = format!(
            "[node]\nkey_file = \"{name}.key\"\ntun = {{ name = \"pp{digit}\", addresses = [\"10.77.0.{digit}/24\"] }}\n\
             [peer]\npublic_key = \"{}\"\n[policy]\n{policy}\n",
            self.public_key(peer)
        );
        for path in paths {
            text += "[[path]]\n";
            text += path;
        }
        let path = self.directory.path().join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        let config = NodeConfig::load(&path).unwrap();
        let open = || Node::open(&config, &Options::default()).map_err(io::Error::other);
        let mut node = self.nodes[index].run(open).unwrap();
        Running {
            stop: node.stop_handle(),
            thread: std::thread::spawn(move || node.run().unwrap()),
        }
    }

    /// Pings the first node from the second `count` times and returns the number of replies.
    fn ping(&self, count: u32) -> u32 {
        let mut command = Command::new("ping");
        let count = count.to_string();
        command.args([
            "-n",
            "-q",
            "-i",
            "0.05",
            "-W",
            "2",
            "-c",
            &count,
            "10.77.0.1",
        ]);
        // ping exits with an error without any reply.
        let output = self.nodes[1].output(&mut command).unwrap_or_default();
        let received = output.split(" transmitted, ").nth(1);
        let received = received.and_then(|rest| rest.split(' ').next());
        received.map_or(0, |count| count.parse().unwrap())
    }

    fn await_reply(&self) {
        assert!((0..20).any(|_| self.ping(1) == 1), "no reply");
    }

    fn set_direct(&self, state: &str) {
        let link = ["link", "set", "direct", state];
        self.nodes[0].ip(&link).unwrap();
    }

    /// Transfers `len` bytes from the first node to the second and compares them.
    fn transfer(&self, len: usize) {
        // The period divides no buffer size, so that a missing or repeated part is detected.
        let sent: Vec<u8> = (0..=250).cycle().take(len).collect();
        let bind = || TcpListener::bind("10.77.0.1:5000");
        let listener = self.nodes[0].run(bind).unwrap();
        let bytes = sent.clone();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&bytes).unwrap();
        });
        let connect = || TcpStream::connect("10.77.0.1:5000");
        let mut stream = self.nodes[1].run(connect).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut received = Vec::with_capacity(len);
        stream.read_to_end(&mut received).unwrap();
        server.join().unwrap();
        assert!(received == sent, "{} of {len} bytes", received.len());
    }
}

const BOTH: [&str; 2] = ["a", "b"];

#[test]
fn a_transfer_crosses_the_relay_if_it_is_the_only_path() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let relay = testbed.start_relay();
    let policy = "kind = \"duplicate-all\"";
    let a = testbed.start(0, BOTH, policy, &[&testbed.relayed(0)]);
    let b = testbed.start(1, ["b", "a"], policy, &[&testbed.relayed(1)]);
    testbed.await_reply();
    testbed.transfer(2_000_000);
    // 60 B of overhead as on any path over IPv4, and the relay's seal.
    let link = testbed.nodes[0].ip(&["link", "show", "pp1"]).unwrap();
    assert!(link.contains(&format!("mtu {} ", 1500 - 60 - 24)), "{link}");
    let [a, b] = [a, b].map(Running::finish);
    let relay = relay.finish();
    for stats in [&a, &b] {
        assert!(stats.established);
        let session = stats.paths[0].relay.as_ref().unwrap();
        assert!(session.established);
        let authentic = stats.paths[0].authentic;
        assert!(authentic > 20, "{authentic} authentic datagrams");
    }
    let path = &relay.paths[0];
    let names: Vec<_> = path.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, BOTH);
    assert!(path.nodes[0].forwarded.bytes > 2_000_000, "{path:?}");
    assert!(path.sent.bytes <= path.received.bytes, "{path:?}");
    assert_eq!(path.nodes[0].address, Some(LOCAL[0].parse().unwrap()));
    assert_eq!(path.nodes[0].dropped["rate"], 0);
}

#[test]
fn packets_take_the_relay_while_the_direct_path_is_down() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let relay = testbed.start_relay();
    let policy = "kind = \"single-path\"\npath = 0";
    let a = testbed.start(0, BOTH, policy, &[DIRECT[0], &testbed.relayed(0)]);
    let b = testbed.start(1, ["b", "a"], policy, &[DIRECT[1], &testbed.relayed(1)]);
    testbed.await_reply();
    assert_eq!(testbed.ping(20), 20);
    testbed.set_direct("down");
    let replies = testbed.ping(100);
    assert!(replies >= 85, "{replies} of 100 while the path is down");
    testbed.set_direct("up");
    // The path is used again after it has replied for a second.
    sleep(Duration::from_secs(6));
    assert_eq!(testbed.ping(20), 20);
    let [a, b] = [a, b].map(Running::finish);
    let relay = relay.finish();
    for stats in [&a, &b] {
        let [direct, relayed] = [0, 1].map(|path| stats.paths[path].liveness.unwrap());
        assert_eq!((direct.state, direct.silences), (PathState::Live, 1));
        assert_eq!((relayed.state, relayed.silences), (PathState::Live, 0));
    }
    assert!(
        relay.paths[0]
            .nodes
            .iter()
            .all(|node| node.forwarded.packets > 85)
    );
}

#[test]
fn the_relay_ignores_a_node_with_an_unknown_key() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let relay = testbed.start_relay();
    let policy = "kind = \"duplicate-all\"";
    let a = testbed.start(0, BOTH, policy, &[&testbed.relayed(0)]);
    let unknown = testbed.start(1, ["c", "a"], policy, &[&testbed.relayed(1)]);
    assert_eq!(testbed.ping(40), 0);
    let [a, unknown] = [a, unknown].map(Running::finish);
    let relay = relay.finish();
    assert!(unknown.paths[0].sent.packets > 0);
    assert_eq!(unknown.paths[0].received.packets, 0);
    assert!(a.paths[0].relay.as_ref().unwrap().established && !a.established);
    let path = &relay.paths[0];
    assert!(path.rejected["wrong-key"] > 0, "{path:?}");
    assert_eq!(path.nodes[1].address, None);
    assert!(path.nodes[0].dropped["no-session"] > 0, "{path:?}");
}
