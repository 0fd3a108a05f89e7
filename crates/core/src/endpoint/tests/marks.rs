//! Marks in place of losses that copies mask.

use core::ops::Range;

use super::*;
use crate::combine::{DetectorStatistics, Reaction};
use crate::policy::DiversityConfig;

const PATHS: u8 = 4;
/// The number of flows that take turns.
const FLOWS: u64 = 997;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Capable(Ecn, FlowId);

impl Payload for Capable {
    fn len(&self) -> usize {
        1000
    }

    fn ecn(&self) -> Ecn {
        self.0
    }

    fn flow(&self) -> FlowId {
        self.1
    }

    fn mark_ce(&mut self) {
        self.0 = Ecn::Ce;
    }
}

/// The number of delivered packets out of 2000, one per ms, and the number of marked ones, where
/// `is_lost` selects the lost copies.
fn carry(ecn: Ecn, is_lost: impl Fn(u64, u8) -> bool) -> (usize, usize) {
    let delivered = delivered(2000, |_| ecn, is_lost);
    (delivered.len(), marked(&delivered))
}

fn marked(delivered: &[Ecn]) -> usize {
    delivered.iter().filter(|ecn| **ecn == Ecn::Ce).count()
}

/// The ECN fields of the delivered packets, sent with `ecn`, one per ms.
fn delivered(
    packets: u64,
    ecn: impl Fn(u64) -> Ecn,
    is_lost: impl Fn(u64, u8) -> bool,
) -> Vec<Ecn> {
    let config = EndpointConfig {
        detector: Some(DetectorConfig::default()),
        ..config(PolicyConfig::DuplicateAll {})
    };
    let mut far = end(&config);
    transfer(&mut far, 0..packets, ecn, is_lost)
}

/// An end with four paths.
fn end(config: &EndpointConfig) -> Endpoint<Capable> {
    Endpoint::new(&EndpointConfig {
        paths: PATHS,
        ..config.clone()
    })
    .unwrap()
}

/// The ECN fields of the packets that `far` delivers ([`outputs`]).
fn transfer(
    far: &mut Endpoint<Capable>,
    times: Range<u64>,
    ecn: impl Fn(u64) -> Ecn,
    is_lost: impl Fn(u64, u8) -> bool,
) -> Vec<Ecn> {
    let outputs = outputs(far, times, ecn, is_lost).into_iter();
    let delivered = outputs.filter_map(|output| match output {
        Output::Deliver(Capable(ecn, _)) => Some(ecn),
        _ => None,
    });
    delivered.collect()
}

/// Sends a packet in each of these milliseconds from an end with the policy `duplicate-all` to
/// `far`; returns the outputs of `far`.
fn outputs(
    far: &mut Endpoint<Capable>,
    times: Range<u64>,
    ecn: impl Fn(u64) -> Ecn,
    is_lost: impl Fn(u64, u8) -> bool,
) -> Vec<Output<Capable>> {
    let mut near = end(&EndpointConfig {
        first_sequence: times.start,
        ..config(PolicyConfig::DuplicateAll {})
    });
    let mut seen = Vec::new();
    for ms in times {
        let mut frames = Vec::new();
        let packet = Input::Packet {
            meta: meta(Kind::Data, 1000),
            payload: Capable(ecn(ms), FlowId(ms % FLOWS)),
        };
        step(&mut near, at(ms), Wake::Input(packet), &mut |output| {
            if let Output::Transmit(frame) = output {
                frames.push(frame);
            }
        });
        while let Some(deadline) = far.deadline().filter(|d| d.at <= at(ms)) {
            step(far, deadline.at, Wake::Timeout, &mut |_| {});
        }
        for frame in frames
            .into_iter()
            .filter(|frame| !is_lost(ms, frame.path.0))
        {
            step(
                far,
                at(ms),
                Wake::Input(Input::Frame(frame)),
                &mut |output| seen.push(output),
            );
        }
    }
    seen
}

/// Each link loses one packet in fifty, and no packet is lost on two: two of a window of 100 ms.
fn some(ms: u64, path: u8) -> bool {
    ms % 50 == u64::from(path) * 10
}

#[test]
fn congestion_is_marked_as_often_as_one_link_loses() {
    let (delivered, marked) = carry(Ecn::Ect0, some);
    assert_eq!(delivered, 2000);
    // Each link loses 40; the last windows have not been evaluated yet.
    assert!((36..=40).contains(&marked), "{marked}");
}

#[test]
fn a_dropout_stays_masked() {
    let one = |ms: u64, path: u8| u64::from(path) == ms / 500;
    assert_eq!(carry(Ecn::Ect0, one), (2000, 0));
}

#[test]
fn packets_without_ecn_are_not_marked() {
    assert_eq!(carry(Ecn::NotEct, some), (2000, 0));
}

#[test]
fn capable_packets_are_not_marked_for_earlier_losses_of_others() {
    let ecn = |ms| if ms < 60_000 { Ecn::NotEct } else { Ecn::Ect0 };
    let congested = |ms, path| ms < 60_100 && some(ms, path);
    let delivered = delivered(62_000, ecn, congested);
    // The windows that have some of the last 100 ms cause two marks each.
    let marked = marked(&delivered);
    assert!((1..=4).contains(&marked), "{marked}");
}

#[test]
fn capable_flows_get_their_share_of_the_marks() {
    let turns = |ms| if ms % 4 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
    let all = marked(&delivered(20_000, |_| Ecn::Ect0, some));
    let part = marked(&delivered(20_000, turns, some));
    assert!(part > 0 && part <= all / 2, "{part} of {all}");
}

