use polypath_core::spacing::ControlConfig;
use polypath_core::units::{Bytes, Rate};
use polypath_scenario::Scenario;

use super::*;
use crate::can_test;

const SCENARIO: &str = r#"
schema = 1
name = "spaced"
schemes = ["tcp"]
transfer = { size = "1 MB", count = 1 }
[[path]]
name = "gateway"
link = [{ rate = "10 Mbit/s", delay = "10 ms", queue = "10 packets" }]
"#;

fn run(spacing: Duration, transfers: u32) -> SpacedRun {
    let sender = SenderConfig {
        line_rate: Some(Rate::from_mbits(100)),
        ..SenderConfig::new(ControlConfig::Fixed { spacing }, Bytes(1000))
    };
    SpacedRun {
        scenario: Scenario::parse(SCENARIO, "spaced.toml", &[]).unwrap(),
        senders: vec![
            (sender, Duration::from_millis(10)),
            (sender, Duration::from_millis(11)),
        ],
        reordering: 0,
        transfers,
        congestion_control: "cubic".to_owned(),
        warm_up: Duration::from_millis(500),
        measured: Duration::from_secs(2),
        bin: Duration::from_millis(500),
        seed: 1,
    }
}

#[test]
fn what_the_gateway_carries_arrives_and_the_rest_is_lost() {
    if !can_test() {
        return;
    }
    let mut lab = SpacedLab::open("cubic").unwrap();
    // 2 x 4 Mbit/s in 10 Mbit/s.
    let spacing = Duration::from_micros(1920);
    let (outcome, conditions) = lab.run(&run(spacing, 1)).unwrap();
    println!("{outcome:?} {conditions:?}");
    for sender in &outcome.senders {
        assert!((3.6e6..4.2e6).contains(&sender.sent), "{sender:?}");
        assert!(sender.rates.len() >= 5, "{sender:?}");
        // A queue of ten packets is one of 8 to 12 ms.
        let delay = sender.delay.unwrap();
        assert!((0.010..0.030).contains(&delay), "{sender:?}");
    }
    let [transfer] = outcome.transfers[..] else {
        panic!("{outcome:?}")
    };
    assert!(transfer > 0.3e6, "{outcome:?}");
    // 2 x 10 Mbit/s in 10 Mbit/s: half is lost.
    let (outcome, _) = lab.run(&run(Duration::from_micros(720), 0)).unwrap();
    let sum = |of: fn(&SpacedSenderOutcome) -> f64| outcome.senders.iter().map(of).sum::<f64>();
    assert!(sum(|sender| sender.sent) > 17e6, "{outcome:?}");
    assert!(
        (8.5e6..10.2e6).contains(&sum(|sender| sender.received)),
        "{outcome:?}"
    );
}
