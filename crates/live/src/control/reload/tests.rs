use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

use super::*;
use crate::config::Control;
use crate::control::change::Remote;
use crate::control::commands::{self, Command, CommandQueue};
use crate::keys;
use crate::udp::traffic_class::CopiedFields;

/// A reloader of a file in force, with a queue in place of the packet thread.
struct Testbed {
    reloader: Reloader,
    handle: Arc<ControlHandle>,
    queue: Option<CommandQueue>,
    servers: Servers,
    unbound: Vec<PathId>,
    text: String,
    directory: TempDir,
    _lock: std::sync::RwLockReadGuard<'static, ()>,
}

/// The outcome of a reload and the change that was applied, if any.
struct Reloaded {
    outcome: Result<Vec<String>, String>,
    change: Option<Change>,
}

impl Testbed {
    fn new() -> Self {
        let lock = crate::test_lock::shared();
        let directory = tempfile::tempdir().unwrap();
        let key = |name: &str| keys::generate(&directory.path().join(name)).unwrap();
        let (own, peer) = (key("a.key"), key("b.key"));
        let text = format!(
            "control = \"off\"\n\
             [node]\nkey_file = \"a.key\"\n\
             tun = {{ name = \"pp0\", addresses = [\"10.77.0.1/24\"] }}\n\
             [peer]\npublic_key = \"{peer}\"\n\
             [policy]\nkind = \"duplicate-all\"\n\
             [[path]]\nname = \"one\"\nlocal = \"127.0.0.1:7701\"\nremote = \"127.0.0.2:7701\"\n\
             [[path]]\nname = \"two\"\nlocal = \"127.0.0.1:7702\"\nremote = \"127.0.0.2:7702\"\n"
        );
        let file = directory.path().join("a.toml");
        fs::write(&file, &text).unwrap();
        let config = NodeConfig::load(&file).unwrap();
        let (handle, queue) = commands::channel().unwrap();
        Self {
            reloader: Reloader::new(
                file,
                config,
                Running {
                    own,
                    offload: false,
                },
            ),
            handle: Arc::new(handle),
            queue: Some(queue),
            servers: Servers::default(),
            unbound: Vec::new(),
            text,
            directory,
            _lock: lock,
        }
    }

    /// Reloads the file after replacing the first of each pair by the second.
    fn reload(&mut self, edits: &[(&str, &str)]) -> Reloaded {
        let mut text = self.text.clone();
        for (old, new) in edits {
            assert!(text.contains(old), "{old}");
            text = text.replacen(old, new, 1);
        }
        fs::write(self.directory.path().join("a.toml"), text).unwrap();
        let mut queue = self.queue.take().unwrap();
        let (handle, servers, unbound) = (&self.handle, &mut self.servers, &self.unbound);
        let reloader = &mut self.reloader;
        let over = std::sync::atomic::AtomicBool::new(false);
        let (outcome, change) = std::thread::scope(|scope| {
            let packets = scope.spawn(|| {
                let mut applied = None;
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    if let Some(Command::Change(command)) = queue.next() {
                        applied = Some(*command.change);
                        command.answer.send(Ok(())).unwrap();
                    }
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                applied
            });
            let outcome = reloader.reload(handle, servers, unbound);
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            (outcome, packets.join().unwrap())
        });
        self.queue = Some(queue);
        Reloaded { outcome, change }
    }
}

#[test]
fn keys_that_need_no_restart_are_applied() {
    let mut testbed = Testbed::new();
    let Reloaded { outcome, change } = testbed.reload(&[]);
    assert_eq!(outcome, Ok(vec![]));
    assert!(change.unwrap().paths.is_empty(), "no socket is touched");
    let Reloaded { outcome, change } = testbed.reload(&[
        (
            "duplicate-all\"",
            "single-path\"\npath = 1\n[liveness]\nmisses = 5",
        ),
        ("127.0.0.1:7702", "127.0.0.1:7703"),
        ("127.0.0.2:7702", "127.0.0.2:7703"),
        ("\"one\"", "\"first\""),
    ]);
    let keys = [
        "policy",
        "liveness",
        "path.0.name",
        "path.1.local",
        "path.1.remote",
    ];
    assert_eq!(outcome.unwrap(), keys);
    let change = change.unwrap();
    let settings = change.settings.as_ref().unwrap();
    assert_eq!(settings.policy.name(), "single-path");
    let [first, second] = &change.paths[..] else {
        panic!("{change:?}")
    };
    assert_eq!((first.path, &*first.name), (PathId(0), "first"));
    assert!(first.socket.is_none() && first.remote.is_none());
    let local = second.socket.as_ref().unwrap().local().unwrap();
    assert_eq!(local, "127.0.0.1:7703".parse().unwrap());
    assert_eq!(
        second.remote,
        Some(Remote::At("127.0.0.2:7703".parse().unwrap()))
    );
    // The next reload is compared with the configuration in force.
    let Reloaded { outcome, .. } = testbed.reload(&[]);
    assert_eq!(outcome.unwrap(), keys);
}

