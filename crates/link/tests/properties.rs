//! The link against a brute-force model, and against queueing theory.

use polypath_core::machine::{Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_link::{
    CoDelConfig, DropReason, Fades, GilbertElliott, Link, LinkConfig, OnOff, Outage, Output,
    QueueConfig, QueueLimit, RedConfig,
};
use proptest::prelude::*;

const RATE: Rate = Rate::from_mbits(10);
const DELAY: Duration = Duration::from_millis(20);

/// A packet with a number.
#[derive(Clone, Debug, PartialEq)]
struct Numbered {
    number: usize,
    size: u32,
}

impl polypath_core::frame::Payload for Numbered {
    fn len(&self) -> usize {
        self.size as usize
    }
}

fn offer(link: &mut Link<Numbered>, at: Time, number: usize, size: u32) -> Output<Numbered> {
    let mut output = Vec::new();
    let input = Wake::Input(Numbered { number, size });
    let deadline = step(link, at, input, &mut |o| output.push(o));
    assert_eq!((deadline, output.len()), (None, 1));
    output.remove(0)
}

/// The finishing times of the accepted packets, and the refused ones, with all packets in a list.
fn brute_force(limit: QueueLimit, arrivals: &[(Time, u32)]) -> Vec<Option<Time>> {
    let mut held: Vec<(Time, u32)> = Vec::new();
    let mut free_at = Time::ZERO;
    let mut fates = Vec::new();
    for &(at, size) in arrivals {
        held.retain(|&(finish, _)| finish >= at);
        let bytes: u64 = held.iter().map(|h| u64::from(h.1)).sum();
        let fits = match limit {
            QueueLimit::Packets(limit) => held.len() < limit as usize,
            QueueLimit::Bytes(limit) => bytes + u64::from(size) <= limit.0,
            QueueLimit::Unlimited => true,
        };
        fates.push(fits.then(|| {
            free_at = free_at.max(at) + RATE.transmission_time(Bytes(u64::from(size)));
            held.push((free_at, size));
            free_at
        }));
    }
    fates
}

fn arrivals() -> impl Strategy<Value = Vec<(Time, u32)>> {
    // Gaps and sizes on a coarse grid, so that packets arrive and finish at equal times.
    let packet = (0_u64..6, 1_u32..5);
    proptest::collection::vec(packet, 1..200).prop_map(|steps| {
        let mut now = Time::ZERO;
        steps
            .into_iter()
            .map(|(gap, quarter)| {
                now += Duration::from_micros(200 * gap);
                (now, 250 * quarter)
            })
            .collect()
    })
}

fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1_u32..12).prop_map(QueueLimit::Packets),
        (20_u32..60).prop_map(QueueLimit::Packets),
        (1_000_u64..8_000).prop_map(|n| QueueLimit::Bytes(Bytes(n))),
        Just(QueueLimit::Unlimited),
    ]
}

