//! The namespaces and their nodes.

use std::fs;
use std::path::{Path, PathBuf};

use polypath_lab::can_test;
use polypath_lab::namespace::Namespace;
use polypath_lab::node_thread::NodeThread;
use polypath_live::keys;
use polypath_live::node::Options;
use polypath_live::recording::{Reader, replay};
use polypath_live::stats::Stats;
use tempfile::TempDir;

/// Two namespaces and a directory for keys and configurations.
pub(crate) struct Testbed {
    pub(crate) a: Namespace,
    pub(crate) b: Namespace,
    directory: TempDir,
}

/// The nodes of both namespaces.
pub(crate) struct Overlay([RecordedNode; 2]);

/// A running node and its recording.
struct RecordedNode {
    node: NodeThread,
    recording: PathBuf,
}

impl Testbed {
    /// Two namespaces that two links connect; none, with the reason on standard error, if no lab
    /// can run.
    pub(crate) fn new() -> Option<Self> {
        if !can_test() {
            return None;
        }
        let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        a.join(&b, "p1", ["10.1.1.1/24", "10.1.1.2/24"]).unwrap();
        a.join(&b, "p2", ["10.1.2.1/24", "10.1.2.2/24"]).unwrap();
        Some(Self::of(a, b))
    }

    /// Two namespaces and a router between them: `p1` leads to the first, `p2` to the second. The
    /// router sends no ICMP errors.
    pub(crate) fn with_router() -> Option<(Self, Namespace)> {
        if !can_test() {
            return None;
        }
        let [a, router, b] = [(); 3].map(|()| Namespace::new().unwrap());
        a.join(&router, "p1", ["10.1.1.1/24", "10.1.1.254/24"])
            .unwrap();
        router
            .join(&b, "p2", ["10.1.2.254/24", "10.1.2.2/24"])
            .unwrap();
        router.set("ipv4/ip_forward", "1").unwrap();
        let add_route = |namespace: &Namespace, network: &str, gateway: &str| {
            let route = ["route", "add", network, "via", gateway];
            namespace.ip(&route).unwrap();
        };
        add_route(&a, "10.1.2.0/24", "10.1.1.254");
        add_route(&b, "10.1.1.0/24", "10.1.2.254");
        for end in ["10.1.1.1", "10.1.2.2"] {
            // Drops packets of the router itself, which are its ICMP errors.
            let rule = ["rule", "add", "iif", "lo", "to", end, "blackhole"];
            router.ip(&rule).unwrap();
        }
        Some((Self::of(a, b), router))
    }

    fn of(a: Namespace, b: Namespace) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            keys::generate(&directory.path().join(format!("{name}.key"))).unwrap();
        }
        Self { a, b, directory }
    }

    /// The bytes that interface `name` of the first namespace has sent, by `ip -s link`.
    pub(crate) fn sent_bytes(&self, name: &str) -> u64 {
        let output = self
            .a
            .ip(&["-s", "-j", "link", "show", "dev", name])
            .unwrap();
        let sent = output.split("\"tx\":{\"bytes\":").nth(1).unwrap();
        sent.split(',').next().unwrap().parse().unwrap()
    }

    fn public_key(&self, name: &str) -> String {
        let key = keys::load(&self.directory.path().join(format!("{name}.key")));
        key.unwrap().public().to_string()
    }

    /// Starts a node with a TUN device in `namespace`; `names` are its own and its peer's, `digit` is
    /// the last digit of its overlay address, and `tables` are the remaining tables of its file.
    fn start(
        &self,
        namespace: &Namespace,
        names: [&str; 2],
        digit: u8,
        tables: &str,
    ) -> RecordedNode {
        let tun = format!(
            "tun = {{ name = \"pp{digit}\", addresses = [\"10.77.0.{digit}/24\", \"fd77::{digit}/64\"] }}"
        );
        self.start_for(&tun, namespace, names, tables)
    }

    /// The same with `application` in place of the keys of a TUN device.
    fn start_for(
        &self,
        application: &str,
        namespace: &Namespace,
        names: [&str; 2],
        tables: &str,
    ) -> RecordedNode {
        let [name, peer] = names;
        let text = format!(
            "control = \"off\"\n[node]\nkey_file = \"{name}.key\"\n{application}\n\
             [peer]\npublic_key = \"{}\"\n{tables}",
            self.public_key(peer)
        );
        let path = self.directory.path().join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        let recording = path.with_extension("recording");
        let options = Options {
            record: Some(recording.clone()),
            ..Options::default()
        };
        let node = NodeThread::start(namespace, &path, &options).unwrap();
        RecordedNode { node, recording }
    }
}

fn path(name: &str, local: &str, remote: Option<&str>) -> String {
    let remote = remote.map_or(String::new(), |remote| format!("remote = \"{remote}\"\n"));
    format!("[[path]]\nname = \"{name}\"\nlocal = \"{local}\"\n{remote}")
}

impl Overlay {
    /// Starts both nodes; the second learns the addresses of the first.
    pub(crate) fn start(testbed: &Testbed, policy: &str, remotes: [&str; 2]) -> Self {
        Self::start_with(testbed, &format!("kind = \"{policy}\""), remotes)
    }

    /// The same with these keys of the policy.
    pub(crate) fn start_with(testbed: &Testbed, policy: &str, remotes: [&str; 2]) -> Self {
        let tables = format!("[policy]\n{policy}\n");
        let a = path("one", "10.1.1.1:7001", Some(remotes[0]))
            + &path("two", "10.1.2.1:7001", Some(remotes[1]));
        let b = path("one", "10.1.1.2:7001", None) + &path("two", "10.1.2.2:7001", None);
        let a = testbed.start(&testbed.a, ["a", "b"], 1, &(tables.clone() + &a));
        let b = testbed.start(&testbed.b, ["b", "a"], 2, &(tables + &b));
        Self([a, b])
    }