#[test]
fn no_marks_wait_for_the_end_of_a_silence() {
    let after = |ms: u64| (1000..61_000).contains(&ms);
    let is_lost = |ms, path| after(ms) || some(ms, path);
    let delivered = delivered(61_010, |_| Ecn::Ect0, is_lost);
    let [before, after] = [&delivered[..900], &delivered[delivered.len() - 10..]];
    assert!(marked(before) > 0);
    assert_eq!(marked(after), 0);
}

fn diversity(react: Reaction) -> PolicyConfig {
    PolicyConfig::Diversity(DiversityConfig {
        react,
        ..DiversityConfig::default()
    })
}

/// The result of the policy `diversity` for 2000 packets of which each link loses one in fifty.
fn react(react: Reaction, ecn: Ecn) -> (usize, usize, DetectorStatistics) {
    let mut far = end(&config(diversity(react)));
    let delivered = transfer(&mut far, 0..2000, |_| ecn, some);
    let statistics = far.detector_statistics().unwrap();
    assert!(statistics.congested >= 17 && statistics.dropouts == 0);
    assert_eq!(statistics.windows, statistics.congested);
    (delivered.len(), marked(&delivered), statistics)
}

#[test]
fn the_policy_marks_what_is_capable_and_counts_the_rest() {
    let (delivered, marked, seen) = react(Reaction::Ecn, Ecn::Ect0);
    assert_eq!(delivered, 2000);
    assert!((36..=40).contains(&marked), "{marked}");
    assert_eq!(seen.marked, marked as u64);
    assert_eq!([seen.dropped, seen.unmarkable], [0, 0]);
    let (delivered, marked, seen) = react(Reaction::Ecn, Ecn::NotEct);
    assert_eq!([delivered, marked], [2000, 0]);
    assert!((36..=40).contains(&seen.unmarkable), "{seen:?}");
    assert_eq!([seen.dropped, seen.marked], [0, 0]);
}

#[test]
fn the_policy_drops_what_is_not_capable_where_that_is_asked_for() {
    let (delivered, marked, seen) = react(Reaction::Drop, Ecn::Ect0);
    assert_eq!(delivered, 2000);
    assert_eq!([seen.marked, seen.dropped], [marked as u64, 0]);
    let (delivered, marked, seen) = react(Reaction::Drop, Ecn::NotEct);
    assert_eq!(marked, 0);
    assert_eq!(delivered as u64, 2000 - seen.dropped);
    assert!((36..=40).contains(&seen.dropped), "{seen:?}");
}

#[test]
fn the_policy_only_counts_congestion_where_reactions_are_off() {
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let (delivered, marked, seen) = react(Reaction::Off, ecn);
        assert_eq!([delivered, marked], [2000, 0]);
        assert_eq!([seen.marked, seen.dropped, seen.unmarkable], [0, 0, 0]);
    }
}

/// A reload starts, replaces and ends the detector, and one that changes nothing keeps it.
#[test]
fn a_reload_changes_the_reaction() {
    let mut far = end(&config(PolicyConfig::DuplicateAll {}));
    let mut start = 0;
    let mut run = |far: &mut Endpoint<Capable>, policy| {
        let to = EndpointConfig {
            paths: PATHS,
            ..config(policy)
        };
        let adjust = Input::Adjust(Adjustment::new(&to).unwrap());
        step(far, at(start), Wake::Input(adjust), &mut |_| {});
        let delivered = transfer(far, start..start + 2000, |_| Ecn::Ect0, some);
        start += 2000;
        (marked(&delivered), far.detector_statistics())
    };
    assert_eq!(run(&mut far, PolicyConfig::DuplicateAll {}), (0, None));
    let (first, seen) = run(&mut far, diversity(Reaction::Ecn));
    assert_eq!(seen.unwrap().marked, first as u64);
    assert!(first > 30, "{first}");
    let (second, seen) = run(&mut far, diversity(Reaction::Ecn));
    assert_eq!(seen.unwrap().marked, (first + second) as u64);
    assert!(second > 30, "{second}");
    let (marked, seen) = run(&mut far, diversity(Reaction::Off));
    assert_eq!((marked, seen.unwrap().marked), (0, 0));
    let last = run(&mut far, PolicyConfig::single_path(0));
    assert_eq!(last, (0, None));
}

/// Marks and drops are visible in the event stream.
#[test]
fn reactions_are_events() {
    let marked = Event::CongestionMarked { len: 1000 };
    let dropped = Event::Dropped {
        reason: DropReason::Congestion,
        len: 1000,
    };
    for (react, ecn, expected) in [
        (Reaction::Ecn, Ecn::Ect0, marked),
        (Reaction::Drop, Ecn::NotEct, dropped),
    ] {
        let mut far = end(&config(diversity(react)));
        let seen = outputs(&mut far, 0..300, |_| ecn, some);
        let is_expected = |output: &Output<Capable>| *output == Output::Event(expected);
        let at = seen.iter().position(is_expected).unwrap();
        let is_delivered = matches!(
            (&seen[at - 1], &seen[at + 1]),
            (
                Output::Event(Event::Delivered { .. }),
                Output::Deliver(Capable(Ecn::Ce, _))
            )
        );
        assert_eq!(
            is_delivered,
            expected == marked,
            "{:?}",
            &seen[at - 1..=at + 1]
        );
    }
}

#[test]
fn one_path_masks_nothing() {
    let far = Endpoint::<Capable>::new(&EndpointConfig {
        paths: 1,
        ..config(diversity(Reaction::Ecn))
    });
    assert_eq!(far.unwrap().detector_statistics(), None);
}