proptest! {
    #[test]
    fn agrees_with_brute_force_in_fifo_order_and_loses_nothing_unseen(
        limit in limits(),
        arrivals in arrivals(),
    ) {
        let config = LinkConfig::new(RATE, DELAY, limit);
        let mut link = Link::new(&config, Seed(1), "l").unwrap();
        let fates = brute_force(limit, &arrivals);
        let mut last = Time::ZERO;
        for (number, (&(at, size), fate)) in arrivals.iter().zip(&fates).enumerate() {
            let packet = Numbered { number, size };
            match (offer(&mut link, at, number, size), fate) {
                (Output::Deliver { at, packet: p }, Some(finish)) => {
                    prop_assert_eq!((at, p), (*finish + DELAY, packet));
                    prop_assert!(at > last);
                    last = at;
                }
                (Output::Dropped { reason, packet: p }, None) => {
                    prop_assert_eq!((reason, p), (DropReason::QueueFull, packet));
                }
                (output, expected) => prop_assert!(false, "{output:?} but {expected:?}"),
            }
        }
        let counters = link.counters();
        prop_assert_eq!(counters.packets_in, arrivals.len() as u64);
        prop_assert_eq!(
            counters.packets_in,
            counters.packets_delivered + counters.packets_dropped()
        );
        prop_assert_eq!(counters.bytes_delivered, counters.bytes_transmitted);
    }

    #[test]
    fn every_packet_is_delivered_or_dropped_under_any_errors(
        arrivals in arrivals(),
        loss in 0.0..=1.0,
        on_off in proptest::option::of((1_u64..5, 1_u64..5)),
        outage in proptest::option::of(0_u64..20),
        chain in proptest::option::of((0.0..=1.0, 0.0..=1.0)),
        red: bool,
    ) {
        let mut config = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(5));
        if red {
            let min_th = Some(5.0);
            let red = RedConfig { min_th, ..RedConfig::new(QueueLimit::Packets(5)) };
            config.queue = red.into();
        }
        config.gilbert_elliott = chain.map(|(p, r)| GilbertElliott { p, r, good: 0.1, bad: 0.9 });
        config.loss = loss;
        config.on_off = on_off.map(|(up, down)| OnOff {
            up: Duration::from_millis(up),
            down: Duration::from_millis(down),
        });
        config.outages = outage
            .map(|ms| Outage { from: Duration::from_millis(ms), until: None, every: None })
            .into_iter()
            .collect();
        let mut link = Link::new(&config, Seed(4), "l").unwrap();
        let (mut offered, mut sent, mut delivered) = ((0, 0), 0, (0, 0));
        for (number, &(at, size)) in arrivals.iter().enumerate() {
            let bytes = u64::from(size);
            offered = (offered.0 + 1, offered.1 + bytes);
            let output = offer(&mut link, at, number, size);
            if let Output::Deliver { .. } = output {
                delivered = (delivered.0 + 1, delivered.1 + bytes);
            }
            let refused = |r| matches!(r, DropReason::QueueFull | DropReason::Early);
            sent += match output {
                Output::Dropped { reason, .. } if refused(reason) => 0,
                _ => bytes,
            };
        }
        let c = link.counters();
        prop_assert_eq!((c.packets_in, c.bytes_in), offered);
        prop_assert_eq!(c.bytes_transmitted, sent);
        prop_assert_eq!((c.packets_delivered, c.bytes_delivered), delivered);
        prop_assert_eq!(c.packets_in, c.packets_delivered + c.packets_dropped());
    }
}

#[test]
fn a_packet_has_its_place_up_to_the_instant_of_its_last_bit() {
    let service = RATE.transmission_time(Bytes(1000));
    for limit in [1, 2, 20] {
        let config = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(limit));
        let mut link = Link::new(&config, Seed(1), "l").unwrap();
        for n in 0..u64::from(limit) {
            let output = offer(&mut link, Time::ZERO, 0, 1000);
            assert!(matches!(output, Output::Deliver { .. }), "{limit}: {n}");
        }
        let last_bit = Time::ZERO + service;
        let output = offer(&mut link, last_bit, 0, 1000);
        assert!(matches!(output, Output::Dropped { .. }), "{limit}");
        let output = offer(&mut link, last_bit + Duration(1), 0, 1000);
        assert!(matches!(output, Output::Deliver { .. }), "{limit}");
    }
}

/// One slot behind the packet in transmission is enough for the next.
#[test]
fn a_source_at_the_rate_of_the_link_loses_nothing() {
    let config = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(2));
    let mut link = Link::new(&config, Seed(1), "l").unwrap();
    let service = RATE.transmission_time(Bytes(1000));
    for n in 0..1000 {
        let output = offer(&mut link, Time::ZERO + service * n, 0, 1000);
        assert!(matches!(output, Output::Deliver { .. }), "{n}");
    }
}

#[test]
fn a_saturated_link_is_never_idle() {
    let config = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(20));
    let mut link = Link::new(&config, Seed(1), "l").unwrap();
    let mut stream = Seed(3).stream("arrivals");
    let mut now = Time::ZERO;
    while now < Time(10_000_000_000) {
        offer(&mut link, now, 0, 1000);
        now += Duration::from_secs_f64(stream.exponential(0.0004));
    }
    let load = link.counters().load(RATE, link.busy_until().as_secs_f64());
    assert!((load - 1.0).abs() < 1e-3, "{load}");
}

/// Mean waiting time of M/D/1 is rho s / (2 (1 - rho)) (reference: ns-2, five seeds, within 0.3 %).
#[test]
fn the_wait_of_poisson_arrivals_agrees_with_theory() {
    for rho in [0.5, 0.7] {
        let config = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(100_000));
        let mut link = Link::new(&config, Seed(1), "l").unwrap();
        let mut stream = Seed(11).stream("arrivals");
        let service = RATE.transmission_time(Bytes(1000));
        let (mut now, mut waited, n) = (Time::ZERO, 0.0, 1_000_000);
        for _ in 0..n {
            now += Duration::from_secs_f64(stream.exponential(service.as_secs_f64() / rho));
            match offer(&mut link, now, 0, 1000) {
                Output::Deliver { at, .. } => {
                    waited += at.since(now + DELAY + service).as_secs_f64();
                }
                output @ Output::Dropped { .. } => panic!("{output:?}"),
            }
        }
        let theory = rho * service.as_secs_f64() / (2.0 * (1.0 - rho));
        let ratio = waited / f64::from(n) / theory;
        assert!((ratio - 1.0).abs() < 0.02, "rho {rho}: {ratio}");
    }
}

