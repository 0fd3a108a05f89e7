use std::fs;
use std::net::UdpSocket;

use tempfile::TempDir;

use super::*;
use crate::control::change::Remote;
use crate::control::commands::{self, Command, CommandQueue};

/// A file that is in force, and what stands in place of the packet thread.
struct Bench {
    reloader: Reloader,
    handle: ControlHandle,
    queue: Option<CommandQueue>,
    listeners: Listeners,
    adrift: Vec<PathId>,
    text: String,
    directory: TempDir,
    _busy: std::sync::RwLockReadGuard<'static, ()>,
}

impl Bench {
    fn new() -> Self {
        let busy = crate::test_lock::shared();
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
            handle,
            queue: Some(queue),
            listeners: Listeners::default(),
            adrift: Vec::new(),
            text,
            directory,
            _busy: busy,
        }
    }

    /// Reloads the file with each `old` in it replaced by its `new`: what it says, and the change that the packet
    /// thread was asked for.
    fn reload(&mut self, edits: &[(&str, &str)]) -> (Result<Vec<String>, String>, Option<Change>) {
        let mut text = self.text.clone();
        for (old, new) in edits {
            assert!(text.contains(old), "{old}");
            text = text.replacen(old, new, 1);
        }
        fs::write(self.directory.path().join("a.toml"), text).unwrap();
        let mut queue = self.queue.take().unwrap();
        let (handle, listeners, adrift) = (&self.handle, &mut self.listeners, &self.adrift);
        let reloader = &mut self.reloader;
        let over = std::sync::atomic::AtomicBool::new(false);
        let (told, asked) = std::thread::scope(|scope| {
            let packets = scope.spawn(|| {
                let mut asked = None;
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    if let Some(Command::Change(change, _, answer)) = queue.next() {
                        asked = Some(*change);
                        answer.send(Ok(())).unwrap();
                    }
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                asked
            });
            let told = reloader.reload(handle, listeners, adrift);
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            (told, packets.join().unwrap())
        });
        self.queue = Some(queue);
        (told, asked)
    }
}

