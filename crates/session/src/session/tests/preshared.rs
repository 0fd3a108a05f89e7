//! Nodes with a pre-shared key.

use super::*;
use crate::key::PresharedKey;

fn preshared(name: &str) -> PresharedKey {
    PresharedKey::generate(&mut Seed(1).stream(name)).unwrap()
}

/// Two nodes with these pre-shared keys at the time `until`.
fn run(keys: [Option<PresharedKey>; 2], until: Time) -> Net {
    let [a, b] = keys;
    let with = |preshared_key, config| SessionConfig {
        preshared_key,
        ..config
    };
    let mut net = Net::new(
        with(a, config("a", "b", WALL)),
        with(b, config("b", "a", WALL)),
    );
    net.run(until);
    net
}

#[test]
fn nodes_with_the_same_preshared_key_agree_on_keys_and_renew_them() {
    let mut net = run([(); 2].map(|()| Some(preshared("one"))), seconds(1));
    for n in 0..300 {
        net.run(seconds(1 + n));
        net.offer(0, 0, "to b");
        net.offer(1, 1, "to a");
    }
    net.run(seconds(302));
    assert_eq!([0, 1].map(|who| net.frames(who).len()), [300; 2]);
    assert!(net.ends[0].session.counters().established >= 3);
}

#[test]
fn nodes_with_different_preshared_keys_do_not_connect() {
    for keys in [
        [Some(preshared("one")), Some(preshared("other"))],
        [Some(preshared("one")), None],
        [None, Some(preshared("one"))],
    ] {
        let net = run(keys, seconds(30));
        for who in [0, 1] {
            assert!(!net.ends[who].session.is_established());
        }
        let [a, b] = [0, 1].map(|who| net.rejected(who, Reject::WrongResponse));
        assert!(a + b > 5, "the log can name the cause: {a} and {b}");
    }
}
