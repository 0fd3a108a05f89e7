//! The analysis of sequence numbers, windows and marks by tshark.

use crate::run::{Captured, captured};

fn lossy(tcp: &str) -> String {
    format!(
        r#"schema = 1
name = "lossy"
run = {{ duration = "20 s" }}
[[link]]
name = "access"
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "1 ms"
queue = "1000 packets"
[[link]]
name = "narrow"
from = "b"
to = "c"
rate = "4 Mbit/s"
delay = "20 ms"
loss = 0.01
queue = "30 packets"
[[flow]]
name = "bulk"
from = "a"
to = "c"
traffic = {{ kind = "ftp" }}
tcp = {tcp}
"#
    )
}

fn sent_again(run: &Captured) -> u64 {
    let flows = run.outcome.flows.iter().flat_map(|flow| &flow.spans);
    flows.map(|span| span.sender.retransmitted).sum()
}

/// The flags that only a faulty capture has if nothing is lost before the link.
const BOGUS: &str = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.zero_window || \
                     tcp.analysis.keep_alive || tcp.analysis.reused_ports";

#[test]
fn what_was_sent_again_is_a_retransmission_before_the_bottleneck() {
    for variant in ["tahoe", "reno", "newreno", "sack", "cubic"] {
        let tcp = format!("{{ variant = \"{variant}\", receiver_window = 200 }}");
        let Some(run) = captured(&lossy(&tcp), &["access"]) else {
            return;
        };
        // To tshark 4.0 a segment that follows new data within the round-trip time of the handshake
        // is out of order, even if it was captured before.
        let again = run.count("tcp.analysis.retransmission || tcp.analysis.out_of_order");
        assert_eq!(again as u64, sent_again(&run), "{variant}");
        assert!(again > 20, "{variant}: {again}");
        assert_eq!(run.count(BOGUS), 0, "{variant}");
        let window = run.count("tcp.analysis.window_full");
        assert_eq!(window, 0, "{variant}: the window never limits");
    }
}

#[test]
fn a_tap_behind_the_loss_sees_holes_and_no_more_retransmissions_than_there_were() {
    let Some(run) = captured(&lossy("{ variant = \"newreno\" }"), &["narrow"]) else {
        return;
    };
    let again = run.count("tcp.analysis.retransmission || tcp.analysis.out_of_order");
    assert!(again as u64 <= sent_again(&run) && again > 20);
    assert!(run.count("tcp.analysis.lost_segment") > 20);
    assert_eq!(
        run.count("tcp.analysis.ack_lost_segment || tcp.analysis.zero_window"),
        0
    );
}

#[test]
fn a_full_window_is_one_to_tshark() {
    let tcp = "{ variant = \"newreno\", receiver_window = 5 }";
    let Some(run) = captured(&lossy(tcp).replace("loss = 0.01\n", ""), &["access"]) else {
        return;
    };
    assert_eq!(sent_again(&run), 0);
    assert_eq!(
        run.count("tcp.analysis.retransmission || tcp.analysis.out_of_order"),
        0
    );
    assert!(run.count("tcp.analysis.window_full") > 100);
    let advertised = run.packets(
        "tcp.srcport == 57345 && ip.src == 10.0.0.3 && !tcp.flags.syn == 1",
        &["tcp.window_size"],
    );
    assert!(advertised.len() > 100);
    assert!(
        advertised
            .iter()
            .all(|ack| ack["tcp.window_size"] == "4800"),
        "5 segments of 960 bytes"
    );
}

#[test]
fn a_scaled_window_is_read_back() {
    let Some(run) = captured(&lossy("{ receiver_window = 1000 }"), &["access"]) else {
        return;
    };
    let acks = run.packets(
        "ip.src == 10.0.0.3 && tcp.flags.syn == 0",
        &["tcp.window_size"],
    );
    assert!(acks.len() > 100);
    for ack in acks {
        let advertised: u64 = ack["tcp.window_size"].parse().expect("a number");
        assert!((960_000..960_016).contains(&advertised), "{advertised}");
    }
}