#[test]
fn the_cost_of_a_path_needs_no_restart() {
    let mut testbed = Testbed::new();
    let Reloaded { outcome, change } = testbed.reload(&[
        ("duplicate-all", "in-time"),
        (
            "local = \"127.0.0.1:7702\"",
            "local = \"127.0.0.1:7702\"\ntariff = { cost = 1 }",
        ),
    ]);
    assert_eq!(outcome.unwrap(), ["policy", "path.1.tariff"]);
    let change = change.unwrap();
    let touched = change.paths.iter().any(|path| path.socket.is_some());
    assert!(!touched, "no socket is touched");
}

#[test]
fn the_copying_of_the_traffic_class_needs_no_restart() {
    let mut testbed = Testbed::new();
    let Reloaded { outcome, change } = testbed.reload(&[(
        "local = \"127.0.0.1:7702\"",
        "local = \"127.0.0.1:7702\"\ncopy_dscp = false\ncopy_ecn = false",
    )]);
    assert_eq!(outcome.unwrap(), ["path.1.copy_dscp", "path.1.copy_ecn"]);
    let [path] = &change.unwrap().paths[..] else {
        panic!("one path changes");
    };
    let none = CopiedFields {
        dscp: false,
        ecn: false,
    };
    assert_eq!((path.path, path.copied), (PathId(1), Some(none)));
    assert!(path.socket.is_none(), "no socket is touched");
}

#[test]
fn classes_need_no_restart() {
    let mut testbed = Testbed::new();
    let class = "[[class]]\nname = \"voice\"\ndscp = [\"ef\"]\ntreatment = \"media\"\n[[path]]";
    let Reloaded { outcome, .. } = testbed.reload(&[("duplicate-all", "in-time")]);
    assert_eq!(outcome.unwrap(), ["policy"]);
    let changes = [("duplicate-all", "in-time"), ("[[path]]", class)];
    let Reloaded { outcome, change } = testbed.reload(&changes);
    assert_eq!(outcome.unwrap(), ["class"]);
    assert!(change.unwrap().paths.is_empty());
}

#[test]
fn a_socket_whose_interface_is_gone_is_replaced_instead_of_rebound() {
    let local = "local = \"127.0.0.1:7702\"";
    let by_lo = format!("{local}\ninterface = \"lo\"");
    let change = |unbound: &[PathId]| {
        let mut testbed = Testbed::new();
        testbed.unbound = unbound.to_vec();
        let Reloaded { outcome, change } = testbed.reload(&[(local, &by_lo)]);
        assert_eq!(outcome.unwrap(), ["path.1.interface"]);
        let mut paths = change.unwrap().paths;
        assert_eq!(paths.len(), 1);
        paths.remove(0)
    };
    for another in [&[][..], &[PathId(0)]] {
        let bound = change(another);
        assert!(bound.socket.is_none() && bound.interface.is_some());
    }
    let replaced = change(&[PathId(0), PathId(1)]);
    let local = replaced.socket.unwrap().local().unwrap();
    assert_eq!(local, "127.0.0.1:7702".parse().unwrap());
    assert!(replaced.interface.is_none());
}

#[test]
fn keys_that_need_a_restart_refuse_the_whole_file() {
    let mut testbed = Testbed::new();
    let other = keys::generate(&testbed.directory.path().join("c.key")).unwrap();
    let peer = testbed.reloader.config.peer.public_key.to_string();
    let cases = [
        ("\"a.key\"", "\"c.key\"", "node.key_file"),
        ("\"a.key\"", "\"a.key\"\nuser = \"root\"", "node.user"),
        ("\"pp0\"", "\"pp1\"", "node.tun.name"),
        ("10.77.0.1/24", "10.77.0.3/24", "node.tun.addresses"),
        ("\"pp0\"", "\"pp0\", mtu = 1300", "node.tun.mtu"),
        ("\"pp0\"", "\"pp0\", queue = 9", "node.tun.queue"),
        (&*peer, &*other.to_string(), "peer.public_key"),
    ];
    for (old, new, key) in cases {
        let Reloaded { outcome, change } =
            testbed.reload(&[(old, new), ("duplicate-all", "duplicate-acks")]);
        let outcome = outcome.unwrap_err();
        assert!(
            outcome.contains("restart") && outcome.contains(key),
            "{outcome}"
        );
        assert_eq!(outcome.matches(", ").count(), 0, "nothing else: {outcome}");
        assert!(change.is_none());
    }
    testbed.reloader.running.offload = true;
    let Reloaded { outcome, change } = testbed.reload(&[("duplicate-all", "probe-and-switch")]);
    let outcome = outcome.unwrap_err();
    assert!(
        outcome.contains("restart") && outcome.contains("offload"),
        "{outcome}"
    );
    assert!(change.is_none());
    testbed.reloader.running.offload = false;
    let swap = [("\"one\"", "\"x\""), ("\"two\"", "\"one\"")];
    assert!(
        testbed
            .reload(&swap)
            .outcome
            .unwrap_err()
            .contains("their order")
    );
    let second = testbed.text.rfind("[[path]]").unwrap();
    let second = testbed.text[second..].to_owned();
    let outcome = testbed.reload(&[(&second, "")]).outcome.unwrap_err();
    assert!(outcome.contains("their number"), "{outcome}");
    let v6 = [
        ("127.0.0.1:7702", "[::1]:7702"),
        ("127.0.0.2:7702", "[::1]:7709"),
        ("\"pp0\"", "\"pp1\""),
    ];
    let outcome = testbed.reload(&v6).outcome.unwrap_err();
    assert!(
        outcome.contains("node.tun.name, path.1.local (its address family)"),
        "{outcome}"
    );
    let Reloaded { outcome, .. } = testbed.reload(&[]);
    assert_eq!(outcome, Ok(vec![]), "the configuration has not changed");
}

