//! The renewal of spent keys at both ends.

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

/// Both ends send a frame every millisecond on path 1 for `span` ms; end `late` begins `lag` ms after the other.
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

/// The later end has spent its keys, too, before the handshake that it answered ends: it leaves the renewal to that.
#[test]
fn spent_keys_are_renewed_by_one_handshake() {
    for late in 0..2 {
        for (lag, initiations) in [(0, 2), (30, 1)] {
            let mut net = Net::new(busy("a", "b"), busy("b", "a"));
            net.run(seconds(1));
            let before = initiated(&net);
            send(&mut net, late, lag, COUNT + 50);
            let began = initiated(&net) - before;
            assert_eq!(began, initiations, "end {late} is {lag} ms late");
            let established = [0, 1].map(|who| net.ends[who].session.counters().established);
            assert_eq!(established, [2, 2], "end {late} is {lag} ms late");
            let frames = [0, 1].map(|who| net.frames(who).len() as u64);
            assert_eq!(frames.iter().sum::<u64>(), 2 * (COUNT + 50) - lag);
        }
    }
}

/// The peer renews first, and hears no answer: this end's own handshake renews its spent keys.
#[test]
fn a_renewal_that_hears_no_answer_does_not_keep_the_other_end_from_its_own() {
    for late in 0..2 {
        let mut net = Net::new(busy("a", "b"), busy("b", "a"));
        net.run(seconds(1));
        net.fate = Box::new(move |who, _, datagram| {
            let is_lost = who == late && datagram[0] == RESPONSE;
            let copies = (!is_lost).then(|| (DELAY, datagram.clone()));
            copies.into_iter().collect()
        });
        send(&mut net, late, 30, 7_000);
        let established = net.ends[late].session.counters().established;
        assert!(established > 1, "end {late}");
    }
}
