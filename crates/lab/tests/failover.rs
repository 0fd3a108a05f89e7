//! `make failover` with few silences.

use std::io::Write;

use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_lab::can_test;
use polypath_lab::failover::{self, Options, render};

#[test]
fn nodes_and_mptcp_carry_a_flow_past_silences() {
    if !can_test() {
        return;
    }
    let options = Options {
        silences: 3,
        seed: Seed(1),
        rtt: Duration::from_millis(20),
    };
    let outcome = match failover::run(&options, |_| {}) {
        Err(error) if error.is_missing_prerequisite() => {
            // Not eprintln!, which the test harness captures.
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return;
        }
        outcome => outcome.unwrap(),
    };
    let table = render(&outcome);
    let [nodes, in_time, mptcp @ ..] = &outcome.candidates[..] else {
        panic!("{table}");
    };
    assert!(nodes.outage.max < 500.0, "{table}");
    assert_eq!(nodes.unbridged, 0, "{table}");
    assert!(nodes.samples.iter().all(|s| s.share > 0.9), "{table}");
    assert!((1..500).contains(&nodes.lost), "{table}");
    let links = nodes.heartbeats.unwrap().concat();
    assert!(
        links.iter().all(|rate| (100.0..10_000.0).contains(rate)),
        "{table}"
    );
    assert!(in_time.outage.max < 500.0, "{table}");
    // None, unless a busy machine stops a node for longer than the deadline.
    assert!(in_time.lost <= nodes.lost / 4, "{table}");
    assert_eq!(in_time.unbridged, 0, "{table}");
    assert!(in_time.back.iter().all(|rate| *rate < 9000.0), "{table}");
    assert_eq!(mptcp.len(), 2, "{table}");
    for measured in mptcp {
        assert_eq!(measured.samples.len(), 3, "{table}");
        assert_eq!(measured.lost, 0, "{table}");
        // A silent subflow stalls the stream at least until the first retransmission.
        assert!(measured.outage.max > 100.0, "{table}");
        assert!(measured.wire.iter().all(|rate| *rate > 0.0), "{table}");
    }
    for word in [
        "polypath in-time",
        "mptcp stale_loss_cnt=1",
        "p99",
        "no arrivals",
    ] {
        assert!(table.contains(word), "{table}");
    }
}
