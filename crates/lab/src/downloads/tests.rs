use super::*;
use crate::can_test;
use polypath_core::policy::{DiversityConfig, PolicyConfig};
use polypath_core::time::Duration;
use polypath_report::downloads::KernelRecovery;
use polypath_scenario::Scenario;

/// Two links of 10 Mbit/s, of which each loses packets only at its queue.
const SCENARIO: &str = r#"
schema = 1
name = "downloads"
schemes = ["tcp"]
transfer = { size = "1 MB", count = 1 }
[[path]]
name = "one"
link = [{ rate = "10 Mbit/s", delay = "5 ms", queue = "20 packets" }]
[[path]]
name = "two"
link = [{ rate = "10.1 Mbit/s", delay = "5 ms", queue = "22 packets" }]
"#;
const SCHEDULE: DownloadSchedule = DownloadSchedule {
    flows: 3,
    warm_up: Duration::from_millis(500),
    measured: Duration::from_secs(2),
    last: Duration::from_secs(1),
};

fn carrier(name: &str, policy: Option<PolicyConfig>) -> DownloadCarrier {
    DownloadCarrier {
        name: name.to_owned(),
        scenario: Scenario::parse(SCENARIO, "downloads.toml", &[]).unwrap(),
        policy,
        recovery: KernelRecovery::default(),
    }
}

#[test]
fn downloads_share_a_link_alone_and_with_copies_on_two() {
    if !can_test() {
        return;
    }
    let diversity = PolicyConfig::Diversity(DiversityConfig::default());
    let carriers = [
        carrier("first path", None),
        carrier("diversity", Some(diversity)),
    ];
    let mut lab = DownloadLab::open(&["cubic".to_owned()]).unwrap();
    let (outcomes, conditions) = lab.run(&carriers, "cubic", SCHEDULE, 1).unwrap();
    println!("{outcomes:?} {conditions:?}");
    for (outcome, carrier) in outcomes.iter().zip(&carriers) {
        let goodput = outcome.goodput() / 1e6;
        assert!(
            (7.0..10.0).contains(&goodput),
            "{}: {goodput}",
            carrier.name
        );
        let shares = outcome.shares;
        assert!(shares.jain > 0.34 && shares.jain <= 1.0, "{shares:?}");
        assert!(shares.late > 0.05, "{shares:?}");
        let delay = outcome.queue_delay();
        assert!(delay > 0.0 && delay < 0.03, "{delay}");
    }
    assert_eq!(outcomes[0].marked, 0);
    assert!(outcomes[1].marked > 0);
}

#[test]
fn a_carrier_whose_nodes_cannot_start_is_named() {
    if !can_test() {
        return;
    }
    let mut lab = DownloadLab::open(&["cubic".to_owned()]).unwrap();
    let unknown = PolicyConfig::SinglePath {
        path: 7,
        leave: None,
    };
    let run = lab.run(
        &[carrier("unknown path", Some(unknown))],
        "cubic",
        SCHEDULE,
        1,
    );
    let error = run.unwrap_err().to_string();
    assert_eq!(error, "unknown path");
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    if !can_test() {
        return;
    }
    let error = DownloadLab::open(&["nonesuch".to_owned()]).unwrap_err();
    assert!(
        error.to_string().contains("modprobe tcp_nonesuch"),
        "{error}"
    );
}
