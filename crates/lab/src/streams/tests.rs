mod silence;

use super::*;
use crate::can_test;
use polypath_core::connections::{ControlConfig, ControllerConfig, PlayOutConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_report::streams::{StreamMedia, StreamTransport, TransferTime};
use polypath_scenario::Scenario;

/// An access link of 2 Mbit/s.
const SCENARIO: &str = r#"
schema = 1
name = "access"
schemes = ["tcp"]
transfer = { size = "1 MB", count = 1 }
[[path]]
name = "access"
link = [{ rate = "2 Mbit/s", delay = "20 ms", queue = "20 packets" }]
"#;

/// A stream of 800 kbit/s has the wanted rate alone, and more with several connections than with one
/// beside five transfers.
#[test]
fn several_connections_have_more_beside_transfers_than_one() {
    if !can_test() {
        return;
    }
    let stream = |name: &str, connections| StreamCarrier {
        name: name.to_owned(),
        transport: StreamTransport::Connections(ControllerConfig::AdjustWindow {
            connections,
            control: ControlConfig::default(),
        }),
    };
    let seconds = Duration::from_secs;
    let run = StreamsRun {
        scenario: Scenario::parse(SCENARIO, "access.toml", &[]).unwrap(),
        media: StreamMedia::Endless,
        streams: vec![stream("one", 1), stream("six", 6)],
        rate: Rate(800_000),
        connection_limit: None,
        play_out: Some(PlayOutConfig {
            prebuffer: seconds(2),
            rebuffer: seconds(1),
            refill: 0,
        }),
        transfers: vec![
            TransferTime {
                from: seconds(8),
                until: seconds(20),
            };
            5
        ],
        congestion_control: "reno".to_owned(),
        duration: seconds(20),
        seed: 1,
    };
    let mut lab = StreamLab::open("reno").unwrap();
    let (outcomes, conditions) = lab.run(&run).unwrap();
    println!("{outcomes:?} {conditions:?}");
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    for outcome in &outcomes {
        assert!((18..=21).contains(&outcome.throughput.len()));
        let alone = mean(&outcome.throughput[3..8]);
        assert!((740e3..860e3).contains(&alone), "{alone}");
        assert_eq!(outcome.transfers.len(), 20);
        assert!(mean(&outcome.transfers[..7]) < 1000.0);
        assert!(mean(&outcome.transfers[10..]) > 500e3);
    }
    let [one, six] = &outcomes[..] else {
        panic!("two outcomes");
    };
    let congested = |of: &StreamOutcome| mean(&of.throughput[10..]);
    assert!(
        congested(six) > 1.3 * congested(one),
        "{} {}",
        congested(six),
        congested(one)
    );
    assert!(one.stops > six.stops, "{} {}", one.stops, six.stops);
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    if !can_test() {
        return;
    }
    let error = StreamLab::open("nonesuch").unwrap_err().to_string();
    assert!(error.contains("modprobe tcp_nonesuch"), "{error}");
}