#[test]
fn another_key_in_the_same_key_file_is_refused() {
    let mut testbed = Testbed::new();
    let file = testbed.directory.path().join("a.key");
    fs::remove_file(&file).unwrap();
    let Reloaded { outcome, .. } = testbed.reload(&[]);
    assert_eq!(outcome, Ok(vec![]), "the key in force needs no file");
    keys::generate(&file).unwrap();
    let outcome = testbed.reload(&[]).outcome.unwrap_err();
    assert!(outcome.contains("node.key_file"), "{outcome}");
}

#[test]
fn an_invalid_file_is_refused_with_its_line() {
    let mut testbed = Testbed::new();
    let Reloaded { outcome, change } = testbed.reload(&[("duplicate-all", "duplicat-all")]);
    let outcome = outcome.unwrap_err();
    assert!(
        outcome.contains("a.toml:8:") && outcome.contains("`duplicate-all`"),
        "{outcome}"
    );
    assert!(change.is_none());
}

#[test]
fn an_address_in_use_refuses_the_file() {
    let mut testbed = Testbed::new();
    let holder = UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let Reloaded { outcome, change } = testbed.reload(&[
        ("127.0.0.1:7701", "127.0.0.1:7799"),
        ("127.0.0.1:7702", &taken),
    ]);
    let outcome = outcome.unwrap_err();
    assert!(
        outcome.contains(&taken) && outcome.contains("another port"),
        "{outcome}"
    );
    assert!(change.is_none());
    UdpSocket::bind("127.0.0.1:7799").unwrap();
}

/// A TCP port that is free on all addresses, and that stays so: the kernel gives it to no other
/// socket, since it is below the ports that it assigns.
fn unassigned_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let first_assigned: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
    let count = first_assigned / 2;
    let start = std::process::id().wrapping_mul(64) % u32::from(count);
    let start = u16::try_from(start).unwrap();
    let candidates = (0..count).map(|_| {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(start);
        count + offset % count
    });
    let mut free = candidates.filter(|port| TcpListener::bind(("0.0.0.0", *port)).is_ok());
    free.next().unwrap()
}

#[test]
fn listeners_are_replaced() {
    let mut testbed = Testbed::new();
    let port = unassigned_port();
    let metrics = format!("[metrics]\nlisten = \"127.0.0.1:{port}\"\n[policy]");
    let edits = [
        ("control = \"off\"\n", ""),
        ("[policy]", &*metrics),
        ("[peer]", "[control]\nsocket = \"new.sock\"\n[peer]"),
    ];
    let Reloaded { outcome, .. } = testbed.reload(&edits);
    assert_eq!(outcome.unwrap(), ["control", "metrics"]);
    let socket = testbed.servers.control.as_ref().unwrap().path().to_owned();
    assert_eq!(socket, testbed.directory.path().join("new.sock"));
    assert!(testbed.servers.metrics.is_some());
    let Reloaded { outcome, .. } = testbed.reload(&[]);
    assert_eq!(outcome.unwrap(), ["control", "metrics"]);
    assert!(testbed.servers.control.is_none() && testbed.servers.metrics.is_none());
    assert!(!socket.exists());
}

#[test]
fn a_node_keeps_its_control_socket_if_no_default_one_can_be_opened() {
    let mut config = Testbed::new().reloader.config().clone();
    config.control = Control::default();
    // No directory of this name exists.
    config.node.tun.as_mut().unwrap().name = "none/such".to_owned();
    let refused = listeners::reopen_control(&config, true).unwrap_err();
    assert!(refused.contains("control.socket"), "{refused}");
    // A node without a socket loses nothing.
    assert!(listeners::reopen_control(&config, false).unwrap().is_none());
}

