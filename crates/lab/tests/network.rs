//! Real packets over simulated networks in real time.

use std::process::Command;

use polypath_core::rng::Seed;
use polypath_lab::emulation::Emulation;
use polypath_lab::network::Network;
use polypath_lab::{Ends, preflight};
use polypath_live::clock::Clock;
use polypath_scenario::Scenario;
use polypath_sim::Side;

/// A scenario with one path of two links, of which the second has this delay.
fn scenario(delay: &str) -> Scenario {
    let text = format!(
        r#"
        schema = 1
        name = "border"
        schemes = ["tcp"]
        transfer = {{ size = "1 kB", count = 1 }}
        [[path]]
        name = "path1"
        [[path.link]]
        rate = "100 Mbit/s"
        delay = "5 ms"
        queue = "50 packets"
        [[path.link]]
        rate = "100 Mbit/s"
        delay = "{delay}"
        queue = "50 packets"
        "#
    );
    Scenario::parse(&text, "border.toml", &[]).unwrap()
}

/// Two ends joined by the scenario's network, or none, with the reason printed, where no lab can run.
fn emulate(scenario: &Scenario) -> Option<(Emulation, Ends)> {
    if let Err(refusal) = preflight() {
        println!("skipped: {refusal}");
        return None;
    }
    let (network, ends) = Network::open(scenario, Seed(1)).unwrap();
    let emulation = Emulation::start(vec![network], Clock::starting_now()).unwrap();
    Some((emulation, ends))
}

/// The median round-trip time of a few pings from server to client in milliseconds.
fn ping(ends: &Ends) -> f64 {
    let mut command = Command::new("ping");
    command.args(["-n", "-c", "9", "-i", "0.05", "-W", "2", "10.128.0.2"]);
    let said = ends.at(Side::Server).output(&mut command).unwrap();
    let time = |line: &str| line.split("time=").nth(1)?.split(' ').next()?.parse().ok();
    let mut times: Vec<f64> = said.lines().filter_map(time).collect();
    assert_eq!(times.len(), 9, "{said}");
    times.sort_by(f64::total_cmp);
    times[4]
}

#[test]
fn forty_milliseconds_more_on_a_path_are_forty_milliseconds_more_of_ping() {
    let Some((near, near_ends)) = emulate(&scenario("5 ms")) else {
        return;
    };
    let short = ping(&near_ends);
    let emulated = near.finish().unwrap();
    assert_eq!(emulated.networks[0].counters().dropped, 0);
    let (_far, far_ends) = emulate(&scenario("25 ms")).unwrap();
    let long = ping(&far_ends);
    assert!((20.0..25.0).contains(&short), "{short} ms over 2 x 10 ms");
    let added = long - short;
    assert!(
        (added - 40.0).abs() < 5.0,
        "20 ms each way added {added} ms"
    );
}
