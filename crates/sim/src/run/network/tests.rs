use super::*;

#[test]
fn a_long_warm_up_before_short_spans_is_run_in_a_thousand_steps() {
    let text = r#"schema = 1
name = "slow"
run = { duration = "3600000020 us", warm_up = "3600 s", batches = 20 }
[[link]]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "10 packets"
[[flow]]
name = "rare"
from = "a"
to = "b"
traffic = { kind = "cbr", packet = "100 B", interval = "100 s" }
"#;
    let network = Network::parse(text, "slow.toml", &[]).unwrap();
    let mut steps = 0_u32;
    let mut last = Time::ZERO;
    let mut count = |now| {
        steps += 1;
        last = now;
        assert!(steps <= 1000 + 20 * SAMPLES, "{now:?}");
    };
    let outcome = run_network(&network, Seed(1), &mut count).unwrap();
    assert_eq!(steps, 1000 + 20 * SAMPLES);
    assert_eq!(outcome.start, Time::ZERO + Duration::from_secs(3600));
    assert_eq!(last, outcome.start + Duration(20_000));
}

/// One datagram a millisecond of 2 kB into a line of 8 Mbit/s: twice what it carries.
const OVERLOAD: &str = r#"schema = 1
name = "overload"
run = { duration = "2 s", batches = 4 }
[[link]]
name = "narrow"
from = "a"
to = "b"
RATE
delay = "1 ms"
queue = QUEUE
[[flow]]
name = "flood"
from = "a"
to = "b"
traffic = { kind = "cbr", packet = "2000 B", interval = "1 ms" }
"#;

/// One packet more waits every 2 ms.
#[test]
fn the_mean_queue_of_a_span_is_that_of_its_time() {
    let red = r#"{ kind = "red", limit = "1500 packets", min_th = 1200, max_th = 1400 }"#;
    for queue in [r#""1500 packets""#, r#""3 MB""#, red] {
        let text = OVERLOAD
            .replace("QUEUE", queue)
            .replace("RATE", "rate = \"8 Mbit/s\"");
        let network = Network::parse(&text, "overload.toml", &[]).unwrap();
        let outcome = run_network(&network, Seed(1), &mut ()).unwrap();
        for (span, counters) in (0..).zip(&outcome.links[0].spans) {
            let mean = counters.mean_waiting(outcome.span.as_secs_f64());
            let wanted = 250.0 * (f64::from(span) + 0.5);
            assert!((mean - wanted).abs() < 1.0, "{queue}, span {span}: {mean}");
        }
    }
}

#[test]
fn a_line_is_not_busy_for_more_than_all_of_the_time() {
    let codel = r#"{ kind = "codel", limit = "1500 packets" }"#;
    let red = r#"{ kind = "red", limit = "1500 packets", min_th = 1000, max_th = 1400 }"#;
    for queue in [r#""1500 packets""#, r#""3 MB""#, red, codel] {
        let text = OVERLOAD
            .replace("QUEUE", queue)
            .replace("RATE", "rate = \"8 Mbit/s\"");
        let network = Network::parse(&text, "overload.toml", &[]).unwrap();
        let outcome = run_network(&network, Seed(1), &mut ()).unwrap();
        for (span, counters) in outcome.links[0].spans.iter().enumerate() {
            let load = counters.load(outcome.links[0].rate, outcome.span.as_secs_f64());
            assert!((0.99..=1.0).contains(&load), "{queue}, span {span}: {load}");
        }
    }
}

#[test]
fn queues_that_have_limits_are_stopped_where_all_together_outgrow_memory() {
    let text = OVERLOAD
        .replace("QUEUE", "\"1500 packets\"")
        .replace("RATE", "rate = \"8 Mbit/s\"");
    let network = Network::parse(&text, "overload.toml", &[]).unwrap();
    let stopped_at = |detail: Detail| {
        let mut driven = Driven::new(build_graph(&network, Seed(1)).unwrap(), detail);
        driven.world.max_in_flight = 600;
        let mut advance = |ms: u64| driven.advance(Time(ms * 1_000_000), &mut ());
        let overflow = (100..2000).step_by(100).find_map(|ms| advance(ms).err());
        overflow.expect("an overflow").to_string()
    };
    let watched = Detail {
        flow_events: true,
        packets: false,
    };
    for detail in [Detail::default(), watched] {
        let message = stopped_at(detail);
        assert!(message.starts_with("60"), "{message}");
        assert!(
            message.contains("in the queue of link `narrow`"),
            "{message}"
        );
    }
}