#[test]
fn the_metrics_endpoint_moves_to_another_address_of_its_port_or_stays() {
    use std::net::TcpStream;
    let _descriptors = crate::test_lock::without_new_processes();
    let mut testbed = Testbed::new();
    let port = unassigned_port();
    let mut listen = |address: &str| {
        let metrics = format!("[metrics]\nlisten = \"{address}:{port}\"\n[policy]");
        testbed.reload(&[("[policy]", &*metrics)]).outcome
    };
    assert_eq!(listen("127.0.0.1").unwrap(), ["metrics"]);
    assert_eq!(listen("0.0.0.0").unwrap(), ["metrics"]);
    TcpStream::connect(("127.0.0.9", port)).unwrap();
    assert_eq!(listen("127.0.0.2").unwrap(), ["metrics"]);
    TcpStream::connect(("127.0.0.9", port)).unwrap_err();
    // An address of no interface.
    let outcome = listen("192.0.2.1").unwrap_err();
    assert!(
        outcome.contains(&format!("metrics.listen 192.0.2.1:{port}: Cannot assign")),
        "{outcome}"
    );
    TcpStream::connect(("127.0.0.2", port)).unwrap();
    let held = TcpListener::bind(("127.0.0.9", port)).unwrap();
    let outcome = listen("0.0.0.0").unwrap_err();
    assert!(outcome.contains("in use"), "{outcome}");
    TcpStream::connect(("127.0.0.2", port)).unwrap();
    drop(held);
}

#[test]
fn a_changed_relay_is_refused_with_its_key() {
    let mut testbed = Testbed::new();
    let relay = keys::generate(&testbed.directory.path().join("relay.key")).unwrap();
    let remote = "remote = \"127.0.0.2:7702\"";
    let by_relay = format!("relay = {{ public_key = \"{relay}\", address = \"127.0.0.2:7702\" }}");
    let outcome = testbed.reload(&[(remote, &by_relay)]).outcome.unwrap_err();
    assert!(outcome.ends_with("a change of: path.1.relay"), "{outcome}");
}

#[test]
fn a_withdrawn_change_is_not_applied_later() {
    let mut testbed = Testbed::new();
    let config = testbed.reloader.config.clone();
    let change = testbed.reloader.prepare(&config, &[]).unwrap();
    assert!(
        testbed.handle.change(change).is_err(),
        "no thread serves the queue"
    );
    let command = testbed.queue.as_mut().unwrap().next();
    let Some(Command::Change(command)) = command else {
        panic!("{command:?}");
    };
    assert!(!command.decided.set());
}

/// Replaces the file by one with automatic uplinks.
fn auto(testbed: &mut Testbed) -> NodeConfig {
    for end in ["1\"\n", "2\"\n"] {
        let local = format!("local = \"127.0.0.1:770{end}");
        assert!(testbed.text.contains(&local), "{local}");
        testbed.text = testbed.text.replacen(&local, "", 1);
    }
    testbed.text = format!("paths = \"auto\"\n{}", testbed.text);
    fs::write(testbed.directory.path().join("a.toml"), &testbed.text).unwrap();
    NodeConfig::load(&testbed.directory.path().join("a.toml")).unwrap()
}

#[test]
fn paths_with_automatic_uplinks_keep_their_sockets() {
    let mut testbed = Testbed::new();
    let listed = testbed.text.clone();
    let config = auto(&mut testbed);
    let outcome = testbed.reload(&[]).outcome.unwrap_err();
    assert!(outcome.contains("paths (listed or \"auto\")"), "{outcome}");
    testbed.reloader.config = config;
    let Reloaded { outcome, change } = testbed.reload(&[]);
    assert_eq!(outcome, Ok(vec![]));
    assert!(change.unwrap().paths.is_empty(), "no socket is touched");
    let excepted = "duplicate-all\"\n[auto]\nexcept = [\"docker*\"]";
    let Reloaded { outcome, change } = testbed.reload(&[("duplicate-all\"", excepted)]);
    assert_eq!(outcome.unwrap(), ["auto"]);
    assert!(
        change.unwrap().paths.is_empty(),
        "the interface monitor does it"
    );
    let outcome = testbed
        .reload(&[("127.0.0.2:7701", "[::1]:7701")])
        .outcome
        .unwrap_err();
    assert!(
        outcome.contains("path.0.remote (its address family)"),
        "{outcome}"
    );
    testbed.text = listed;
    let outcome = testbed.reload(&[]).outcome.unwrap_err();
    assert!(outcome.contains("paths (listed or \"auto\")"), "{outcome}");
}
