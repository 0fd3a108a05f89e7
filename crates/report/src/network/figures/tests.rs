use polypath_core::time::{Duration, Time};
use polypath_scenario::Network;
use polypath_sim::tcp::SenderStats;
use polypath_sim::{DelayPercentiles, Delays, SpanFiles};

use super::*;

mod files;

#[test]
fn fairness_is_one_for_equal_shares_and_one_nth_for_one() {
    assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
    assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain_index(&[0.0]), None);
}

const NETWORK: &str = r#"schema = 1
name = "pair"
run = { duration = "4 s", batches = 2 }
[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "8 kbit/s"
delay = "20 ms"
queue = "10 packets"
[[flow]]
name = "bulk"
count = 2
from = "a"
to = "b"
traffic = { kind = "ftp" }
"#;

/// A flow's counters in a span: bytes of goodput, packets that arrived, and the milliseconds that
/// each took, as did each of two files; a third one is under way at the end where the goodput is
/// odd.
type Did = (u64, u64, u64);

fn flow(name: &str, spans: &[Did]) -> FlowOutcome {
    let counters = |&(goodput, count, ms): &Did| FlowCounters {
        sender: SenderStats {
            sent: count + 1,
            retransmitted: 1,
            timeouts: 0,
        },
        goodput,
        delays: Delays {
            count,
            sum: u128::from(count * ms) * 1_000_000,
        },
        ..FlowCounters::default()
    };
    FlowOutcome {
        streams: Vec::new(),
        name: name.to_owned(),
        tcp: true,
        spans: spans.iter().map(counters).collect(),
        windows: spans.iter().map(|_| Some(4.0)).collect(),
        files: spans
            .iter()
            .map(|&(goodput, _, ms)| SpanFiles {
                finished: vec![Duration::from_millis(ms); 2],
                under_way: goodput % 2 == 1,
            })
            .collect(),
        receiver_rtts: spans
            .iter()
            .map(|&(_, _, ms)| Some(ms as f64 / 100.0))
            .collect(),
    }
}

/// A run of two spans of 2 s; of the link, bytes transmitted, packets that came and packets that
/// were dropped.
fn run(flows: [&[Did]; 2], link: &[(u64, u64, u64)]) -> NetworkOutcome {
    let counters = |&(bytes_transmitted, packets_in, queue_full): &(u64, u64, u64)| {
        let mut counters = Counters {
            bytes_transmitted,
            packets_in,
            waited: Duration::from_millis(500),
            ..Counters::default()
        };
        counters.drops.queue_full = queue_full;
        counters
    };
    NetworkOutcome {
        start: Time::ZERO,
        span: Duration::from_secs(2),
        flows: vec![flow("bulk.0", flows[0]), flow("bulk.1", flows[1])],
        delay_percentiles: Vec::new(),
        links: vec![LinkOutcome {
            name: "narrow".to_owned(),
            rate: Rate(8_000),
            spans: link.iter().map(counters).collect(),
        }],
    }
}

fn figures(replicas: Vec<NetworkOutcome>) -> NetworkFigures {
    figures_of(NETWORK, replicas)
}

fn figures_of(network: &str, replicas: Vec<NetworkOutcome>) -> NetworkFigures {
    let network = Network::parse(network, "pair.toml", &[]).unwrap();
    let replicas: Vec<(u64, NetworkOutcome)> = (1..).zip(replicas).collect();
    NetworkFigures::of(NetworkRecord {
        network: &network,
        replicas: &replicas,
    })
}

/// The mean, half of the interval and the number of values.
#[track_caller]
fn assert_estimate(estimate: Option<Estimate>, expected: (f64, f64, usize)) {
    let Estimate { mean, ci95, n } = estimate.expect("there are values");
    let (mean_expected, half, count) = expected;
    assert!((mean - mean_expected).abs() < 1e-6, "{mean}");
    assert!((ci95.unwrap_or(0.0) - half).abs() < 1e-4, "{ci95:?}");
    assert_eq!((n, ci95.is_some()), (count, count > 1));
}

/// The half width for two values one apart: t(0.975, 1) times half of that.
const T1: f64 = 12.706_204_736 / 2.0;

const LINK: [(u64, u64, u64); 2] = [(1000, 10, 0), (2000, 30, 10)];

#[test]
fn a_single_run_is_estimated_from_its_spans() {
    let figures = figures(vec![run(
        [
            &[(500, 5, 10), (1000, 10, 10)],
            &[(250, 5, 10), (250, 10, 40)],
        ],
        &LINK,
    )]);
    let group = &figures.groups[0];
    // 750 and 1250 bytes in 2 s each.
    assert_estimate(group.means.goodput, (4000.0, 2000.0 * T1, 2));
    assert_estimate(group.means.window, (4.0, 0.0, 2));
    // 0.1 s of both flows, and then 0.1 and 0.4 s.
    assert_estimate(group.means.receiver_rtt, (0.175, 0.15 * T1, 2));
    assert_estimate(figures.flows[1].means.receiver_rtt, (0.25, 0.3 * T1, 2));
    assert_eq!(group.totals.goodput, 2000);
    assert_estimate(group.per_run.sent, (34.0, 0.0, 1));
    assert_estimate(group.per_run.retransmitted, (4.0, 0.0, 1));
    assert_estimate(figures.flows[0].means.goodput, (3000.0, 2000.0 * T1, 2));
    let link = &figures.links[0];
    // Half of the time, and all of it; 500 ms waited in 2 s; 10 of 40 dropped.
    assert_estimate(link.load, (0.75, 0.5 * T1, 2));
    assert_estimate(link.waiting, (0.25, 0.0, 2));
    assert_eq!(link.loss.map(|loss| loss.mean), Some(0.25));
    assert_eq!(link.totals.packets_in, 40);
}

#[test]
fn replicas_are_estimated_from_one_value_each() {
    let one = run(
        [&[(500, 5, 10), (500, 5, 10)], &[(500, 5, 10), (500, 5, 10)]],
        &LINK,
    );
    let other = run(
        [
            &[(0, 5, 10), (1000, 5, 10)],
            &[(1000, 5, 10), (2000, 5, 10)],
        ],
        &LINK,
    );
    let figures = figures(vec![one, other]);
    let group = &figures.groups[0];
    // 2000 and 4000 bytes in 4 s each.
    assert_estimate(group.means.goodput, (6000.0, 4000.0 * T1, 2));
    assert_estimate(figures.flows[0].means.goodput, (2000.0, 0.0, 2));
    assert_eq!(group.totals.goodput, 6000);
    assert_estimate(group.per_run.goodput, (3000.0, 2000.0 * T1, 2));
    assert_estimate(group.per_run.sent, (24.0, 0.0, 2));
    assert_estimate(figures.links[0].per_run.packets_in, (40.0, 0.0, 2));
    assert_estimate(figures.links[0].per_run.dropped, (10.0, 0.0, 2));
    assert_estimate(figures.links[0].load, (0.75, 0.0, 2));
    assert_eq!(figures.links[0].totals.packets_in, 80);
}

#[test]
fn every_packet_weighs_the_same_in_the_mean_delay() {
    let spans: [&[Did]; 2] = [&[(0, 1, 100), (0, 99, 10)], &[(0, 0, 0), (0, 0, 0)]];
    let expected = (0.1 + 99.0 * 0.01) / 100.0;
    let single = figures(vec![run(spans, &LINK)]);
    for delay in [single.flows[0].means.delay, single.groups[0].means.delay] {
        let delay = delay.unwrap();
        assert!((delay.mean - expected).abs() < 1e-9, "{delay:?}");
        assert!(delay.ci95.is_some_and(|half| half > 0.0));
    }
    assert_eq!(single.flows[1].means.delay, None, "nothing arrived");
    let few: [&[Did]; 2] = [&[(0, 1, 100), (0, 0, 0)], &[(0, 0, 0), (0, 0, 0)]];
    let many: [&[Did]; 2] = [&[(0, 99, 10), (0, 0, 0)], &[(0, 0, 0), (0, 0, 0)]];
    let both = figures(vec![run(few, &LINK), run(many, &LINK)]);
    let mean = both.groups[0].means.delay.unwrap().mean;
    assert!((mean - expected).abs() < 1e-9, "{mean}");
}

#[test]
fn one_starved_flow_per_replica_is_unfair_even_if_they_take_turns() {
    let first: [&[Did]; 2] = [&[(900, 9, 10), (100, 1, 10)], &[(0, 0, 0), (0, 0, 0)]];
    let second: [&[Did]; 2] = [&[(0, 0, 0), (0, 0, 0)], &[(100, 1, 10), (900, 9, 10)]];
    let third: [&[Did]; 2] = [&[(500, 5, 10), (0, 0, 0)], &[(0, 0, 0), (500, 5, 10)]];
    let jain = |spans: &[[&[Did]; 2]]| {
        let runs = spans.iter().map(|flows| run(*flows, &LINK)).collect();
        figures(runs).groups[0].fairness
    };
    assert_estimate(jain(&[first]), (0.5, 0.0, 1));
    assert_estimate(jain(&[third]), (1.0, 0.0, 1));
    assert_estimate(jain(&[first, second]), (0.5, 0.0, 2));
    assert_estimate(jain(&[first, third]), (0.75, 0.5 * T1, 2));
}

#[test]
fn percentiles_are_means_of_those_of_the_replicas() {
    let spans: &[Did] = &[(500, 5, 10), (500, 5, 10)];
    let with = |ms: u64| {
        let of = |factor| Duration::from_millis(factor * ms);
        let (p50, p95, p99) = (of(1), of(2), of(3));
        let mut run = run([spans, spans], &LINK);
        run.delay_percentiles = vec![Some(DelayPercentiles {
            p50,
            p90: p95,
            p95,
            p99,
        })];
        run
    };
    let single = figures(vec![with(10)]).groups[0].delay_percentiles.unwrap();
    assert_estimate(single.p95, (0.02, 0.0, 1));
    let both = figures(vec![with(10), with(20)]).groups[0]
        .delay_percentiles
        .unwrap();
    assert_estimate(both.p50, (0.015, 0.01 * T1, 2));
    assert_estimate(both.p99, (0.045, 0.03 * T1, 2));
    let without = figures(vec![run([spans, spans], &LINK)]);
    assert_eq!(without.groups[0].delay_percentiles, None);
}
