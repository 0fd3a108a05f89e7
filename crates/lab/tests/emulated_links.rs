//! An ECN-capable TCP connection through two nodes over emulated links: over one whose queue marks
//! packets instead of dropping them (`CoDel`, RFC 8289), over two that drop copies, and over three
//! that carry fragments.

use std::fs;
use std::io::{self, Write};
use std::iter::once;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use polypath_core::liveness::LivenessConfig;
use polypath_core::rng::Seed;
use polypath_lab::emulation::Emulation;
use polypath_lab::namespace::Namespace;
use polypath_lab::network::Network;
use polypath_lab::node_thread::NodeThread;
use polypath_lab::{Endpoints, can_test};
use polypath_live::clock::Clock;
use polypath_live::keys;
use polypath_live::node::Options;
use polypath_scenario::Scenario;
use polypath_sim::Side;
use tempfile::TempDir;

const SCENARIO: &str = r#"
schema = 1
name = "ecn"
schemes = ["tcp"]
transfer = { size = "1 kB", count = 1 }
[[path]]
name = "one"
[[path.link]]
rate = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "codel", limit = "1000 packets", ecn = true }
"#;
/// Two links that drop what exceeds their queues.
const COPIES: &str = r#"
schema = 1
name = "copies"
schemes = ["ppd-tcp2"]
transfer = { size = "1 kB", count = 1 }
[[path]]
name = "one"
[[path.link]]
rate = "20 Mbit/s"
delay = "5 ms"
queue = "12 packets"
[[path]]
name = "two"
[[path.link]]
rate = "20.2 Mbit/s"
delay = "5 ms"
queue = "14 packets"
"#;
/// Three links, of which the last loses packets. Their queues hold the whole transfer.
const FRAGMENTS: &str = r#"
schema = 1
name = "fragments"
schemes = ["ppd-tcp2"]
transfer = { size = "1 kB", count = 1 }
[[path]]
name = "one"
link = [{ rate = "20 Mbit/s", delay = "5 ms", queue = "6000 packets" }]
[[path]]
name = "two"
link = [{ rate = "20 Mbit/s", delay = "5 ms", queue = "6000 packets" }]
[[path]]
name = "three"
link = [{ rate = "20 Mbit/s", delay = "5 ms", queue = "6000 packets", loss = 0.1 }]
"#;
/// About three seconds at the rate of the link.
const LEN: usize = 6_000_000;
const ADDRESS: &str = "10.77.0.1:5000";
const SIDES: [(Side, &str, u8); 2] = [(Side::Server, "server", 1), (Side::Client, "client", 2)];

/// The links between two nodes, and what their files have.
struct Setup<'a> {
    scenario: &'a str,
    policy: &'a str,
    /// More keys of the table of the TUN device.
    tun: &'a str,
    /// More keys of the tables of the paths.
    path: &'a str,
    /// The number of heartbeats in a row that are overdue on a silent path.
    misses: u32,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self {
            scenario: SCENARIO,
            policy: r#"{ kind = "single-path" }"#,
            tun: "",
            path: "",
            misses: LivenessConfig::default().misses,
        }
    }
}

/// The counts of a transfer.
#[derive(Debug)]
struct Outcome {
    /// The packets that the link marked, and those that its queue dropped.
    marked: u64,
    dropped: u64,
    /// The packets that links lost at random.
    lost: u64,
    /// The packets that the receiving node restored from fragments.
    restored: u64,
    /// The packets with a mark that the receiver's host received: datagrams, and packets in them.
    received_marks: u64,
    /// The acknowledged segments with an echo of congestion (ECE, RFC 3168).
    echoed: u64,
    /// The segments sent again, and those of them that the receiver already had (DSACK, RFC 2883):
    /// a machine that stalls causes such retransmissions without a loss.
    retransmitted: u64,
    spurious: u64,
}

/// The nodes of both sides, with `paths` paths.
fn start(
    endpoints: &Endpoints,
    directory: &TempDir,
    paths: usize,
    setup: &Setup<'_>,
) -> [NodeThread; 2] {
    let Setup {
        policy,
        tun,
        path,
        misses,
        ..
    } = setup;
    let key = |name: &str| directory.path().join(format!("{name}.key"));
    let public = SIDES.map(|(_, name, _)| keys::generate(&key(name)).unwrap());
    [(0, 1), (1, 0)].map(|(own, peer)| {
        let ((side, name, host), (_, _, other)) = (SIDES[own], SIDES[peer]);
        let text = format!(
            "control = \"off\"\npolicy = {policy}\nliveness = {{ misses = {misses} }}\n\
             [node]\nkey_file = \"{name}.key\"\n\
             tun = {{ name = \"pp0\", addresses = [\"10.77.0.{host}/24\"]{tun} }}\n\
             [peer]\npublic_key = \"{}\"\n",
            public[peer]
        );
        let table = |n: usize| {
            let network = 128 + n;
            format!(
                "[[path]]\nname = \"p{n}\"\nlocal = \"10.{network}.0.{host}:7001\"\n\
                 remote = \"10.{network}.0.{other}:7001\"\n{path}"
            )
        };
        let text: String = once(text).chain((0..paths).map(table)).collect();
        let file = directory.path().join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        NodeThread::start(endpoints.at(side), &file, &Options::default()).unwrap()
    })
}