#[test]
fn an_invalid_configuration_is_refused_with_its_key() {
    let good = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(5));
    let keys_of = |config: &LinkConfig| {
        let error = Link::<Numbered>::new(config, Seed(1), "l").unwrap_err();
        error.keys().join(" ")
    };
    let broken = |change: fn(&mut LinkConfig)| {
        let mut config = good.clone();
        change(&mut config);
        keys_of(&config)
    };
    assert_eq!(broken(|c| c.rate = Rate(0).into()), "rate");
    assert_eq!(broken(|c| c.queue = QueueLimit::Packets(0).into()), "queue");
    assert_eq!(broken(|c| c.loss = 1.5), "loss");
    assert_eq!(broken(|c| c.loss = f64::NAN), "loss");
    let chain = GilbertElliott {
        p: 0.1,
        r: -0.1,
        good: 0.0,
        bad: 1.0,
    };
    let mut config = good.clone();
    config.gilbert_elliott = Some(chain);
    assert_eq!(keys_of(&config), "gilbert_elliott.r");
    assert_eq!(
        broken(|c| c.on_off = Some(OnOff {
            up: Duration(1),
            down: Duration::ZERO
        })),
        "onoff.down"
    );
    let outage = |from: u64, until: u64| Outage {
        from: Duration(from),
        until: Some(Duration(until)),
        every: None,
    };
    config = good.clone();
    config.outages = vec![outage(5, 5)];
    assert_eq!(keys_of(&config), "outage.0.until outage.0.from");
    config.outages = vec![outage(5, 9), outage(8, 10)];
    assert_eq!(keys_of(&config), "outage.1");
}

#[test]
fn an_invalid_queue_is_refused_with_its_key() {
    let keys_of = |queue: QueueConfig| {
        let config = LinkConfig::new(RATE, DELAY, queue);
        let error = Link::<Numbered>::new(&config, Seed(1), "l").unwrap_err();
        error.keys().join(" ")
    };
    let red = |change: fn(&mut RedConfig)| {
        let mut red = RedConfig::new(QueueLimit::Packets(50));
        change(&mut red);
        keys_of(red.into())
    };
    assert_eq!(red(|r| r.min_th = Some(0.0)), "queue.min_th");
    assert_eq!(
        red(|r| (r.min_th, r.max_th) = (Some(5.0), Some(5.0))),
        "queue.max_th queue.min_th"
    );
    assert_eq!(red(|r| r.min_th = Some(51.0)), "queue.min_th queue.limit");
    assert_eq!(red(|r| r.max_p = 0.0), "queue.max_p");
    assert_eq!(red(|r| r.weight = Some(1.5)), "queue.weight");
    assert_eq!(red(|r| r.mean_packet = Bytes(0)), "queue.mean_packet");
    let codel = CoDelConfig {
        interval: Duration::ZERO,
        ..CoDelConfig::new(QueueLimit::Packets(5))
    };
    assert_eq!(keys_of(codel.into()), "queue.interval");
}

#[test]
fn both_directions_of_a_duplex_link_have_the_same_fades() {
    let mut config = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(5));
    config.fades = Some(Fades {
        length: Duration::from_millis(50),
        share: 0.2,
    });
    let lost = |link: &mut Link<Numbered>| -> Vec<usize> {
        let sent = (0..20_000).filter(|number| {
            let at = Time::ZERO + Duration::from_millis(5 * *number as u64);
            matches!(offer(link, at, *number, 100), Output::Dropped { .. })
        });
        sent.collect()
    };
    let of = |name| Link::of_duplex(&config, Seed(1), name, "l").unwrap();
    let there = lost(&mut of("l/client"));
    assert!((2000..6000).contains(&there.len()), "{}", there.len());
    assert_eq!(there, lost(&mut of("l/server")));
    let alone = |name| Link::new(&config, Seed(1), name).unwrap();
    assert_ne!(lost(&mut alone("l/client")), lost(&mut alone("l/server")));
}
