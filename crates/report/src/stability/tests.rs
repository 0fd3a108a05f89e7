use polypath_core::time::Duration;
use polypath_scenario::Network;
use polypath_scenario::network::senders::{PolicyGrid, Setting};
use polypath_sim::{DelayPercentiles, DueDatagrams, PathLoad, SendersOutcome};

use super::*;

const TEXT: &str = include_str!("../../../../scenarios/two-uplinks.toml");

fn network() -> Network {
    Network::parse_senders(TEXT, "x.toml", &[], &mut |_| unreachable!()).unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A run of 50 s in which 1000 senders switch `switches` times, with a delay of `delay` ms.
fn outcome(switches: u64, delay: u64) -> SendersOutcome {
    SendersOutcome {
        measured: Duration::from_secs(50),
        switches,
        sent: 1000,
        arrived: 1002,
        due: DueDatagrams {
            sent: 900,
            arrived: 891,
        },
        heartbeats: 25_000,
        wire_bytes: Some(450_000),
        mean_delay: Some(ms(delay).as_secs_f64()),
        delay: Some(DelayPercentiles {
            p50: ms(delay),
            p90: ms(delay * 2),
            p95: ms(delay * 3),
            p99: ms(delay * 4),
        }),
        paths: vec![
            PathLoad {
                share: 0.5,
                deviation: 0.1,
                history: vec![0.5; 4],
            };
            2
        ],
    }
}

fn settings() -> Vec<Setting> {
    let network = network();
    let policy = network.senders().unwrap().traffic.policy();
    let by_delay = policy.by_delay().unwrap();
    let grid = PolicyGrid {
        hysteresis: vec![ms(5), ms(10)],
        guard_time: vec![ms(0)],
        heartbeat: vec![ms(1000)],
    };
    let file = Setting::named("file", policy);
    [file].into_iter().chain(grid.settings(by_delay)).collect()
}

/// Figures of three settings: one unstable in half of its runs, two stable ones.
fn with_record<T>(use_it: impl FnOnce(StabilityRecord<'_>, &StabilityFigures) -> T) -> T {
    let (network, settings) = (network(), settings());
    let outcomes = [
        vec![outcome(25_000, 30), outcome(75_000, 200)],
        vec![outcome(200, 21), outcome(100, 23)],
        vec![outcome(20, 22), outcome(10, 24)],
    ];
    let record = StabilityRecord {
        network: &network,
        settings: &settings,
        seeds: &[7, 8],
        outcomes: &outcomes,
        lab: None,
    };
    use_it(record, &StabilityFigures::of(record))
}

#[test]
fn a_run_is_unstable_above_the_geometric_mean_of_the_limits_of_the_delay() {
    with_record(|_, figures| {
        let limit = (0.020_036_f64 * 0.270_025).sqrt();
        assert!((figures.unstable_above - limit).abs() < 1e-5, "{figures:?}");
        let unstable: Vec<usize> = figures.settings.iter().map(|of| of.unstable).collect();
        assert_eq!(unstable, [1, 0, 0]);
        assert_eq!(figures.settings[0].unstable_share(), Some(0.5));
    });
}

#[test]
fn the_switch_rate_is_of_a_sender_and_second() {
    with_record(|_, figures| {
        let rate = figures.settings[0].switch_rate.unwrap();
        assert!((rate.mean - 1.0).abs() < 1e-12, "{rate:?}");
        // Two values 0.5 apart from their mean: t(0.975, 1) is 12.706.
        assert!((rate.ci95.unwrap() - 12.706 * 0.5).abs() < 1e-3, "{rate:?}");
        let lost = figures.settings[0].lost.unwrap();
        assert!((lost.mean - 0.01).abs() < 1e-12, "{lost:?}");
    });
}

/// The second setting has the lowest p99, from which that of the third cannot be told, and the third
/// switches less.
#[test]
fn the_recommended_setting_is_stable_then_fast_then_calm() {
    with_record(|_, figures| assert_eq!(figures.recommended, Some(2)));
    let (network, settings) = (network(), settings());
    let mut outcomes = [
        vec![outcome(0, 200); 2],
        vec![outcome(200, 21), outcome(100, 21)],
        vec![outcome(20, 60), outcome(10, 60)],
    ];
    let recommended = |outcomes: &[Vec<SendersOutcome>]| {
        let record = StabilityRecord {
            network: &network,
            settings: &settings,
            seeds: &[7, 8],
            outcomes,
            lab: None,
        };
        StabilityFigures::of(record).recommended
    };
    assert_eq!(recommended(&outcomes), Some(1));
    outcomes[1] = vec![outcome(0, 22), outcome(0, 24)];
    outcomes[2] = vec![outcome(0, 21), outcome(0, 24)];
    assert_eq!(recommended(&outcomes), Some(2), "equal rates");
}

#[test]
fn the_report_has_every_number_with_its_unit() {
    with_record(|record, figures| {
        let text = json(record, figures).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["senders"], 1000);
        assert_eq!(report["utilisation"], 0.9);
        let first = &report["settings"][0];
        assert_eq!(first["switch_rate_per_sender_s"]["mean"], 1.0);
        assert_eq!(first["delay_ms"]["p90"]["mean"], 230.0);
        assert_eq!(first["paths"][1]["share"]["mean"], 0.5);
        assert_eq!(first["runs"][1]["is_unstable"], true);
        assert_eq!(report["settings"][1]["point"]["hysteresis_ms"], 5.0);
        assert_eq!(report["recommended"], report["settings"][2]["name"]);
        let table = render(record, figures);
        assert!(
            table.lines().all(|line| line.chars().count() <= 80),
            "{table}"
        );
        assert_eq!(first["heartbeat_rate_per_sender_s"]["mean"], 0.5);
        // 450 kB for 1000 datagrams of 200 B.
        assert_eq!(first["wire_ratio"]["mean"], 2.25);
        for part in ["1 of 2", "1.000 +- 6.353", "73.6 ms", "is recommended"] {
            assert!(table.contains(part), "{part} in {table}");
        }
    });
}

#[test]
fn a_report_folder_has_its_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let names = with_record(|record, figures| write(dir.path(), record, figures).unwrap());
    assert_eq!(names, FILES);
    let page = std::fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert_eq!(page.matches("role=\"img\"").count(), 2, "history and map");
    let map = std::fs::read_to_string(dir.path().join("map.svg")).unwrap();
    for part in [
        "no guard time",
        "heartbeats every 1 s",
        "recommended",
        "unstable runs",
    ] {
        assert!(map.contains(part), "{part}");
    }
}
