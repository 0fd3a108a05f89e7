use polypath_core::policy::delay_centric::{Scope, TrendRule};
use polypath_core::policy::{DelayCentricConfig, GrowthConfig, PredictiveConfig, ReactiveConfig};

use super::*;
use crate::trace::no_files;

const TEXT: &str = include_str!("../../../../../scenarios/two-uplinks.toml");

fn parse_text(text: &str, sets: &[Override]) -> Result<Network, Errors> {
    Network::parse_senders(text, "x.toml", sets, &mut no_files)
}

fn parse(sets: &[&str]) -> Result<Network, Errors> {
    let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
    parse_text(TEXT, &sets)
}

fn scaled(scale: Scale) -> Network {
    let network = parse(&[]).unwrap();
    let sets = network
        .senders()
        .unwrap()
        .scaled(scale, "--senders")
        .unwrap();
    parse_text(TEXT, &sets).unwrap()
}

#[test]
fn the_file_has_its_stated_utilisation_and_delays() {
    let network = parse(&[]).unwrap();
    let senders = network.senders().unwrap();
    assert!((senders.utilisation() - 0.9).abs() < 1e-6);
    let paths = senders.paths();
    assert_eq!(paths[1].name, "right");
    assert_eq!(paths[0].idle_delay, Duration::from_nanos(20_036_000));
    assert!((paths[0].full_delay.as_secs_f64() - 0.27).abs() < 1e-4);
}

#[test]
fn any_number_of_senders_keeps_utilisation_and_delays() {
    for senders in [1, 6, 1000, 10_000] {
        let network = scaled(Scale {
            senders: Some(senders),
            utilisation: None,
        });
        let of = network.senders().unwrap();
        assert_eq!(of.count(), senders);
        assert!(
            (of.utilisation() - 0.9).abs() < 1e-4,
            "{}",
            of.utilisation()
        );
        let full = of.paths()[0].full_delay.as_secs_f64();
        assert!((full - 0.27).abs() < 5e-3, "{full}");
    }
}

#[test]
fn a_utilisation_changes_rates_and_background_follows_the_senders() {
    let background = "\n[[flow]]\nname = \"background\"\nfrom = \"site\"\nto = \"internet\"\nvia = [\"left\"]\n\
                      traffic = { kind = \"poisson\", packet = \"250 B\", rate = \"8 Mbit/s\" }\n";
    let text = format!("{TEXT}{background}");
    let network = parse_text(&text, &[]).unwrap();
    let senders = network.senders().unwrap();
    assert!((senders.utilisation() - 0.99).abs() < 1e-4);
    let scale = Scale {
        senders: Some(500),
        utilisation: Some(0.5),
    };
    let sets = senders.scaled(scale, "--senders 500").unwrap();
    let half = parse_text(&text, &sets).unwrap();
    let of = half.senders().unwrap();
    assert!((of.utilisation() - 0.5).abs() < 1e-4);
    let Traffic::Poisson(poisson) = half.flows[1].traffic else {
        panic!("{:?}", half.flows[1]);
    };
    assert_eq!(poisson.rate, Rate(4_000_000));
    assert_eq!(of.flows(), 0..500);
}

#[test]
fn what_cannot_be_scaled_is_named() {
    let network = parse(&["link.left.queue={ kind = \"red\", limit = \"99 packets\" }"]).unwrap();
    let scale = Scale {
        senders: Some(5),
        utilisation: None,
    };
    let error = network.senders().unwrap().scaled(scale, "").unwrap_err();
    assert!(error.to_string().starts_with("link `left` has a RED queue"));
    let same = network.senders().unwrap().scaled(Scale::default(), "");
    assert!(same.unwrap().is_empty(), "the file as it is");
}

#[test]
fn networks_without_senders_are_refused_with_place_and_remedy() {
    let race = include_str!("../../../../../scenarios/race.toml");
    let nine = format!("flow.0.traffic.ways=[{}]", ["[\"left\"]"; 9].join(", "));
    for (result, part) in [
        (parse_text(race, &[]), "no flow has the kind `multihomed`"),
        (
            parse(&[&nine]),
            "the senders have 9 paths to choose from; list 2 to 8",
        ),
        (
            parse(&["run.warm_up=0.5 s"]),
            "the last sender starts at 1 s, after the warm-up",
        ),
        (
            parse(&["link.0.queue=unlimited"]),
            "an unlimited queue has no maximum delay",
        ),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_grid_has_every_combination_with_the_widths_of_the_paper() {
    let ms = Duration::from_millis;
    let grid = PolicyGrid {
        hysteresis: vec![ms(5), ms(10)],
        guard_time: vec![ms(0), ms(2500)],
        heartbeat: vec![ms(1000)],
    };
    let policy = DelayCentricConfig::DelayCentric(ReactiveConfig::default());
    let settings = grid.settings(policy);
    assert_eq!(settings.len(), 4);
    let last = settings[3].policy.by_delay().unwrap();
    assert_eq!(
        (last.guard().least, last.guard().most),
        (ms(1000), ms(4000))
    );
    let heartbeats = last.heartbeats();
    assert_eq!((heartbeats.least, heartbeats.most), (ms(500), ms(1500)));
    let first = settings[0].policy.by_delay().unwrap();
    assert!(!first.guard().is_some());
    assert!(
        settings
            .iter()
            .all(|setting| setting.policy.check(2).is_ok())
    );
    assert_eq!(Setting::of_paper(policy).len(), 6);
}

#[test]
fn the_points_of_a_grid_keep_what_they_do_not_vary() {
    let by_flow = [
        DelayCentricConfig::DelayCentric(ReactiveConfig::default()),
        DelayCentricConfig::PredictiveDelayCentric(PredictiveConfig {
            trend: TrendRule::Original,
            ..PredictiveConfig::default()
        }),
        DelayCentricConfig::DelayGrowth(GrowthConfig::default()),
    ];
    let point = GridPoint {
        hysteresis: Duration::from_millis(5),
        guard_time: Duration::from_secs(1),
        heartbeat: Duration::from_millis(200),
    };
    for policy in by_flow.map(|policy| policy.with_scope(Scope::Flow)) {
        let applied = point.applied(policy);
        assert_eq!(applied.scope(), Scope::Flow);
        assert_eq!(applied.heartbeats().timeout, policy.heartbeats().timeout);
        if let DelayCentricConfig::PredictiveDelayCentric(config) = applied {
            assert_eq!(config.trend, TrendRule::Original);
        }
    }
}

#[test]
fn nodes_are_senders_with_any_policy() {
    let text = include_str!("../../../../../scenarios/thousand-nodes.toml");
    let mut network = parse_text(text, &[]).unwrap();
    let senders = network.senders().unwrap();
    // 1200 B and 60 B of a frame every 20 ms over twice 315 Mbit/s.
    assert!((senders.utilisation() - 0.8).abs() < 1e-4);
    assert_eq!(senders.traffic.policy().name(), "in-time");
    assert!(senders.sources(Seed(1), Time::MAX).is_empty());
    let baselines = Setting::baselines(senders.traffic);
    let invalid = baselines.iter().find(|of| of.policy.check(2).is_err());
    assert_eq!((baselines.len(), invalid), (8, None), "all but its own");
    let with_fragments = Setting::of_nodes(3);
    assert_eq!(with_fragments.last().unwrap().name, "fragments");
    assert_eq!(with_fragments.len(), Setting::of_nodes(2).len() + 1);
    network.set_sender_policy(PolicyConfig::DuplicateAll {});
    let policy = network.senders().unwrap().traffic.policy();
    assert_eq!(policy, PolicyConfig::DuplicateAll {});
}
