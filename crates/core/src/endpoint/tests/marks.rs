//! Marks in place of losses that copies mask.

use super::*;
use crate::combine::DetectorConfig;

const PATHS: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Capable(Ecn);

impl Payload for Capable {
    fn len(&self) -> usize {
        1000
    }

    fn ecn(&self) -> Ecn {
        self.0
    }

    fn mark_ce(&mut self) {
        self.0 = Ecn::Ce;
    }
}

/// How many of 2000 packets, one each ms, are delivered, and how many of them with a mark, where `is_lost` says which
/// copies are lost.
fn carry(ecn: Ecn, is_lost: impl Fn(u64, u8) -> bool) -> (usize, usize) {
    let config = EndpointConfig {
        paths: PATHS,
        detector: Some(DetectorConfig::default()),
        ..config(PolicyConfig::DuplicateAll {})
    };
    let [mut near, mut far] = [0; 2].map(|_| Endpoint::<Capable>::new(&config).unwrap());
    let mut delivered = Vec::new();
    for ms in 0..2000 {
        let mut frames = Vec::new();
        let packet = Input::Packet {
            meta: meta(Kind::Data, 1000),
            payload: Capable(ecn),
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
                    if let Output::Deliver(Capable(ecn)) = output {
                        delivered.push(ecn);
                    }
                },
            );
        }
    }
    let marked = delivered.iter().filter(|ecn| **ecn == Ecn::Ce).count();
    (delivered.len(), marked)
}

#[test]
fn congestion_is_marked_and_not_more_often_than_one_link_loses() {
    // Each link loses one packet in fifty, each another one: two of a window of 100 ms, and the next window was sent
    // before its sender could hear of the marks.
    let some = |ms: u64, path: u8| ms % 50 == u64::from(path) * 10;
    let (delivered, marked) = carry(Ecn::Ect0, some);
    assert_eq!(delivered, 2000);
    assert!((10..=40).contains(&marked), "{marked}");
}

#[test]
fn a_dropout_stays_masked() {
    let one = |ms: u64, path: u8| u64::from(path) == ms / 500;
    assert_eq!(carry(Ecn::Ect0, one), (2000, 0));
}

#[test]
fn what_is_not_capable_is_not_marked() {
    let some = |ms: u64, path: u8| ms % 50 == u64::from(path) * 10;
    assert_eq!(carry(Ecn::NotEct, some), (2000, 0));
}
