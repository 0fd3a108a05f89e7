//! A link with a recorded rate, compared with opportunities that are used one by one.

mod common;

use std::collections::VecDeque;

use common::{Arrivals, Fate, arrivals, drive};
use polypath_core::machine::Machine;
use polypath_core::packet::Ecn;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_link::{DropReason, Link, LinkConfig, OPPORTUNITY, QueueLimit, Trace, TraceError};
use proptest::prelude::*;

const DELAY: Duration = Duration::from_millis(20);
const HALF_MS: Duration = Duration::from_micros(500);

fn link(trace: &Trace, limit: QueueLimit) -> Link<common::Numbered> {
    let mut config = LinkConfig::new(Rate(1), DELAY, limit);
    config.rate = trace.clone().into();
    Link::new(&config, Seed(1), "l").unwrap()
}

fn trace(ms: &[u64]) -> Trace {
    Trace::new(ms.iter().map(|ms| Duration::from_millis(*ms))).unwrap()
}

/// Times in ms, never decreasing, the last more than zero.
fn traces() -> impl Strategy<Value = Vec<u64>> {
    (proptest::collection::vec(0_u64..6, 0..20), 1_u64..20).prop_map(|(gaps, last)| {
        let mut now = 0;
        gaps.into_iter()
            .chain([last])
            .map(|gap| {
                now += gap;
                now
            })
            .collect()
    })
}

/// The opportunities of a trace that repeats, in order.
fn opportunities(ms: &[u64]) -> impl Iterator<Item = Time> {
    let period = *ms.last().unwrap();
    (0..).flat_map(move |n| ms.iter().map(move |at| Time((n * period + at) * 1_000_000)))
}

/// The algorithm of Mahimahi: every opportunity sends waiting bytes one by one; a due opportunity
/// precedes an arrival.
fn brute_force(ms: &[u64], limit: usize, arrivals: &Arrivals) -> Vec<(usize, Fate)> {
    let mut fates = Vec::new();
    let mut queue: VecDeque<(usize, u32, bool)> = VecDeque::new();
    let mut arriving = arrivals.iter().enumerate().peekable();
    for at in opportunities(ms) {
        while let Some((number, &(_, size, capable))) = arriving.next_if(|(_, a)| a.0 < at) {
            if queue.len() < limit {
                queue.push_back((number, size, capable));
            } else {
                fates.push((number, Fate::Dropped(DropReason::QueueFull)));
            }
        }
        let mut left = u32::try_from(OPPORTUNITY.0).unwrap();
        while left > 0
            && let Some((number, size, capable)) = queue.front_mut()
        {
            let part = left.min(*size);
            left -= part;
            *size -= part;
            if *size == 0 {
                let ecn = if *capable { Ecn::Ect0 } else { Ecn::NotEct };
                fates.push((*number, Fate::Delivered(at + DELAY, ecn)));
                queue.pop_front();
            }
        }
        if queue.is_empty() && arriving.peek().is_none() {
            break;
        }
    }
    fates.sort_by_key(|(number, _)| *number);
    fates
}

proptest! {
    #[test]
    fn uses_opportunities_as_mahimahi_does(
        ms in traces(),
        steps in proptest::collection::vec((0_u64..12, 1_u32..13), 1..150),
        limit in 1_u32..12,
    ) {
        let arrivals = arrivals(&steps, HALF_MS);
        let mut link = link(&trace(&ms), QueueLimit::Packets(limit));
        let fates = drive(&mut link, &arrivals);
        prop_assert!(fates.is_sorted_by_key(|(number, _)| *number));
        prop_assert_eq!(&fates, &brute_force(&ms, limit as usize, &arrivals));
        let mut delivered: u64 = 0;
        for (number, fate) in fates {
            if let Fate::Delivered(at, _) = fate {
                delivered += u64::from(arrivals[number].1);
                let past = opportunities(&ms).take_while(|o| *o + DELAY <= at).count() as u64;
                prop_assert!(delivered <= past * OPPORTUNITY.0, "{delivered} by {at}");
            }
        }
    }

    #[test]
    fn a_saturated_line_carries_all_that_the_trace_does(ms in traces(), periods in 1_u64..50) {
        let trace = trace(&ms);
        let end = Time::ZERO + trace.period() * periods;
        // The first opportunity may be at the time of the arrivals, which is too late for them.
        let usable = opportunities(&ms).take_while(|at| *at <= end).filter(|at| *at > Time::ZERO).count();
        let burst: Arrivals = (0..usable).map(|_| (Time::ZERO, 1500, false)).collect();
        let mut link = link(&trace, QueueLimit::Unlimited);
        let fates = drive(&mut link, &burst);
        prop_assert_eq!(fates.last().unwrap().1, Fate::Delivered(end + DELAY, Ecn::NotEct));
    }
}

#[test]
fn an_idle_age_costs_no_time_and_no_opportunities_are_saved() {
    let trace = trace(&[1, 2, 1000]);
    let mut link = link(&trace, QueueLimit::Packets(10));
    let late = Time(1_000_000_000_000_000_500);
    let fates = drive(&mut link, &vec![(late, 1500, false), (late, 1500, false)]);
    let at = |ms: u64| Time(1_000_000_000_000_000_000 + ms * 1_000_000) + DELAY;
    assert_eq!(fates[0].1, Fate::Delivered(at(1), Ecn::NotEct));
    assert_eq!(fates[1].1, Fate::Delivered(at(2), Ecn::NotEct));
}

#[test]
fn a_trace_has_a_mean_rate_and_a_malformed_one_is_refused() {
    // 3 times 1500 B in 1 s.
    assert_eq!(trace(&[1, 2, 1000]).mean_rate(), Rate(36_000));
    let new = |ms: &[u64]| Trace::new(ms.iter().map(|ms| Duration::from_millis(*ms)));
    assert_eq!(new(&[]).unwrap_err(), TraceError::Empty);
    assert_eq!(new(&[0, 0]).unwrap_err(), TraceError::NoTime);
    assert_eq!(new(&[1, 3, 2]).unwrap_err(), TraceError::Disorder(2));
}

#[test]
fn a_byte_is_transmitted_at_its_opportunity() {
    let mut link = link(&trace(&[5, 5, 12]), QueueLimit::Packets(10));
    for number in 0..4 {
        let packet = common::Numbered {
            number,
            size: 2000,
            ecn: Ecn::NotEct,
        };
        link.handle_input(Time::ZERO, packet, &mut |_| {});
    }
    assert_eq!(link.counters().bytes_transmitted, 8000);
    // 1500 bytes twice at 5 ms and once at 12 ms, again after 12 ms, and the last 500 bytes at 24
    // ms.
    for (ms, bytes) in [
        (0, 0),
        (4, 0),
        (5, 3000),
        (11, 3000),
        (12, 4500),
        (16, 4500),
        (17, 7500),
        (23, 7500),
        (24, 8000),
        (99, 8000),
    ] {
        let counters = link.counters_at(Time(ms * 1_000_000));
        assert_eq!(counters.bytes_transmitted, bytes, "at {ms} ms");
    }
}
