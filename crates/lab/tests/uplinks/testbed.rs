//! Two namespaces, initially without links, and a node in each.

use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

use polypath_lab::can_test;
use polypath_lab::namespace::Namespace;
use polypath_lab::node_thread::NodeThread;
use polypath_live::control;
use polypath_live::keys;
use polypath_live::node::Options;
use serde_json::Value;
use tempfile::TempDir;

/// The maximum number of polls: 15 s in all.
const MAX_POLLS: u32 = 150;
/// The interval between polls.
const INTERVAL: Duration = Duration::from_millis(100);

/// The namespaces, and a directory for keys and configurations.
pub(crate) struct Testbed {
    pub(crate) a: Namespace,
    pub(crate) b: Namespace,
    directory: TempDir,
}

impl Testbed {
    /// None, with the reason on standard error, if no lab can run.
    pub(crate) fn new() -> Option<Self> {
        if !can_test() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            keys::generate(&directory.path().join(format!("{name}.key"))).unwrap();
        }
        let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        Some(Self { a, b, directory })
    }

    /// Connects the namespaces by link `number` with the network 10.1.`number`.0/24.
    pub(crate) fn add_link(&self, number: u8) {
        let address = |digit: u8| format!("10.1.{number}.{digit}/24");
        let addresses = [address(1), address(2)];
        let addresses = [&*addresses[0], &*addresses[1]];
        self.a
            .join(&self.b, &format!("p{number}"), addresses)
            .unwrap();
    }

    /// Removes link `number`.
    pub(crate) fn remove_link(&self, number: u8) {
        self.a.ip(&["link", "del", &format!("p{number}")]).unwrap();
    }

    /// Starts node a; `top` are top-level keys of its file and `rest` further tables.
    pub(crate) fn start_a(&self, top: &str, rest: &str) -> NodeThread {
        self.start(&self.a, ["a", "b"], 1, [top, rest])
    }

    /// Starts node b with further tables `rest`.
    pub(crate) fn start_b(&self, rest: &str) -> NodeThread {
        self.start(&self.b, ["b", "a"], 2, ["", rest])
    }

    fn start(
        &self,
        namespace: &Namespace,
        [name, peer]: [&str; 2],
        digit: u8,
        [top, rest]: [&str; 2],
    ) -> NodeThread {
        let key = keys::load(&self.directory.path().join(format!("{peer}.key")));
        let text = format!(
            "{top}\n[control]\nsocket = \"{name}.sock\"\n[node]\nkey_file = \"{name}.key\"\n\
             tun = {{ name = \"pp{digit}\", addresses = [\"10.77.0.{digit}/24\"] }}\n\
             [peer]\npublic_key = \"{}\"\n[policy]\nkind = \"duplicate-all\"\n{rest}",
            key.unwrap().public()
        );
        let path = self.directory.path().join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        NodeThread::start(namespace, &path, &Options::default()).unwrap()
    }

    /// The paths in the status of node `name`.
    pub(crate) fn paths(&self, name: &str) -> Vec<Value> {
        let socket = self.directory.path().join(format!("{name}.sock"));
        let mut status = control::status(&socket).unwrap();
        serde_json::from_value(status["paths"].take()).unwrap()
    }

    /// Polls the paths of node a until they meet `condition`, described by `what`; returns the time
    /// that took.
    pub(crate) fn await_paths(&self, what: &str, condition: impl Fn(&[Value]) -> bool) -> Duration {
        for poll in 0..MAX_POLLS {
            if condition(&self.paths("a")) {
                return INTERVAL * poll;
            }
            sleep(INTERVAL);
        }
        panic!("{what}: {:#?}", self.paths("a"));
    }

    /// Sends a datagram over the overlay from a to b until one arrives.
    pub(crate) fn await_crossing(&self) {
        let bind = |ip: [u8; 4]| move || UdpSocket::bind((IpAddr::from(ip), 6001));
        let receiver = self.b.run(bind([10, 77, 0, 2])).unwrap();
        let sender = self.a.run(bind([10, 77, 0, 1])).unwrap();
        receiver.set_read_timeout(Some(INTERVAL)).unwrap();
        let crosses = |_| {
            sender.send_to(&[1; 8], "10.77.0.2:6001").unwrap();
            receiver.recv(&mut [0; 16]).is_ok()
        };
        assert!(
            (0..MAX_POLLS).any(crosses),
            "no datagram arrives: {:#?}",
            self.paths("a")
        );
    }
}
