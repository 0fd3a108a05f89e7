//! Ends that begin with a wall clock that is behind.

use super::*;

/// By how much: a machine without a clock of its own begins where it was shut down, or in 1970.
const BEHIND: u64 = 3600 * 1_000_000_000;

/// Restarts end 0, whose clock is behind; end 1 does not know where it is, and begins nothing.
fn restarted_behind() -> Net {
    let mut quiet = config("b", "a", WALL);
    quiet.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), quiet);
    net.run(seconds(30));
    assert!(net.established());
    // An end that has lost the peer's keys and its address waits to be found, and remembers what it saw.
    net.ends[1].session.forget_addresses();
    net.ends[0] = end(config("a", "b", WALL - BEHIND - net.now.0), 3);
    net
}

#[test]
fn an_end_whose_clock_is_set_ahead_after_its_start_is_answered() {
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

/// It would be taken for a replay of what it showed before.
#[test]
fn a_clock_that_is_set_back_is_not_followed() {
    let mut net = Net::between_friends();
    net.run(seconds(30));
    net.ends[0].session.set_wall_clock(WALL - BEHIND);
    net.ends[1].session.set_wall_clock(WALL - BEHIND);
    // Renewals by either end.
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