#[test]
fn what_can_change_under_way_does() {
    let mut bench = Bench::new();
    let (told, asked) = bench.reload(&[]);
    assert_eq!(told, Ok(vec![]));
    assert!(asked.unwrap().paths.is_empty(), "no socket is touched");
    let (told, asked) = bench.reload(&[
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
    assert_eq!(told.unwrap(), keys);
    let change = asked.unwrap();
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
    // What came into force is what the next reload is compared with.
    let (told, _) = bench.reload(&[]);
    assert_eq!(told.unwrap(), keys);
}

#[test]
fn a_socket_whose_interface_has_gone_is_not_bound_to_another_but_replaced() {
    let local = "local = \"127.0.0.1:7702\"";
    let by_lo = format!("{local}\ninterface = \"lo\"");
    let change = |adrift: &[PathId]| {
        let mut bench = Bench::new();
        bench.adrift = adrift.to_vec();
        let (told, asked) = bench.reload(&[(local, &by_lo)]);
        assert_eq!(told.unwrap(), ["path.1.interface"]);
        let mut paths = asked.unwrap().paths;
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
fn what_cannot_change_under_way_is_named_and_nothing_else_changes() {
    let mut bench = Bench::new();
    let other = keys::generate(&bench.directory.path().join("c.key")).unwrap();
    let peer = bench.reloader.config.peer.public_key.to_string();
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
        let (told, asked) = bench.reload(&[(old, new), ("duplicate-all", "duplicate-acks")]);
        let told = told.unwrap_err();
        assert!(told.contains("restart") && told.contains(key), "{told}");
        assert_eq!(told.matches(", ").count(), 0, "nothing else: {told}");
        assert!(asked.is_none());
    }
    bench.reloader.running.offload = true;
    let (told, asked) = bench.reload(&[("duplicate-all", "probe-and-switch")]);
    let told = told.unwrap_err();
    assert!(
        told.contains("restart") && told.contains("offload"),
        "{told}"
    );
    assert!(asked.is_none());
    bench.reloader.running.offload = false;
    let swap = [("\"one\"", "\"x\""), ("\"two\"", "\"one\"")];
    assert!(bench.reload(&swap).0.unwrap_err().contains("their order"));
    let second = bench.text.rfind("[[path]]").unwrap();
    let second = bench.text[second..].to_owned();
    let told = bench.reload(&[(&second, "")]).0.unwrap_err();
    assert!(told.contains("their number"), "{told}");
    let v6 = [
        ("127.0.0.1:7702", "[::1]:7702"),
        ("127.0.0.2:7702", "[::1]:7709"),
        ("\"pp0\"", "\"pp1\""),
    ];
    let told = bench.reload(&v6).0.unwrap_err();
    assert!(
        told.contains("node.tun.name, path.1.local (its address family)"),
        "{told}"
    );
    let (told, _) = bench.reload(&[]);
    assert_eq!(told, Ok(vec![]), "all is as it was");
}

#[test]
fn another_key_in_the_same_file_is_told() {
    let mut bench = Bench::new();
    let file = bench.directory.path().join("a.key");
    fs::remove_file(&file).unwrap();
    let (told, _) = bench.reload(&[]);
    assert_eq!(told, Ok(vec![]), "the key in force does not need its file");
    keys::generate(&file).unwrap();
    let told = bench.reload(&[]).0.unwrap_err();
    assert!(told.contains("node.key_file"), "{told}");
}

#[test]
fn a_broken_file_is_told_with_its_line_and_changes_nothing() {
    let mut bench = Bench::new();
    let (told, asked) = bench.reload(&[("duplicate-all", "duplicat-all")]);
    let told = told.unwrap_err();
    assert!(
        told.contains("a.toml:8:") && told.contains("`duplicate-all`"),
        "{told}"
    );
    assert!(asked.is_none());
}

#[test]
fn an_address_that_is_taken_is_told_and_changes_nothing() {
    let mut bench = Bench::new();
    let holder = UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let (told, asked) = bench.reload(&[
        ("127.0.0.1:7701", "127.0.0.1:7799"),
        ("127.0.0.1:7702", &taken),
    ]);
    let told = told.unwrap_err();
    assert!(
        told.contains(&taken) && told.contains("another port"),
        "{told}"
    );
    assert!(asked.is_none());
    UdpSocket::bind("127.0.0.1:7799").unwrap();
}

#[test]
fn listeners_change_too() {
    let mut bench = Bench::new();
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    };
    let metrics = format!("[metrics]\nlisten = \"{port}\"\n[policy]");
    let edits = [
        ("control = \"off\"\n", ""),
        ("[policy]", &*metrics),
        ("[peer]", "[control]\nsocket = \"new.sock\"\n[peer]"),
    ];
    let (told, _) = bench.reload(&edits);
    assert_eq!(told.unwrap(), ["control", "metrics"]);
    let socket = bench.listeners.control.as_ref().unwrap().path().to_owned();
    assert_eq!(socket, bench.directory.path().join("new.sock"));
    assert!(bench.listeners.metrics.is_some());
    let (told, _) = bench.reload(&[]);
    assert_eq!(told.unwrap(), ["control", "metrics"]);
    assert!(bench.listeners.control.is_none() && bench.listeners.metrics.is_none());
    assert!(!socket.exists());
}

#[test]
fn a_node_that_can_be_asked_keeps_its_socket_where_it_cannot_have_one_of_its_own() {
    let mut config = Bench::new().reloader.config().clone();
    config.control = Control::default();
    // No directory of this name is there.
    config.node.tun.name = "none/such".to_owned();
    let refused = open_control(&config, true).unwrap_err();
    assert!(refused.contains("control.socket"), "{refused}");
    // One that could not be asked before loses nothing.
    assert!(open_control(&config, false).unwrap().is_none());
}

#[test]
fn metrics_move_to_another_address_of_their_port_or_stay() {
    use std::net::TcpStream;
    let mut bench = Bench::new();
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let mut listen = |address: &str| {
        let metrics = format!("[metrics]\nlisten = \"{address}:{port}\"\n[policy]");
        bench.reload(&[("[policy]", &*metrics)]).0
    };
    assert_eq!(listen("127.0.0.1").unwrap(), ["metrics"]);
    assert_eq!(listen("0.0.0.0").unwrap(), ["metrics"]);
    TcpStream::connect(("127.0.0.9", port)).unwrap();
    assert_eq!(listen("127.0.0.2").unwrap(), ["metrics"]);
    TcpStream::connect(("127.0.0.9", port)).unwrap_err();
    // An address that no interface has.
    let told = listen("192.0.2.1").unwrap_err();
    assert!(
        told.contains(&format!("metrics.listen 192.0.2.1:{port}: Cannot assign")),
        "{told}"
    );
    TcpStream::connect(("127.0.0.2", port)).unwrap();
    let held = TcpListener::bind(("127.0.0.9", port)).unwrap();
    let told = listen("0.0.0.0").unwrap_err();
    assert!(told.contains("in use"), "{told}");
    TcpStream::connect(("127.0.0.2", port)).unwrap();
    drop(held);
}

#[test]
fn a_path_by_another_relay_is_named_by_that_key() {
    let mut bench = Bench::new();
    let relay = keys::generate(&bench.directory.path().join("relay.key")).unwrap();
    let remote = "remote = \"127.0.0.2:7702\"";
    let by_relay = format!("relay = {{ public_key = \"{relay}\", address = \"127.0.0.2:7702\" }}");
    let told = bench.reload(&[(remote, &by_relay)]).0.unwrap_err();
    assert!(told.ends_with("a change of: path.1.relay"), "{told}");
}

#[test]
fn a_change_that_was_given_up_is_not_made_later() {
    let mut bench = Bench::new();
    let config = bench.reloader.config.clone();
    let change = bench.reloader.prepare(&config, &[]).unwrap();
    assert!(
        bench.handle.change(change).is_err(),
        "nobody serves the queue"
    );
    let command = bench.queue.as_mut().unwrap().next();
    let Some(Command::Change(_, once, _)) = command else {
        panic!("{command:?}");
    };
    assert!(!once.set());
}

/// The file with paths that find their uplinks.
fn auto(bench: &mut Bench) -> NodeConfig {
    for end in ["1\"\n", "2\"\n"] {
        let local = format!("local = \"127.0.0.1:770{end}");
        assert!(bench.text.contains(&local), "{local}");
        bench.text = bench.text.replacen(&local, "", 1);
    }
    bench.text = format!("paths = \"auto\"\n{}", bench.text);
    fs::write(bench.directory.path().join("a.toml"), &bench.text).unwrap();
    NodeConfig::load(&bench.directory.path().join("a.toml")).unwrap()
}

#[test]
fn paths_that_find_their_uplinks_are_left_alone() {
    let mut bench = Bench::new();
    let listed = bench.text.clone();
    let config = auto(&mut bench);
    let told = bench.reload(&[]).0.unwrap_err();
    assert!(told.contains("paths (listed or \"auto\")"), "{told}");
    bench.reloader.config = config;
    let (told, asked) = bench.reload(&[]);
    assert_eq!(told, Ok(vec![]));
    assert!(asked.unwrap().paths.is_empty(), "no socket is touched");
    let excepted = "duplicate-all\"\n[auto]\nexcept = [\"docker*\"]";
    let (told, asked) = bench.reload(&[("duplicate-all\"", excepted)]);
    assert_eq!(told.unwrap(), ["auto"]);
    assert!(
        asked.unwrap().paths.is_empty(),
        "who watches the uplinks does it"
    );
    let told = bench
        .reload(&[("127.0.0.2:7701", "[::1]:7701")])
        .0
        .unwrap_err();
    assert!(
        told.contains("path.0.remote (its address family)"),
        "{told}"
    );
    bench.text = listed;
    let told = bench.reload(&[]).0.unwrap_err();
    assert!(told.contains("paths (listed or \"auto\")"), "{told}");
}
