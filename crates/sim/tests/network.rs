//! Networks of flows: their behaviour, and its reproducibility.

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_link::Counters;
use polypath_scenario::Network;
use polypath_sim::tcp::TcpEvent;
use polypath_sim::{Detail, NetworkEvent, NetworkObserver, NetworkOutcome, RunError, run_network};

const RACE: &str = include_str!("../../../scenarios/race.toml");

fn network(text: &str, sets: &[&str]) -> Network {
    let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
    Network::parse(text, "net.toml", &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

fn run(network: &Network, seed: u64) -> NetworkOutcome {
    run_network(network, Seed(seed), &mut ()).unwrap()
}

#[test]
fn a_seed_gives_the_same_run_and_another_seed_another() {
    let network = network(RACE, &["run.duration=1 s"]);
    let first = run(&network, 7);
    assert_eq!(first, run(&network, 7));
    assert_ne!(first, run(&network, 8));
}

/// Counts events.
#[derive(Default)]
struct Counts {
    last: Time,
    arrived: u64,
    turned_back: u64,
    dropped: u64,
    timeouts: u64,
    windows: u64,
}

impl NetworkObserver for Counts {
    fn on_progress(&mut self, now: Time) {
        self.turned_back += u64::from(now < self.last);
    }

    fn detail(&self) -> Detail {
        Detail {
            flow_events: true,
            packets: true,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        assert!(at >= self.last, "events are in order");
        self.last = at;
        match event {
            NetworkEvent::Arrived { .. } => self.arrived += 1,
            NetworkEvent::Dropped { .. } => self.dropped += 1,
            NetworkEvent::Agent { .. } => {}
            NetworkEvent::Tcp { event, .. } => match event {
                TcpEvent::Timeout { .. } => self.timeouts += 1,
                TcpEvent::Window { .. } => self.windows += 1,
                _ => {}
            },
        }
    }
}

/// The race scenario from its text, run by the only function that a browser would call: it uses no
/// file, clock or thread.
#[test]
fn a_race_of_one_second_is_the_same_watched_or_not_and_its_events_add_up() {
    let network = network(RACE, &["run.duration=1 s"]);
    let mut counts = Counts::default();
    let watched = run_network(&network, Seed(network.seed), &mut counts).unwrap();
    assert_eq!(watched, run(&network, network.seed));
    let links = || watched.links.iter().flat_map(|link| &link.spans);
    let dropped: u64 = links().map(Counters::packets_dropped).sum();
    let delivered: u64 = links().map(|span| span.packets_delivered).sum();
    let flows = || watched.flows.iter().flat_map(|flow| &flow.spans);
    let timeouts: u64 = flows().map(|span| span.sender.timeouts).sum();
    let sent: u64 = flows().map(|span| span.sender.sent).sum();
    assert_eq!((counts.dropped, counts.timeouts), (dropped, timeouts));
    assert!(
        sent > 5000 && dropped > 100 && timeouts > 0,
        "{sent} {dropped} {timeouts}"
    );
    let under_way = delivered - counts.arrived;
    assert!(under_way < 1000, "{under_way} of {delivered}");
    assert!(counts.windows > 50 && counts.turned_back == 0);
}

/// The ratio of ACKs that return over the bottleneck to data packets that cross it.
fn acks_per_packet(outcome: &NetworkOutcome) -> f64 {
    let packets = |name: &str| -> u64 {
        let link = outcome.links.iter().find(|link| link.name == name);
        link.unwrap().spans.iter().map(|s| s.packets_in).sum()
    };
    packets("bottleneck/back") as f64 / packets("bottleneck") as f64
}

#[test]
fn hosts_behave_as_configured() {
    let sets = |more: &'static str| ["run.duration=5 s", "run.warm_up=1 s", more];
    let plain = run(&network(RACE, &sets("seed=1")), 1);
    assert!((0.97..1.0).contains(&acks_per_packet(&plain)));
    let delayed = run(&network(RACE, &sets("tcp.delayed_ack=100 ms")), 1);
    assert!((0.48..0.6).contains(&acks_per_packet(&delayed)));
    let random = run(&network(RACE, &sets("tcp.overhead=1 ms")), 1);
    assert_ne!(plain, random, "a send overhead that delays nothing");
}

const OVERLOADED: &str = r#"
schema = 1
name = "overloaded"
run = { duration = "1000 s" }
[[link]]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "unlimited"
[[flow]]
name = "flood"
from = "a"
to = "b"
traffic = { kind = "cbr", packet = "100 B", interval = "10 us" }
"#;

#[test]
fn a_queue_without_end_stops_the_run_with_its_name() {
    let error = run_network(&network(OVERLOADED, &[]), Seed(1), &mut ()).unwrap_err();
    assert!(matches!(error, RunError::Overflow(_)), "{error}");
    assert!(error.to_string().contains("`a-b`"), "{error}");
}
