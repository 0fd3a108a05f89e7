//! RED against ns-2 2.35: the same load gives the same share of drops and the same mean queue.
//!
//! Packets of 1000 B arrive at a link of 10 Mbit/s and 20 ms, whose queue is never full: at
//! exponential intervals, one by one or in batches whose sizes are geometric with mean 10. The
//! reference figures are means over five seeds of 500 s; the runs differ from them by at most 1.8
//! %. ns-2 has `limit_` 1000, in packets with `bytes_` and `queue_in_bytes_` false, and
//! `mean_pktsize_` 1000; parameters that a case does not name have ns-2's defaults.

use polypath_core::frame::Payload;
use polypath_core::machine::Machine;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_link::{Link, LinkConfig, QueueConfig, QueueLimit, RedConfig};

/// Service of 1000 B, in seconds.
const SERVICE: f64 = 0.0008;
const SPAN: Time = Time(500_000_000_000);
const SEEDS: u64 = 5;

struct Case {
    name: &'static str,
    red: RedConfig,
    load: f64,
    batch: f64,
    drops: f64,
    waiting: f64,
}

#[derive(Clone)]
struct Packet;

impl Payload for Packet {
    fn len(&self) -> usize {
        1000
    }
}

/// Share of drops and mean queue without the packet in transmission.
fn run(case: &Case, seed: u64) -> (f64, f64) {
    let delay = Duration::from_millis(20);
    let config = LinkConfig::new(Rate::from_mbits(10), delay, QueueConfig::Red(case.red));
    let mut link = Link::new(&config, Seed(seed), "red").unwrap();
    let mut stream = Seed(seed).stream("arrivals");
    let mut now = Time::ZERO;
    while now < SPAN {
        loop {
            link.handle_input(now, Packet, &mut |_| {});
            if stream.chance(1.0 / case.batch) {
                break;
            }
        }
        let gap = stream.exponential(SERVICE * case.batch / case.load);
        now += Duration::from_secs_f64(gap);
    }
    let counters = link.counters();
    let drops = counters.drops.early as f64 / counters.packets_in as f64;
    (drops, counters.mean_waiting(now.as_secs_f64()))
}

fn cases() -> [Case; 6] {
    let packets = RedConfig {
        mean_packet: Bytes(1000),
        ..RedConfig::new(QueueLimit::Packets(1000))
    };
    let bytes = RedConfig::new(QueueLimit::Bytes(Bytes(1_000_000)));
    let quick = |red: RedConfig| RedConfig {
        min_th: Some(5.0),
        max_th: Some(15.0),
        weight: Some(0.02),
        mean_packet: Bytes(1000),
        ..red
    };
    let case = |name, red, load, batch, drops, waiting| Case {
        name,
        red,
        load,
        batch,
        drops,
        waiting,
    };
    let abrupt = RedConfig {
        gentle: false,
        ..packets
    };
    let classic = RedConfig {
        min_th: Some(5.0),
        max_th: Some(15.0),
        weight: Some(0.002),
        max_p: 0.02,
        wait: false,
        ..abrupt
    };
    [
        case("default", bytes, 1.2, 1.0, 0.180_83, 9.990),
        case("gentle", packets, 1.2, 1.0, 0.171_31, 17.711),
        case("abrupt", abrupt, 1.2, 1.0, 0.171_52, 14.627),
        case("classic", classic, 1.05, 1.0, 0.064_09, 12.323),
        case("bursty", quick(packets), 0.8, 10.0, 0.171_65, 10.388),
        case(
            "bursty, in bytes",
            quick(bytes),
            0.8,
            10.0,
            0.172_62,
            10.377,
        ),
    ]
}

#[test]
fn drops_and_mean_queue_are_those_of_ns2() {
    for case in cases() {
        let runs: Vec<(f64, f64)> = (1..=SEEDS).map(|seed| run(&case, seed)).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / SEEDS as f64;
        let (drops, waiting) = (mean(|r| r.0), mean(|r| r.1));
        for (ours, theirs) in [(drops, case.drops), (waiting, case.waiting)] {
            let ratio = ours / theirs;
            assert!((ratio - 1.0).abs() < 0.03, "{}: {ours} {theirs}", case.name);
        }
    }
}
