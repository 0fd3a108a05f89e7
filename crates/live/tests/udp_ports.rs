//! Two nodes with UDP ports over loopback, without privileges.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use polypath_live::clock::Clock;
use polypath_live::config::NodeConfig;
use polypath_live::drive::StopHandle;
use polypath_live::keys;
use polypath_live::node::{Node, NodeError, Options};
use polypath_live::stats::Stats;

/// The time in which a datagram arrives, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

struct RunningNode {
    stop: StopHandle,
    thread: JoinHandle<Result<Stats, NodeError>>,
}

impl RunningNode {
    fn start(file: &Path) -> Self {
        let config = NodeConfig::load(file).unwrap();
        let mut node = Node::open(&config, &Options::default()).unwrap();
        let stop = node.stop_handle();
        let thread = thread::spawn(move || node.run());
        Self { stop, thread }
    }

    fn finish(self) -> Stats {
        self.stop.stop();
        self.thread.join().unwrap().unwrap()
    }
}

fn application() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn free() -> SocketAddr {
    application().local_addr().unwrap()
}

/// The files of two nodes in `folder` with one path over loopback, each with these ports.
fn files(folder: &Path, policy: &str, ports: [&str; 2]) -> [std::path::PathBuf; 2] {
    let names = ["a", "b"];
    let key = |name: &str| keys::generate(&folder.join(format!("{name}.key"))).unwrap();
    let public = names.map(key);
    let locals = [free(), free()];
    [0, 1].map(|own| {
        let peer = 1 - own;
        let file = folder.join(format!("{}.toml", names[own]));
        let text = format!(
            "control = \"off\"\n[node]\nkey_file = \"{}.key\"\n{}\n[peer]\npublic_key = \"{}\"\n\
             [policy]\n{policy}\n[[path]]\nname = \"one\"\nlocal = \"{}\"\nremote = \"{}\"\n",
            names[own], ports[own], public[peer], locals[own], locals[peer]
        );
        fs::write(&file, text).unwrap();
        file
    })
}

/// Sends `datagram` until it arrives: the session is established meanwhile. Copies of others that
/// were sent before are skipped.
fn carry(from: &UdpSocket, to: SocketAddr, datagram: &[u8], receiver: &UdpSocket) -> SocketAddr {
    let mut buffer = vec![0; 65_535];
    receiver
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    for _ in 0..100 {
        from.send_to(datagram, to).unwrap();
        while let Ok((len, sender)) = receiver.recv_from(&mut buffer) {
            if &buffer[..len] == datagram {
                return sender;
            }
        }
    }
    panic!("nothing arrives");
}

#[test]
fn datagrams_of_any_length_cross_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, receiver) = (application(), application());
    let listen = free();
    let to = receiver.local_addr().unwrap();
    let ports = [
        format!("[[node.udp]]\nport = 5004\nlisten = \"{listen}\""),
        format!("[[node.udp]]\nport = 5004\nto = \"{to}\""),
    ];
    let files = files(
        folder.path(),
        "kind = \"in-time\"",
        ports.each_ref().map(|ports| &**ports),
    );
    let nodes = files.each_ref().map(|file| RunningNode::start(file));
    let mut far = carry(&sender, listen, b"first", &receiver);
    for len in [1, 1316, 1472, 9000, 60_000] {
        let datagram: Vec<u8> = (0..len).map(|at: u32| at.to_le_bytes()[0]).collect();
        far = carry(&sender, listen, &datagram, &receiver);
    }
    let back = carry(&receiver, far, b"answer", &sender);
    assert_eq!(back, listen, "as an application expects it");
    let [near, far] = nodes.map(RunningNode::finish);
    assert_eq!(near.tun_name, "udp5004");
    assert!(near.tun.from_applications.packets >= 6 && near.tun.to_applications.packets >= 1);
    assert!(far.tun.to_applications.packets >= 6 && far.tun.refused == 0);
}

#[test]
fn spaced_datagrams_leave_one_by_one() {
    const SPACING: polypath_core::time::Duration = polypath_core::time::Duration::from_millis(5);
    const COUNT: u8 = 40;
    let folder = tempfile::tempdir().unwrap();
    let (sender, receiver) = (application(), application());
    let listen = free();
    let to = receiver.local_addr().unwrap();
    let ports = [
        format!("[[node.udp]]\nport = 1\nlisten = \"{listen}\""),
        format!("[[node.udp]]\nport = 1\nto = \"{to}\""),
    ];
    // At the end of the tables of the policy.
    let policy = "kind = \"single-path\"\n[spacing]\ncontrol = { kind = \"fixed\", spacing = \"5 ms\" }\n\
                  max_wait = \"10 s\"";
    let files = files(
        folder.path(),
        policy,
        ports.each_ref().map(|ports| &**ports),
    );
    let nodes = files.each_ref().map(|file| RunningNode::start(file));
    carry(&sender, listen, b"first", &receiver);
    let mut buffer = [0; 100];
    receiver
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    // Those that `carry` has sent again.
    while receiver.recv(&mut buffer).is_ok() {}
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let clock = Clock::starting_now();
    let start = clock.now();
    for number in 0..COUNT {
        sender.send_to(&[number], listen).unwrap();
    }
    for number in 0..COUNT {
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 1);
        assert_eq!(buffer[0], number, "in order");
    }
    let took = clock.now().since(start);
    let least = SPACING * u64::from(COUNT - 2);
    assert!(took >= least, "{took} for {COUNT} packets");
    let [near, _] = nodes.map(RunningNode::finish);
    assert_eq!(near.spacing.unwrap().dropped, 0);
}
