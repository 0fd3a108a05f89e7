use polypath_core::policy::DelayCentricConfig;
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_document::Override;
use polypath_scenario::network::Traffic;
use polypath_scenario::network::senders::Scale;
use polypath_scenario::network::traffic::multihomed::FirstRoute;
use polypath_sim::PathChoices;

use super::*;
use crate::can_test;

const TEXT: &str = include_str!("../../../../scenarios/delay-centric.toml");

/// The test bed at a utilisation, for 4 s after a warm-up of 1 s.
fn bed(utilisation: f64) -> Network {
    let mut sets: Vec<Override> = vec![
        "run.duration=5 s".parse().unwrap(),
        "run.percentiles=true".parse().unwrap(),
    ];
    let parse = |sets: &[Override]| {
        let read = &mut |_: &str| unreachable!();
        Network::parse_senders(TEXT, "delay-centric.toml", sets, read).unwrap()
    };
    let scale = Scale {
        senders: None,
        utilisation: Some(utilisation),
    };
    let network = parse(&sets);
    sets.extend(network.senders().unwrap().scaled(scale, "").unwrap());
    parse(&sets)
}

fn simulated(network: &Network, seed: u64) -> SendersOutcome {
    let senders = network.senders().unwrap();
    let mut choices = PathChoices::of(network, &senders);
    let outcome = polypath_sim::run_network(network, Seed(seed), &mut choices).unwrap();
    choices.outcome(&outcome, senders.position)
}

/// Below the critical utilisation nobody waits long, so the lab has the paths, the datagrams and
/// the delay of the simulation with the same seed.
#[test]
fn sources_on_idle_links_do_what_they_do_in_the_simulator() {
    if !can_test() {
        return;
    }
    let network = bed(0.3);
    let seeds = [1, 2, 3];
    let runs = seeds.map(|seed| SourceRun {
        network: &network,
        seed,
    });
    let mut done = Vec::new();
    let mut lab = SourceLab::open().unwrap();
    let (outcomes, conditions) = lab.run(&runs, |count| done.push(count)).unwrap();
    println!("{conditions:?}");
    assert_eq!((outcomes.len(), done.last()), (3, Some(&3)));
    for (seed, outcome) in seeds.into_iter().zip(outcomes) {
        let simulated = simulated(&network, seed);
        let senders = &outcome.senders;
        assert_eq!(outcome.refused, 0);
        assert_eq!(outcome.begun.iter().sum::<u32>(), 6);
        // Datagrams at the borders of the measurement.
        let apart = senders.sent.abs_diff(simulated.sent);
        assert!(apart <= 6, "{} {}", senders.sent, simulated.sent);
        assert!(senders.arrived.abs_diff(senders.sent) <= 6, "{senders:?}");
        if conditions.is_valid() {
            let [lab, sim] = [senders, &simulated].map(|of| of.mean_delay.unwrap());
            assert!((lab - sim).abs() < 1e-3, "{lab} s and {sim} s");
            let shares = senders.paths.iter().zip(&simulated.paths);
            for (lab, sim) in shares {
                assert!((lab.share - sim.share).abs() < 0.02, "{lab:?} {sim:?}");
            }
        }
    }
}

/// A path with four or more of six sources is overloaded, and its queue grows.
#[test]
fn an_overloaded_link_delays_its_sources() {
    if !can_test() {
        return;
    }
    let mut network = bed(0.99);
    // All begin on one path and stay there: the rule never finds another.
    let position = network.senders().unwrap().position;
    let Traffic::Multihomed(traffic) = &mut network.flows[position].traffic else {
        panic!("{network:?}")
    };
    traffic.first = FirstRoute::Listed;
    if let DelayCentricConfig::DelayCentric(policy) = &mut traffic.policy {
        policy.hysteresis = Duration::from_secs(100);
    }
    let runs = [SourceRun {
        network: &network,
        seed: 1,
    }];
    let (outcomes, _) = SourceLab::open().unwrap().run(&runs, |_| ()).unwrap();
    let [outcome] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!(outcome.begun, [6, 0]);
    assert_eq!(outcome.senders.switches, 0);
    // 1.98 times the rate of the link for 5 s: half of each second waits, up to 2 s.
    let delay = outcome.senders.mean_delay.unwrap();
    assert!((0.8..2.1).contains(&delay), "{delay}");
}

#[test]
fn a_network_without_senders_is_refused() {
    if !can_test() {
        return;
    }
    let mut network = bed(0.9);
    network.flows.clear();
    let runs = [SourceRun {
        network: &network,
        seed: 1,
    }];
    let error = SourceLab::open().unwrap().run(&runs, |_| ()).unwrap_err();
    assert!(error.to_string().contains("has no senders"), "{error}");
}