/// Sends [`LEN`] bytes from the server's side to the client's.
fn transfer(endpoints: &Endpoints) {
    let listener = endpoints
        .at(Side::Server)
        .run(|| TcpListener::bind(ADDRESS));
    let listener = listener.unwrap();
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(&vec![7; LEN])
    });
    let stream = endpoints
        .at(Side::Client)
        .run(|| TcpStream::connect(ADDRESS));
    let mut stream = stream.unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let received = io::copy(&mut stream, &mut io::sink()).unwrap();
    sender.join().unwrap().unwrap();
    assert_eq!(received, LEN as u64);
}

fn outcome(setup: &Setup<'_>) -> Outcome {
    let scenario = Scenario::parse(setup.scenario, "links.toml", &[]).unwrap();
    let (network, endpoints) = Network::open(&scenario, Seed(1)).unwrap();
    let mut emulation = Emulation::start(vec![network], Clock::starting_now()).unwrap();
    for (side, ..) in SIDES {
        endpoints.at(side).set("ipv4/tcp_ecn", "1").unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let nodes = start(&endpoints, &directory, scenario.paths.len(), setup);
    transfer(&endpoints);
    let snapshot = &emulation.snapshot().unwrap()[0];
    let [server, client] = [Side::Server, Side::Client].map(|side| endpoints.at(side));
    let links = || snapshot.links.iter().map(|link| link.counters);
    let of = |namespace: &Namespace, file, protocol, name| {
        namespace.counter(file, protocol, name).unwrap().unwrap()
    };
    let mut outcome = Outcome {
        lost: links().map(|counters| counters.drops.random).sum(),
        restored: 0,
        marked: links().map(|counters| counters.packets_marked).sum(),
        dropped: links().map(|counters| counters.drops.queue()).sum(),
        received_marks: of(client, "netstat", "IpExt:", "InCEPkts"),
        echoed: of(server, "netstat", "TcpExt:", "TCPDeliveredCE"),
        retransmitted: of(server, "snmp", "Tcp:", "RetransSegs"),
        spurious: of(server, "netstat", "TcpExt:", "TCPDSACKRecv"),
    };
    let [_, receiver] = nodes.map(|node| node.finish().unwrap());
    outcome.restored = receiver.fragments.map_or(0, |counters| counters.restored);
    emulation.finish().unwrap();
    outcome
}

#[test]
fn a_link_that_marks_slows_a_connection_down_without_a_loss() {
    if !can_test() {
        return;
    }
    for offload in [false, true] {
        let outcome = outcome(&Setup {
            tun: &format!(", offload = {offload}"),
            ..Setup::default()
        });
        assert!(outcome.marked > 0 && outcome.echoed > 0, "{outcome:?}");
        // Heartbeats, which are not ECN-capable, may be dropped.
        assert_eq!(outcome.retransmitted, outcome.spurious, "{outcome:?}");
        // Each marked datagram, and the packet in it: the mark spreads to no other.
        assert_eq!(outcome.received_marks, 2 * outcome.marked, "{outcome:?}");
    }
}

#[test]
fn a_link_that_marks_drops_datagrams_that_are_not_ecn_capable() {
    if !can_test() {
        return;
    }
    let outcome = outcome(&Setup {
        path: "copy_ecn = false\n",
        ..Setup::default()
    });
    assert_eq!((outcome.marked, outcome.echoed), (0, 0), "{outcome:?}");
    assert!(
        outcome.dropped > 0 && outcome.retransmitted > 0,
        "{outcome:?}"
    );
}

/// Copies mask some of what a link drops; the receiving node then marks packets in its place.
#[test]
fn the_receiver_of_copies_marks_what_they_mask() {
    if !can_test() {
        return;
    }
    let of = |react: &str| {
        outcome(&Setup {
            scenario: COPIES,
            policy: &format!(r#"{{ kind = "diversity", react = "{react}" }}"#),
            ..Setup::default()
        })
    };
    let (ecn, off) = (of("ecn"), of("off"));
    println!("{ecn:?} {off:?}");
    assert!(ecn.received_marks > 0 && ecn.echoed > 0, "{ecn:?}");
    assert_eq!((off.received_marks, off.echoed), (0, 0), "{off:?}");
    assert!(ecn.dropped > 0 && off.dropped > 0, "{ecn:?} {off:?}");
}

/// Any two of three fragments restore a packet, so the losses of one link cost no retransmission.
#[test]
fn fragments_over_three_links_restore_what_one_loses() {
    if !can_test() {
        return;
    }
    let outcome = outcome(&Setup {
        scenario: FRAGMENTS,
        policy: r#"{ kind = "diversity", recovery = 1, react = "off" }"#,
        // The lossy link is not taken for silent by chance: packets on the others alone are copies.
        misses: 20,
        ..Setup::default()
    });
    println!("{outcome:?}");
    let packets = LEN as u64 / 1500;
    assert!(outcome.restored > packets, "{outcome:?}");
    assert!(outcome.lost > packets / 20, "{outcome:?}");
    assert_eq!(outcome.dropped, 0, "{outcome:?}");
    assert_eq!(outcome.retransmitted, outcome.spurious, "{outcome:?}");
}