    /// Starts the first node with a UDP port for an application at 127.0.0.1:5000, and the second with
    /// one that leads to 127.0.0.1:6000 or, if it `has_device`, with a TUN device.
    pub(crate) fn with_udp_port(testbed: &Testbed, has_device: bool) -> Self {
        let table = "[policy]\nkind = \"in-time\"\n".to_owned();
        let a = table.clone() + &path("one", "10.1.1.1:7001", Some("10.1.1.2:7001"));
        let b = table + &path("one", "10.1.1.2:7001", None);
        let overlay = if has_device {
            ", overlay = { local = \"10.77.0.1\", peer = \"10.77.0.2\" }"
        } else {
            ""
        };
        let near = format!("udp = [{{ port = 6000, listen = \"127.0.0.1:5000\"{overlay} }}]");
        let far = "udp = [{ port = 6000, to = \"127.0.0.1:6000\" }]";
        let names = ["b", "a"];
        Self([
            testbed.start_for(&near, &testbed.a, ["a", "b"], &a),
            if has_device {
                testbed.start(&testbed.b, names, 2, &b)
            } else {
                testbed.start_for(far, &testbed.b, names, &b)
            },
        ])
    }

    /// Starts both nodes with one path through the router.
    pub(crate) fn over_router(testbed: &Testbed) -> Self {
        let table = "[policy]\nkind = \"single-path\"\n".to_owned();
        let a = table.clone() + &path("one", "10.1.1.1:7001", Some("10.1.2.2:7001"));
        let b = table + &path("one", "10.1.2.2:7001", None);
        let a = testbed.start(&testbed.a, ["a", "b"], 1, &a);
        let b = testbed.start(&testbed.b, ["b", "a"], 2, &b);
        Self([a, b])
    }

    /// Like [`Self::over_router`], over IPv6.
    pub(crate) fn over_router_by_ipv6(testbed: &Testbed, router: &Namespace) -> Self {
        // Without duplicate address detection an address is usable immediately.
        let address = |namespace: &Namespace, address: &str, name: &str| {
            let add = ["address", "add", address, "dev", name, "nodad"];
            namespace.ip(&add).unwrap();
        };
        router.set("ipv6/conf/all/forwarding", "1").unwrap();
        for (namespace, link, name, far) in [(&testbed.a, 1, "p1", 2), (&testbed.b, 2, "p2", 1)] {
            let own = format!("fd0{link}::{link}");
            address(namespace, &format!("{own}/64"), name);
            address(router, &format!("fd0{link}::fe/64"), name);
            let (network, gateway) = (format!("fd0{far}::/64"), format!("fd0{link}::fe"));
            let route = ["-6", "route", "add", &network, "via", &gateway];
            namespace.ip(&route).unwrap();
            // Drops packets of the router itself, which are its ICMP errors.
            let rule = ["-6", "rule", "add", "iif", "lo", "to", &own, "blackhole"];
            router.ip(&rule).unwrap();
        }
        let table = "[policy]\nkind = \"single-path\"\n".to_owned();
        let a = table.clone() + &path("one", "[fd01::1]:7001", Some("[fd02::2]:7001"));
        let b = table + &path("one", "[fd02::2]:7001", None);
        let a = testbed.start(&testbed.a, ["a", "b"], 1, &a);
        let b = testbed.start(&testbed.b, ["b", "a"], 2, &b);
        Self([a, b])
    }

    /// Starts both nodes with two paths over IPv6.
    pub(crate) fn over_ipv6(testbed: &Testbed) -> Self {
        for (namespace, digit) in [(&testbed.a, 1), (&testbed.b, 2)] {
            for link in [1, 2] {
                let (address, name) = (format!("fd0{link}::{digit}/64"), format!("p{link}"));
                // Without duplicate address detection an address is usable immediately.
                let add = ["address", "add", &address, "dev", &name, "nodad"];
                namespace.ip(&add).unwrap();
            }
        }
        let tables = |own: u8, peer: u8| {
            let table = |link: u8| {
                let local = format!("[fd0{link}::{own}]:7001");
                path(
                    &format!("p{link}"),
                    &local,
                    Some(&format!("[fd0{link}::{peer}]:7001")),
                )
            };
            format!(
                "[policy]\nkind = \"duplicate-all\"\n{}{}",
                table(1),
                table(2)
            )
        };
        let a = testbed.start(&testbed.a, ["a", "b"], 1, &tables(1, 2));
        let b = testbed.start(&testbed.b, ["b", "a"], 2, &tables(2, 1));
        Self([a, b])
    }

    /// Starts a node in the second namespace whose key the first node does not expect.
    pub(crate) fn unknown_peer(testbed: &Testbed) -> NodeThread {
        let rest = "[policy]\nkind = \"duplicate-all\"\n".to_owned()
            + &path("one", "10.1.1.2:7009", Some("10.1.1.1:7001"));
        testbed.start(&testbed.b, ["c", "a"], 3, &rest).node
    }

    /// Stops both nodes, replays their recordings, and returns their statistics.
    pub(crate) fn finish(self) -> [Stats; 2] {
        self.0.map(|recorded| {
            let stats = recorded.node.finish().unwrap();
            check_replay(&recorded.recording);
            stats
        })
    }
}

/// Checks that a replay makes the decisions of the recording.
fn check_replay(recording: &Path) {
    let (header, mut reader) = Reader::open(recording).unwrap();
    let result = replay(&header, &mut reader).unwrap();
    assert_eq!(result.difference, None);
    assert!(result.decisions > 100 && !reader.is_truncated());
}