#[test]
fn a_window_that_grows_later_is_read_back_with_the_scale_of_the_handshake() {
    let changes = "[{ at = \"5 s\", window = 1000 }, { at = \"15 s\", window = 7 }]";
    let keys = format!("{{ receiver_window = 20 }}\nreceiver_window = {changes}");
    let Some(run) = captured(&lossy(&keys).replace("loss = 0.01\n", ""), &["access"]) else {
        return;
    };
    let advertised = |filter: &str| -> Vec<u64> {
        let filter = format!("ip.src == 10.0.0.3 && tcp.flags.syn == 0 && {filter}");
        let acks = run.packets(&filter, &["tcp.window_size"]);
        let windows = acks.iter().map(|ack| ack["tcp.window_size"].parse());
        windows.map(|window| window.expect("a number")).collect()
    };
    // A sender may still use the window that was offered before, so a smaller window takes effect
    // later.
    for (filter, window) in [
        ("frame.time_epoch < 5", 20),
        ("frame.time_epoch > 5.5 && frame.time_epoch < 15", 1000),
        ("frame.time_epoch > 19", 7),
    ] {
        let acks = advertised(filter);
        let bytes = window * 960;
        assert!(acks.len() > 20, "{filter}: {} ACKs", acks.len());
        let is_it = |advertised: &u64| (bytes..bytes + 16).contains(advertised);
        assert!(acks.iter().all(is_it), "{filter}: {acks:?}");
    }
}

#[test]
fn marks_and_their_echoes_are_those_of_the_model() {
    let tcp = "{ variant = \"sack\", ecn = true, receiver_window = 200 }";
    let network = lossy(tcp).replace("loss = 0.01\n", "").replace(
        "queue = \"30 packets\"",
        "queue = { kind = \"red\", limit = \"60 packets\", min_th = 3, max_th = 15, ecn = true }",
    );
    let Some(run) = captured(&network, &["narrow"]) else {
        return;
    };
    let link = run.outcome.links.iter().find(|link| link.name == "narrow");
    let spans = &link.expect("the link is there").spans;
    let marked: u64 = spans.iter().map(|span| span.packets_marked).sum();
    let seen = run.count("ip.dsfield.ecn == 3") as u64;
    assert!(marked > 10 && marked - seen <= 2, "{seen} of {marked}");
    assert_eq!(
        run.count(
            "tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.flags.ece == 1 && tcp.flags.cwr == 1"
        ),
        1
    );
    assert!(run.count("tcp.flags.syn == 0 && tcp.flags.ece == 1") > 20);
    assert!(run.count("tcp.flags.syn == 0 && tcp.flags.cwr == 1") > 10);
}

#[test]
fn blocks_cover_bytes_that_were_sent() {
    let tcp = "{ variant = \"sack\", receiver_window = 200 }";
    let Some(run) = captured(&lossy(tcp), &["access"]) else {
        return;
    };
    let fields = ["tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re"];
    let acks = run.packets("tcp.options.sack_le", &fields);
    assert!(acks.len() > 100);
    for ack in acks {
        let numbers = |field: &str| -> Vec<u64> {
            let values = ack[field]
                .split(',')
                .map(|value| value.parse().expect("a number"));
            values.collect()
        };
        let (left, right) = (
            numbers("tcp.options.sack_le"),
            numbers("tcp.options.sack_re"),
        );
        let acknowledged = numbers("tcp.ack")[0];
        for (left, right) in left.iter().zip(&right) {
            assert!(*left > acknowledged && right > left, "{ack:?}");
            assert_eq!((right - left) % 960, 0, "{ack:?}");
            assert_eq!((left - acknowledged) % 960, 0, "{ack:?}");
        }
    }
}

#[test]
fn sessions_are_connections_one_after_another() {
    let network = lossy("{}").replace(
        "traffic = { kind = \"ftp\" }",
        "traffic = { kind = \"sessions\", idle = \"100 ms\", file = { mu = 9.0, sigma = 1.0 } }",
    );
    let Some(run) = captured(&network, &["access"]) else {
        return;
    };
    let syns = run.packets(
        "tcp.flags.syn == 1 && tcp.flags.ack == 0",
        &["tcp.srcport", "tcp.seq_raw"],
    );
    let mut ports: Vec<u16> = syns
        .iter()
        .map(|syn| syn["tcp.srcport"].parse().expect("a port"))
        .collect();
    ports.dedup();
    let wanted: Vec<u16> = (49152..).take(ports.len()).collect();
    assert_eq!(ports, wanted);
    assert!(ports.len() > 20);
    assert!(run.count("tcp.flags.syn == 1 && tcp.flags.ack == 1") >= ports.len() - 1);
    assert_eq!(run.count(BOGUS), 0);
}
