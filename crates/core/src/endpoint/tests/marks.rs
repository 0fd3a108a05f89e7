//! Marks in place of losses that copies mask.

use super::*;

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
        paths: PATHS,
        detector: Some(DetectorConfig::default()),
        ..config(PolicyConfig::DuplicateAll {})
    };
    let [mut near, mut far] = [0; 2].map(|_| Endpoint::<Capable>::new(&config).unwrap());
    let mut delivered = Vec::new();
    for ms in 0..packets {
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
            step(&mut far, deadline.at, Wake::Timeout, &mut |_| {});
        }
        for frame in frames
            .into_iter()
            .filter(|frame| !is_lost(ms, frame.path.0))
        {
            step(
                &mut far,
                at(ms),
                Wake::Input(Input::Frame(frame)),
                &mut |output| {
                    if let Output::Deliver(Capable(ecn, _)) = output {
                        delivered.push(ecn);
                    }
                },
            );
        }
    }
    delivered
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
