//! Nodes that start with a wall clock that is behind.

use super::*;

/// The lag of the clock in nanoseconds: a machine without a battery-backed clock starts at the time
/// of its shutdown, or in 1970.
const BEHIND: u64 = 3600 * 1_000_000_000;

/// Restarts node 0 with a clock that is behind; node 1 knows no address of it and does not
/// initiate.
fn restarted_behind() -> Net {
    let mut passive = config("b", "a", WALL);
    passive.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), passive);
    net.run(seconds(30));
    assert!(net.established());
    // Node 1 has lost the keys and the address of the peer, but not its last timestamp.
    net.ends[1].session.forget_addresses();
    net.ends[0] = end(config("a", "b", WALL - BEHIND - net.now.0), 3);
    net
}

#[test]
fn a_node_whose_clock_is_set_ahead_after_its_start_is_answered() {
    let mut net = restarted_behind();
    net.run(seconds(60));
    assert!(!net.ends[0].session.is_established());
    assert!(net.rejected(1, Reject::StaleTimestamp) > 4);
    net.ends[0].session.set_wall_clock(WALL);
    net.run(seconds(60) + crate::hello::MAX_RETRY_INTERVAL + DELAY * 3);
    assert!(net.established());
    net.offer(0, 0, "to b");
    net.run(seconds(67));
    assert_eq!(net.frames(1), ["to b"]);
}

/// Its timestamps would be rejected as replays.
#[test]
fn a_clock_that_is_set_back_has_no_effect() {
    let mut net = Net::configured();
    net.run(seconds(30));
    net.ends[0].session.set_wall_clock(WALL - BEHIND);
    net.ends[1].session.set_wall_clock(WALL - BEHIND);
    // Rekeys by either node.
    for n in 0..400 {
        net.run(seconds(30 + n));
        net.offer(0, 0, "frame");
        net.offer(1, 0, "frame");
    }
    for who in [0, 1] {
        assert_eq!(net.rejected(who, Reject::StaleTimestamp), 0);
        assert!(net.ends[who].session.counters().established >= 3);
    }
}
