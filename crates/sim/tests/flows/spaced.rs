//! Spaced packets over the topology of the packet-spacing paper (Fig. 6).

use polypath_core::rng::Seed;
use polypath_core::spacing::SpacingChange;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Network;
use polypath_sim::{
    AgentEvent, FlowCounters, NetworkEvent, NetworkOutcome, SpacingEvent, run_network,
};

use super::recorder::Recorder;

/// Access links of 100 Mbit/s and 2 ms to a gateway; from there 155 Mbit/s and 40 ms behind a queue
/// of 10 packets.
fn network(senders: u32, run: &str, traffic: &str) -> Network {
    let text = format!(
        r#"schema = 1
name = "fig6"
run = {run}
[topology]
preset = "merge"
senders = {senders}
access = {{ rate = "100 Mbit/s", delay = "2 ms", queue = "1000 packets" }}
bottleneck = {{ rate = "155 Mbit/s", delay = "40 ms", queue = "10 packets" }}
[[flow]]
name = "psa"
count = {senders}
from = "sender{{}}"
to = "sink"
traffic = {traffic}
"#
    );
    Network::parse(&text, "fig6.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn run(network: &Network) -> NetworkOutcome {
    run_network(network, Seed(1), &mut ()).unwrap()
}

fn totals(outcome: &NetworkOutcome) -> Vec<FlowCounters> {
    let flows = outcome.flows.iter();
    flows.map(|flow| flow.spans.iter().copied().sum()).collect()
}

/// The spacing events of each flow.
fn spacings(recorder: &Recorder) -> Vec<(Time, u32, SpacingEvent)> {
    let spacing = |(at, event): &(Time, NetworkEvent)| match event {
        NetworkEvent::Agent {
            flow,
            event: AgentEvent::Spacing(event),
        } => Some((*at, *flow, *event)),
        _ => None,
    };
    recorder.0.iter().filter_map(spacing).collect()
}

fn loss(outcome: &NetworkOutcome) -> f64 {
    let total: FlowCounters = totals(outcome).into_iter().sum();
    1.0 - total.delays.count as f64 / total.sender.sent as f64
}

/// The interval is the spacing and 80 us for the packet: the same packets leave at the same times.
#[test]
fn sixteen_fixed_senders_are_sixteen_of_constant_bit_rate() {
    let duration = r#"{ duration = "2 s", warm_up = "500 ms" }"#;
    for spacing in [0, 500, 1000] {
        let fixed = format!(
            r#"{{ kind = "spaced", packet = "1000 B", control = "fixed", spacing = "{spacing} us" }}"#
        );
        let interval = spacing + 80;
        let cbr = format!(r#"{{ kind = "cbr", packet = "1000 B", interval = "{interval} us" }}"#);
        let fixed = run(&network(16, duration, &fixed));
        let cbr = run(&network(16, duration, &cbr));
        assert_eq!(totals(&fixed), totals(&cbr), "spacing {spacing} us");
        assert_eq!(fixed.links, cbr.links);
        // The excess over the bottleneck's capacity is lost; 16 packets at once and a queue of 10
        // lose some at any spacing.
        let offered = 16.0 * 8000.0 / f64::from(interval);
        let least = 1.0 - 155.0 / offered;
        assert!(
            loss(&fixed) >= least - 0.001,
            "{} at {spacing} us",
            loss(&fixed)
        );
    }
}

/// A single sender: all its packets arrive, at every spacing (claim `psp.fig7.single`).
#[test]
fn a_single_sender_loses_nothing() {
    for control in [
        r#""fixed", spacing = "200 us""#,
        r#""damped""#,
        r#""ad-hoc""#,
    ] {
        let traffic = format!(r#"{{ kind = "spaced", packet = "1000 B", control = {control} }}"#);
        let outcome = run(&network(
            1,
            r#"{ duration = "3 s", warm_up = "1 s" }"#,
            &traffic,
        ));
        let total = totals(&outcome)[0];
        assert_eq!(total.sender.sent, total.delays.count, "{control}");
        let interval = if control.contains("fixed") { 280 } else { 80 };
        let expected = 2_000_000 / interval;
        assert!(
            total.sender.sent.abs_diff(expected) <= 1,
            "{control}: {total:?}"
        );
    }
}

/// Without queueing a packet is acknowledged a base round-trip time after it was sent, if that time
/// is measured with a packet.
#[test]
fn both_readings_steer_alike_where_nothing_waits() {
    let [range, clock] = ["range", "clock"].map(|counting| {
        let traffic = format!(
            r#"{{ kind = "spaced", packet = "1000 B", control = "ad-hoc", spacing = "1 ms",
                feedback = {{ counting = "{counting}" }} }}"#
        );
        let traffic = traffic.replace('\n', " ");
        totals(&run(&network(1, r#"{ duration = "5 s" }"#, &traffic)))
    });
    assert_eq!(range, clock);
}

const DAMPED: &str = r#"{ kind = "spaced", packet = "1000 B", control = "damped", feedback = { base_rtt = "84 ms" } }"#;

/// Claim `psp.fig16_17.adaptive_fair` requires a Jain index of 0.99, which Fig. 4 does not reach
/// here: a loss that doubles a spacing of 2 us costs almost nothing, since a packet takes 80 us,
/// and one that doubles 60 us nearly halves the rate. So one sender keeps most of the line and the
/// other takes the rest; together they fill the bottleneck.
#[test]
fn two_damped_senders_fill_the_bottleneck_and_do_not_share_it() {
    let run_of = r#"{ duration = "60 s", warm_up = "20 s", batches = 40 }"#;
    let outcome = run(&network(2, run_of, DAMPED));
    let totals = totals(&outcome);
    let rates: Vec<f64> = totals
        .iter()
        .map(|t| t.sender.sent as f64 * 200.0)
        .collect();
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    let jain = sum * sum / (2.0 * squares);
    assert!(
        jain < 0.99,
        "{rates:?} bit/s: Jain's index {jain}; docs/simulator.md has another value"
    );
    let fastest = rates.iter().copied().fold(0.0, f64::max);
    assert!(fastest > 0.95 * 100e6, "{rates:?} bit/s");
    assert!(loss(&outcome) < 0.02, "{}", loss(&outcome));
    let goodput = totals.iter().map(|t| t.goodput).sum::<u64>() as f64 * 8.0 / 40.0;
    assert!(goodput > 0.9 * 155e6 && goodput < 155e6, "{goodput} bit/s");
}

#[test]
fn watching_changes_nothing_and_each_feedback_is_reported() {
    let network = network(2, r#"{ duration = "5 s" }"#, DAMPED);
    let (recorder, watched) = Recorder::of(&network);
    assert_eq!(watched, run(&network));
    let spacings = spacings(&recorder);
    for flow in 0..2 {
        let of_flow = || spacings.iter().filter(move |(_, f, _)| *f == flow);
        // The first arrives after 2 RTTs; 5 s are 59.5 RTTs.
        assert_eq!(of_flow().count(), 58);
        let counted: u64 = of_flow().map(|(_, _, e)| e.readings.range.sent).sum();
        let sent = totals(&watched)[flow as usize].sender.sent;
        assert!(
            counted < sent && counted > sent * 9 / 10,
            "{counted} of {sent}"
        );
    }
    let raised = |(_, _, e): &(Time, u32, SpacingEvent)| e.adjustment == SpacingChange::Raised;
    let first = spacings.iter().find(|e| raised(e)).unwrap();
    assert_eq!(first.2.spacing, Duration::from_micros(50));
    let is_back =
        |event: &NetworkEvent| matches!(event, NetworkEvent::Arrived { packet, .. } if packet.back);
    let back = recorder.0.iter().filter(|(_, event)| is_back(event));
    assert_eq!(back.count(), 2 * 2 * 58, "over two links back each");
}

const LOSSY: &str = r#"schema = 1
name = "lossy"
run = { duration = "30 s" }
[[link]]
name = "there"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "10 packets"
simplex = true
[[link]]
name = "back"
from = "b"
to = "a"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "10 packets"
loss = 0.5
simplex = true
[[flow]]
name = "media"
from = "a"
to = "b"
start = "1 s"
stop = "25 s"
traffic = { kind = "spaced", packet = "1000 B", control = "damped", line_rate = "20 Mbit/s" }
"#;

/// A return route that loses half of the feedback delays reactions; nothing piles up and no loss
/// goes uncounted.
#[test]
fn lost_feedback_is_made_up_for_by_the_next() {
    let network = Network::parse(LOSSY, "lossy.toml", &[]).unwrap();
    let mut recorder = Recorder::default();
    let outcome = run_network(&network, Seed(4), &mut recorder).unwrap();
    let spacings = spacings(&recorder);
    let total = totals(&outcome)[0];
    let sum = |of: fn(&SpacingEvent) -> u64| spacings.iter().map(|e| of(&e.2)).sum::<u64>();
    let counted = sum(|e| e.readings.range.sent);
    let lost = sum(|e| e.readings.range.lost());
    let (end, ..) = *spacings.last().unwrap();
    assert!(end < Time::ZERO + Duration::from_secs(25), "it has stopped");
    assert!(
        counted > total.sender.sent * 9 / 10,
        "{counted} of {total:?}"
    );
    let missing = total.sender.sent - total.delays.count;
    assert!(lost > 0 && lost <= missing, "{lost} of {missing}");
    assert!(
        missing - lost <= total.sender.sent - counted,
        "{lost} of {missing}"
    );
}
