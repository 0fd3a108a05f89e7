//! The network of a graph whose senders run outside it.

use polypath_scenario::Network;

use super::*;

const UPLINKS: &str = include_str!("../../../../../scenarios/two-uplinks.toml");
const RACE: &str = include_str!("../../../../../scenarios/race.toml");

/// Background that fills the right uplink.
const BACKGROUND: &str = r#"
[[flow]]
name = "background"
from = "site"
to = "internet"
via = ["right"]
traffic = { kind = "poisson", packet = "1000 B", rate = "60 Mbit/s" }
"#;

fn uplinks(rest: &str) -> World<Numbered> {
    let text = format!("{UPLINKS}{rest}");
    let network = Network::parse(&text, "two-uplinks.toml", &[]).unwrap();
    build_between_senders(&network, Seed(1)).unwrap()
}

/// The ports and times at which packets of 200 B leave that enter at `from` at 1 s.
fn exits(world: &mut World<Numbered>, from: Side) -> Vec<(PortId, Duration)> {
    let start = Time(1000 * MS);
    for id in [0, 1] {
        let input = PortInput {
            port: port(id, from),
            payload: Numbered(0, 200),
        };
        world.handle_input(start, input, &mut |_| {});
    }
    let (mut left, mut exits) = (Vec::new(), Vec::new());
    while let Some(at) = world.run_until_output(Time(2000 * MS), &mut |o| left.push(o)) {
        for output in left.drain(..) {
            if let WorldOutput::Deliver { port, .. } = output {
                exits.push((port, at.since(start)));
            }
        }
    }
    exits
}

/// Idle, a path takes 20 ms and the 36 us in which its link sends 200 B.
#[test]
fn each_path_leads_from_a_port_of_the_senders_to_one_of_the_receiver() {
    let idle = Duration::from_micros(20_036);
    for (from, to) in [(Side::Server, Side::Client), (Side::Client, Side::Server)] {
        let found = exits(&mut uplinks(""), from);
        assert_eq!(found, [(port(0, to), idle), (port(1, to), idle)]);
    }
}

#[test]
fn other_flows_run_inside_and_the_senders_do_not() {
    let found = exits(&mut uplinks(BACKGROUND), Side::Server);
    assert_eq!(found[0].0, port(0, Side::Client));
    assert_eq!(found[0].1, Duration::from_micros(20_036), "no sender runs");
    let behind_background = found.get(1).map(|(_, delay)| *delay);
    assert!(
        behind_background.is_none_or(|delay| delay > Duration::from_millis(200)),
        "{found:?}"
    );
}

#[test]
fn a_network_without_senders_is_refused() {
    let race = Network::parse(RACE, "race.toml", &[]).unwrap();
    let built = build_between_senders::<Numbered>(&race, Seed(1));
    assert_eq!(built.unwrap_err(), BuildError::NoSenders);
}
