//! Rekeying at the limit of datagrams, at both nodes.

use super::*;

const COUNT: u64 = 100;

fn busy(own: &str, peer: &str) -> SessionConfig {
    let limits = Limits {
        rekey_after_count: COUNT,
        ..Limits::default()
    };
    SessionConfig {
        limits,
        ..config(own, peer, WALL)
    }
}

/// Both nodes send a frame every millisecond on path 1 for `span` ms; node `late` starts `lag` ms
/// after the other.
fn send(net: &mut Net, late: usize, lag: u64, span: u64) {
    let start = net.now;
    for n in 0..span {
        net.run(start + Duration::from_millis(n));
        net.offer(1 - late, 1, n.to_be_bytes().to_vec());
        if n >= lag {
            net.offer(late, 1, n.to_be_bytes().to_vec());
        }
    }
    net.run(net.now + Duration::from_secs(1));
}

fn initiated(net: &Net) -> u64 {
    let ends = net.ends.iter();
    ends.map(|end| end.session.counters().initiated).sum()
}

/// The later node reaches the limit before the handshake that it answered completes, and does not
/// initiate another one.
#[test]
fn one_handshake_renews_the_keys_of_both_nodes() {
    for late in 0..2 {
        for (lag, initiations) in [(0, 2), (30, 1)] {
            let mut net = Net::new(busy("a", "b"), busy("b", "a"));
            net.run(seconds(1));
            let before = initiated(&net);
            send(&mut net, late, lag, COUNT + 50);
            let initiated = initiated(&net) - before;
            assert_eq!(initiated, initiations, "node {late} is {lag} ms late");
            let established = [0, 1].map(|who| net.ends[who].session.counters().established);
            assert_eq!(established, [2, 2], "node {late} is {lag} ms late");
            let frames = [0, 1].map(|who| net.frames(who).len() as u64);
            assert_eq!(frames.iter().sum::<u64>(), 2 * (COUNT + 50) - lag);
        }
    }
}

/// The peer rekeys first and receives no response: this node's own handshake renews the keys.
#[test]
fn a_rekey_without_responses_does_not_block_the_other_node() {
    for late in 0..2 {
        let mut net = Net::new(busy("a", "b"), busy("b", "a"));
        net.run(seconds(1));
        net.delivery = Box::new(move |who, _, datagram| {
            let is_lost = who == late && datagram[0] == RESPONSE;
            let copies = (!is_lost).then(|| (DELAY, datagram.clone()));
            copies.into_iter().collect()
        });
        send(&mut net, late, 30, 7_000);
        let established = net.ends[late].session.counters().established;
        assert!(established > 1, "node {late}");
    }
}
