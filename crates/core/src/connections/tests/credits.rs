//! Credits keep a window of packets in flight, and a rate below one packet a round trip.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::super::*;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

const MS: Duration = Duration::from_millis(1);
const PACKET: Bytes = Bytes(1250);

fn credits(rate: Rate) -> Credits {
    let target = Target {
        rate,
        segment: PACKET,
    };
    Credits::new(target, Rate(0), 1024)
}

fn given(credits: &mut Credits, now: Time) -> Vec<(u32, u64)> {
    let mut given = Vec::new();
    credits.give(now, 0, &mut |credit| {
        given.push((credit.connection, credit.packets));
    });
    given
}

#[test]
fn a_small_window_gives_a_credit_for_each_packet() {
    let mut credits = credits(Rate(1_000_000));
    credits.set_window(1, 2);
    assert_eq!(credits.control(), WindowControl::Credits);
    assert_eq!(given(&mut credits, Time::ZERO), [(1, 2)]);
    assert_eq!(given(&mut credits, Time::ZERO), []);
    credits.on_packet(1);
    assert_eq!(given(&mut credits, Time::ZERO), [(1, 3)]);
    assert_eq!(credits.deadline(), None);
}

#[test]
fn a_smaller_window_takes_no_credit_back() {
    let mut credits = credits(Rate(1_000_000));
    credits.set_window(1, 3);
    credits.set_window(2, 3);
    assert_eq!(given(&mut credits, Time::ZERO), [(1, 3), (2, 3)]);
    credits.set_window(1, 2);
    credits.on_packet(1);
    assert_eq!(given(&mut credits, Time::ZERO), []);
    credits.on_packet(1);
    assert_eq!(given(&mut credits, Time::ZERO), [(1, 4)]);
}

#[test]
fn a_large_window_is_that_of_the_kernel() {
    let mut credits = credits(Rate(1_000_000));
    credits.set_window(1, 100);
    assert_eq!(credits.control(), WindowControl::Kernel);
    assert_eq!(credits.kernel_window(1), Some(100));
    assert_eq!(given(&mut credits, Time::ZERO), [(1, 200)]);
    (0..24).for_each(|_| credits.on_packet(1));
    assert_eq!(given(&mut credits, Time::ZERO), []);
    credits.on_packet(1);
    assert_eq!(given(&mut credits, Time::ZERO), [(1, 225)]);
    credits.remove(1);
    assert_eq!(credits.kernel_window(1), None);
}

/// The kernel keeps a window that it has until that is clearly smaller.
#[test]
fn a_window_about_the_threshold_does_not_change_its_mechanism() {
    let mut credits = credits(Rate(1_000_000));
    let mut control = |window| {
        credits.set_window(1, window);
        credits.control()
    };
    assert_eq!(control(15), WindowControl::Credits);
    assert_eq!(control(16), WindowControl::Kernel);
    assert_eq!(control(12), WindowControl::Kernel);
    assert_eq!(control(11), WindowControl::Credits);
    assert_eq!(control(15), WindowControl::Credits);
}

#[test]
fn a_credit_is_repeated_for_what_was_received() {
    let mut credits = credits(Rate(1_000_000));
    credits.set_window(1, 5000);
    let mut given = |received| {
        let mut given = Vec::new();
        credits.give(Time::ZERO, received, &mut |credit| {
            given.push(credit.packets);
        });
        given
    };
    assert_eq!(given(0), [10_000]);
    assert_eq!(given(255), [] as [u64; 0], "the sender keeps 1024");
    assert_eq!(given(256), [10_000]);
    assert_eq!(given(511), [] as [u64; 0]);
    assert_eq!(given(512), [10_000]);
}

/// The packets that arrive within `span` over `connections` with windows of one packet, `rtt` after
/// their credits.
fn arrivals(rate: Rate, rtt: Duration, connections: u32, span: Duration) -> u64 {
    let mut credits = credits(rate);
    (1..=connections).for_each(|connection| credits.set_window(connection, 1));
    arrivals_of(credits, rtt, span)
}

fn arrivals_of(mut credits: Credits, rtt: Duration, span: Duration) -> u64 {
    let (mut now, mut arrived) = (Time::ZERO, 0);
    let mut in_flight: Vec<(Time, u32)> = Vec::new();
    let mut sent = BTreeMap::<u32, u64>::new();
    while now < Time::ZERO + span {
        for (connection, credit) in given(&mut credits, now) {
            let before = sent.insert(connection, credit).unwrap_or(0);
            in_flight.extend((before..credit).map(|_| (now + rtt, connection)));
        }
        let arrival = in_flight.iter().map(|(at, _)| *at).min();
        let deadline = credits.deadline().map(|deadline| deadline.at);
        now = [arrival, deadline].into_iter().flatten().min().unwrap();
        in_flight.retain(|(at, connection)| {
            let is_here = *at <= now;
            if is_here {
                arrived += 1;
                credits.on_packet(*connection);
            }
            !is_here
        });
    }
    arrived
}

/// Windows that carry 3 Mbit/s at 20 ms do not carry 600 at .1 ms.
#[test]
fn windows_for_a_longer_round_trip_carry_little_more_than_the_target() {
    let span = Duration::from_secs(10);
    let carried = |rtt| {
        let mut credits = credits(Rate(3_000_000));
        (1..=3).for_each(|connection| credits.set_window(connection, 2));
        credits.set_rtt(MS * 20);
        arrivals_of(credits, rtt, span) * PACKET.0 * 8 / 10
    };
    let estimated = carried(MS * 20);
    assert!((2_900_000..=3_000_000).contains(&estimated), "{estimated}");
    let short = carried(Duration::from_micros(100));
    assert!((3_700_000..3_800_000).contains(&short), "{short}");
}

proptest! {
    /// The rate is that of the target, or one packet a round trip on each connection if that is
    /// less.
    #[test]
    fn the_smallest_windows_carry_the_rate_of_the_target(
        kbit in 50_u64..5000,
        rtt in 1_u64..200,
        connections in 1_u32..8,
    ) {
        let (rate, span) = (Rate(kbit * 1000), Duration::from_secs(20));
        let arrived = arrivals(rate, MS * rtt, connections, span) as f64;
        let wanted = rate.as_f64() / 8.0 * span.as_secs_f64() / PACKET.0 as f64;
        let window = f64::from(connections) * span.as_secs_f64() / (MS * rtt).as_secs_f64();
        let expected = wanted.min(window);
        prop_assert!((arrived - expected).abs() <= expected * 0.02 + 2.0, "{arrived} {expected}");
    }
}
