use super::*;
use crate::can_test;

/// Two paths of 20 and 10 Mbit/s.
const SCENARIO: &str = r#"
schema = 1
name = "bulk"
schemes = ["tcp"]
transfer = { size = "5 MB", count = 1 }
[[path]]
name = "one"
link = [{ rate = "20 Mbit/s", delay = "5 ms", queue = "100 packets" }]
[[path]]
name = "two"
link = [{ rate = "10 Mbit/s", delay = "5 ms", queue = "100 packets" }]
"#;

#[test]
fn a_transfer_by_in_time_and_by_multipath_tcp_uses_more_than_one_path() {
    if !can_test() {
        return;
    }
    let scenario = Scenario::parse(SCENARIO, "bulk.toml", &[]).unwrap();
    let [in_time, mptcp, alone] = [
        BulkCarrier::InTime("cubic"),
        BulkCarrier::Mptcp("cubic"),
        BulkCarrier::Tcp("cubic"),
    ];
    let lab = BulkLab::open(&[in_time, mptcp, alone]).unwrap();
    let goodput = |carrier: BulkCarrier| {
        let run = lab.run(&scenario, carrier, 1).unwrap();
        assert_eq!(run.received, 5_000_000, "{}", carrier.name());
        assert!(run.wire > 5_000_000 && run.wire < 6_500_000, "{run:?}");
        run.goodput() / 1e6
    };
    let alone = goodput(alone);
    assert!(alone < 20.0, "{alone} Mbit/s");
    for carrier in [in_time, mptcp] {
        let both = goodput(carrier);
        assert!(both > 20.0 && both < 30.0, "{carrier:?}: {both} Mbit/s");
    }
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    if !can_test() {
        return;
    }
    for carrier in [
        BulkCarrier::InTime("nonesuch"),
        BulkCarrier::Mptcp("nonesuch"),
    ] {
        let error = BulkLab::open(&[carrier]).unwrap_err().to_string();
        assert!(error.contains("modprobe tcp_nonesuch"), "{error}");
    }
}
