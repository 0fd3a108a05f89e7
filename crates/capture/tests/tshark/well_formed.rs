//! Headers, lengths and checksums.

use std::collections::{BTreeMap, BTreeSet};

use crate::run::captured;

/// All kinds of packets: SYNs, data, ACKs with and without blocks, marks, datagrams
/// of any size.
const EVERYTHING: &str = r#"schema = 1
name = "everything"
run = { duration = "5 s" }
[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "10 ms"
loss = 0.02
queue = { kind = "red", limit = "30 packets", min_th = 3, max_th = 10, ecn = true }
[[link]]
from = "b"
to = "c"
rate = "10 Mbit/s"
delay = "1 ms"
queue = "50 packets"
[[flow]]
name = "marked"
count = 2
from = "a"
to = "c"
traffic = { kind = "ftp" }
tcp = { variant = "sack", ecn = true, receiver_window = 500 }
[[flow]]
name = "files"
from = "c"
to = "a"
traffic = { kind = "sessions", idle = "50 ms", file = { mu = 8.0, sigma = 1.0 } }
tcp = { variant = "cubic", segment = "577 B", ack = "61 B", delayed_ack = "100 ms" }
[[flow]]
name = "plain"
from = "a"
to = "b"
traffic = { kind = "file", size = "200 kB" }
tcp = { receiver_window = 20, ack = "30 B" }
[[flow]]
name = "small"
from = "a"
to = "c"
traffic = { kind = "cbr", packet = "10 B", interval = "50 ms" }
[[flow]]
name = "large"
from = "c"
to = "b"
traffic = { kind = "poisson", packet = "1500 B", rate = "200 kbit/s" }
"#;

#[test]
fn every_packet_is_well_formed_and_its_checksums_are_right() {
    let Some(run) = captured(EVERYTHING, &[]) else {
        return;
    };
    let wrong = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || udp.checksum.status == 0";
    assert_eq!(run.count(wrong), 0);
    let (tcp, udp) = (run.count("tcp"), run.count("udp"));
    assert_eq!(
        run.count("tcp.checksum.status == 1 && ip.checksum.status == 1"),
        tcp
    );
    assert_eq!(
        run.count("udp.checksum.status == 1 && ip.checksum.status == 1"),
        udp
    );
    assert_eq!(run.count("frame"), tcp + udp);
    assert_eq!(
        run.count("tcp.options.sack.count"),
        run.count("tcp.options.sack_le")
    );
    let others = "frame.protocols != \"raw:ip:tcp\" && frame.protocols != \"raw:ip:tcp:data\" && \
                  frame.protocols != \"raw:ip:udp:data\" && frame.protocols != \"raw:ip:udp\"";
    assert_eq!(run.count(others), 0, "zeros are taken for a protocol");
}

#[test]
fn every_packet_has_the_length_that_the_model_gives_it_or_that_its_headers_need() {
    let Some(run) = captured(EVERYTHING, &[]) else {
        return;
    };
    let fields = [
        "frame.len",
        "tcp.len",
        "tcp.flags.syn",
        "tcp.options.sack_le",
        "ip.src",
    ];
    for packet in run.packets(
        "tcp && !(ip.addr == 10.0.0.3 && ip.addr == 10.0.0.1)",
        &fields,
    ) {
        // The plain file: no blocks, a window that needs no scale, and a model of ACKs below their
        // headers.
        let syn = packet["tcp.flags.syn"] == "True" || packet["tcp.flags.syn"] == "1";
        let wanted = match packet["tcp.len"].as_str() {
            "0" if syn => "44",
            "0" => "40",
            _ => "1000",
        };
        assert_eq!(packet["frame.len"], wanted, "{packet:?}");
    }
    let of_sessions = run.packets(
        "ip.src == 10.0.0.1 && tcp.srcport == 57347 && !tcp.options.sack_le",
        &fields,
    );
    assert!(of_sessions.len() > 100);
    for packet in of_sessions {
        assert_eq!(packet["frame.len"], "61", "an ACK of sessions: {packet:?}");
    }
    for packet in run.packets("tcp.options.sack_le", &fields) {
        let blocks = packet["tcp.options.sack_le"].split(',').count();
        let ack = if packet["ip.src"] == "10.0.0.1" {
            61
        } else {
            40
        };
        let wanted = (ack + 8 * blocks).max(44 + 8 * blocks);
        assert_eq!(packet["frame.len"], wanted.to_string(), "{packet:?}");
    }
    let small = run.packets("udp && ip.src == 10.0.0.1", &["frame.len", "udp.length"]);
    assert!(
        small
            .iter()
            .all(|packet| packet["frame.len"] == "28" && packet["udp.length"] == "8")
    );
    let large = run.packets("udp && ip.src == 10.0.0.3", &["frame.len", "udp.length"]);
    assert!(
        large
            .iter()
            .all(|packet| packet["frame.len"] == "1500" && packet["udp.length"] == "1480")
    );
    assert!(
        small.len() > 90 && large.len() > 50,
        "{} {}",
        small.len(),
        large.len()
    );
}

#[test]
fn every_syn_and_no_other_packet_carries_the_maximum_segment_size() {
    let Some(run) = captured(EVERYTHING, &[]) else {
        return;
    };
    let fields = ["tcp.options.mss_val", "tcp.srcport", "tcp.dstport"];
    for packet in run.packets("tcp.flags.syn == 1", &fields) {
        let ports = [&packet["tcp.srcport"], &packet["tcp.dstport"]];
        let wanted = if ports.into_iter().any(|port| port == "57347") {
            "537"
        } else {
            "960"
        };
        assert_eq!(packet["tcp.options.mss_val"], wanted, "{packet:?}");
    }
    let syns = run.count("tcp.flags.syn == 1");
    assert!(syns > 20);
    assert_eq!(run.count("tcp.options.mss_val"), syns);
}

/// As many datagram flows between two nodes, and TCP flows between two others, as there are
/// receiver ports; and between two more nodes successive connections that outnumber the sender
/// ports.
#[test]
fn no_port_is_taken_for_a_protocol() {
    let link = |from: &str, to: &str| {
        format!(
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10 Gbit/s\"\ndelay = \"10 us\"\n\
             queue = \"100000 packets\"\n"
        )
    };
    let flow = |from: &str, to: &str, count: u32, traffic: &str| {
        format!(
            "[[flow]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\n\
             start_spread = \"300 ms\"\nstop = \"900 ms\"\ntraffic = {traffic}\n"
        )
    };
    let network = [
        "schema = 1\nname = \"ports\"\nrun = { duration = \"1 s\" }\n".to_owned(),
        link("a", "b"),
        link("c", "d"),
        flow(
            "a",
            "b",
            8190,
            "{ kind = \"cbr\", packet = \"300 B\", interval = \"1 s\" }",
        ),
        flow("c", "d", 8190, "{ kind = \"file\", size = \"1 kB\" }"),
        link("e", "f"),
        flow(
            "e",
            "f",
            1,
            "{ kind = \"sessions\", idle = \"1 us\", file = { mu = 0, sigma = 0 } }",
        ),
    ];
    let Some(run) = captured(&network.concat(), &[]) else {
        return;
    };
    let protocols = run.packets("frame", &["frame.protocols"]);
    let mut seen = BTreeMap::new();
    for packet in &protocols {
        *seen
            .entry(packet["frame.protocols"].as_str())
            .or_insert(0_u32) += 1;
    }
    let known = ["raw:ip:tcp", "raw:ip:tcp:data", "raw:ip:udp:data"];
    assert!(seen.keys().eq(&known), "{seen:?}");
    for (filter, port, wanted) in [
        ("udp", "udp.dstport", 8190),
        ("tcp.len > 0", "tcp.dstport", 8190),
        ("tcp.len > 0", "tcp.srcport", 8191),
    ] {
        let packets = run.packets(filter, &[port]);
        let ports: BTreeSet<&str> = packets.iter().map(|p| p[port].as_str()).collect();
        assert_eq!(ports.len(), wanted, "{port}");
    }
}

#[test]
fn interfaces_are_links_and_hold_what_arrived_there_to_the_nanosecond() {
    let Some(run) = captured(EVERYTHING, &["narrow"]) else {
        return;
    };
    let packets = run.packets("frame", &["frame.interface_name", "frame.time_epoch"]);
    let on = |name: &str| {
        packets
            .iter()
            .filter(|p| p["frame.interface_name"] == name)
            .count()
    };
    assert_eq!(on("narrow") + on("narrow/back"), packets.len());
    let delivered = |name: &str| {
        let link = run.outcome.links.iter().find(|link| link.name == name);
        let spans = &link.expect("the link is there").spans;
        spans
            .iter()
            .map(|span| span.packets_in - span.packets_dropped())
            .sum::<u64>()
    };
    for name in ["narrow", "narrow/back"] {
        let under_way = delivered(name) - on(name) as u64;
        assert!(under_way < 40, "{under_way} of {}", delivered(name));
    }
    // The SYN of the first flow: 40 bytes at 2 Mbit/s and 10 ms, by the model's size.
    assert_eq!(packets[0]["frame.time_epoch"], "0.010160000");
}
