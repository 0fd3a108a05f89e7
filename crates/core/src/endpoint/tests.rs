use alloc::collections::VecDeque;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::class::Classes;
use crate::combine::signature::SignatureConfig;
use crate::combine::{CopiesConfig, DetectorConfig};
use crate::event::DropReason;
use crate::frame::PathId;
use crate::frame::{Epoch, FrameKind};
use crate::machine::{Wake, step};
use crate::packet::{Dscp, Ecn, FlowId, IpVersion, Kind, PacketMeta};
use crate::policy::PolicyConfig;
use crate::repair::RepairConfig;
use crate::rng::Seed;
use crate::tariff::{Tariff, Tariffs};
use crate::time::Duration;

mod adjust;
mod configurations;
mod fragments;
mod hysteresis;
mod leave;
mod liveness;
mod marks;
mod order;
mod reported;
mod restart;
mod stage;

const MS: Duration = Duration::from_millis(1);
const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);

/// A payload that identifies packets: number and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet(u32, usize);

impl Payload for Packet {
    fn len(&self) -> usize {
        self.1
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

fn config(policy: PolicyConfig) -> EndpointConfig {
    EndpointConfig {
        paths: 2,
        policy,
        encapsulation: Encapsulation::PAPER,
        window: 1024,
        first_sequence: 0,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: None,
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        spacing: None,
    }
}

fn endpoint(policy: PolicyConfig) -> Endpoint<Packet> {
    Endpoint::new(&config(policy)).unwrap()
}

/// Wakes the endpoint as drivers do, and checks the guarantees on which they rely.
fn wake(end: &mut Endpoint<Packet>, now: Time, what: Wake<Input<Packet>>) -> Vec<Output<Packet>> {
    let timeout = what == Wake::Timeout;
    let mut outputs = Vec::new();
    let deadline = step(end, now, what, &mut |output| outputs.push(output));
    assert!(
        !timeout || deadline.is_none_or(|d| d.at > now),
        "{deadline:?} at {now}"
    );
    outputs
}

fn meta(kind: Kind, size: u32) -> PacketMeta {
    PacketMeta {
        version: IpVersion::V4,
        protocol: 6,
        flow: FlowId(1),
        kind,
        size,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        ports: None,
        class: None,
    }
}

fn send(end: &mut Endpoint<Packet>, now: Time, number: u32, kind: Kind) -> Vec<Frame<Packet>> {
    let len = if kind == Kind::Data { 1000 } else { 40 };
    let meta = meta(kind, len);
    let payload = Packet(number, len as usize);
    frames(&wake(
        end,
        now,
        Wake::Input(Input::Packet { meta, payload }),
    ))
}

fn receive(end: &mut Endpoint<Packet>, now: Time, frame: Frame<Packet>) -> Vec<Output<Packet>> {
    wake(end, now, Wake::Input(Input::Frame(frame)))
}

fn frames(outputs: &[Output<Packet>]) -> Vec<Frame<Packet>> {
    outputs
        .iter()
        .filter_map(|o| {
            if let Output::Transmit(f) = o {
                Some(f.clone())
            } else {
                None
            }
        })
        .collect()
}

fn delivered(outputs: &[Output<Packet>]) -> Vec<u32> {
    outputs
        .iter()
        .filter_map(|o| {
            if let Output::Deliver(p) = o {
                Some(p.0)
            } else {
                None
            }
        })
        .collect()
}

fn of_kind(frames: &[Frame<Packet>], kind: FrameKind) -> Vec<Frame<Packet>> {
    frames
        .iter()
        .filter(|f| f.body.kind() == kind)
        .cloned()
        .collect()
}

#[test]
fn three_duplicate_acks_arrive_as_three() {
    let (mut a, mut b) = (
        endpoint(PolicyConfig::DuplicateAcks { path: 0 }),
        endpoint(PolicyConfig::DuplicateAcks { path: 0 }),
    );
    let mut arrived = Vec::new();
    for _ in 0..3 {
        let copies = send(&mut a, at(0), 7, Kind::PureAck);
        assert_eq!(copies.len(), 2, "one copy a path");
        for copy in copies {
            arrived.extend(delivered(&receive(&mut b, at(1), copy)));
        }
    }
    assert_eq!(arrived, [7, 7, 7]);
}

/// A sender whose second path's delta T is known to the receiver: 8 ms for 1000 bytes.
fn measured_pair() -> (Endpoint<Packet>, Endpoint<Packet>) {
    let probing = PolicyConfig::probe_and_switch(0);
    let (mut a, mut b) = (endpoint(probing), endpoint(probing));
    let first = send(&mut a, at(0), 0, Kind::Data);
    for pair in of_kind(&first, FrameKind::Pair) {
        let trailing = matches!(pair.body, Body::Pair { trailing: true, .. });
        receive(&mut b, at(if trailing { 9 } else { 1 }), pair);
    }
    for data in of_kind(&first, FrameKind::Data) {
        assert_eq!(delivered(&receive(&mut b, at(9), data)), [0]);
    }
    (a, b)
}

#[test]
fn a_probe_that_wins_switches_the_path() {
    let (mut a, mut b) = measured_pair();
    let sent = send(&mut a, at(10), 1, Kind::Data);
    let Ok([probe]) = <[_; 1]>::try_from(of_kind(&sent, FrameKind::Probe)) else {
        panic!("{sent:?}")
    };
    assert_eq!(probe.path, SECOND);
    assert!(
        receive(&mut b, at(20), probe)
            .iter()
            .all(|o| matches!(o, Output::Event(_)))
    );
    assert_eq!(
        b.deadline().map(|d| d.at),
        Some(at(36)),
        "20 ms and twice delta T"
    );
    let requests = frames(&wake(&mut b, at(36), Wake::Timeout));
    assert_eq!(
        requests.iter().map(|f| f.path).collect::<Vec<_>>(),
        [SECOND, FIRST]
    );
    let outputs = receive(&mut a, at(40), requests[0].clone());
    let switched = Event::Switched {
        from: FIRST,
        to: SECOND,
        epoch: Epoch(1),
    };
    assert!(outputs.contains(&Output::Event(switched)), "{outputs:?}");
    let next = send(&mut a, at(41), 2, Kind::Data);
    assert_eq!(of_kind(&next, FrameKind::Data)[0].path, SECOND);
    assert_eq!(of_kind(&next, FrameKind::Probe)[0].path, FIRST);
    receive(&mut b, at(50), of_kind(&next, FrameKind::Data).remove(0));
    assert_eq!(b.deadline(), None, "the request is received: no repetition");
}

#[test]
fn a_switch_request_repeats_until_it_is_answered_and_suspends_votes() {
    let (mut a, mut b) = measured_pair();
    let late = send(&mut a, at(10), 1, Kind::Data);
    let other = send(&mut a, at(10), 2, Kind::Data);
    receive(&mut b, at(20), of_kind(&late, FrameKind::Probe).remove(0));
    wake(&mut b, at(36), Wake::Timeout);
    assert_eq!(b.deadline().map(|d| d.at), Some(at(56)));
    receive(&mut b, at(50), of_kind(&other, FrameKind::Probe).remove(0));
    let outputs = wake(&mut b, at(56), Wake::Timeout);
    assert_eq!(frames(&outputs).len(), 2, "repeated on both paths");
    assert!(
        !outputs
            .iter()
            .any(|o| matches!(o, Output::Event(Event::SwitchWanted { .. })))
    );
}

#[test]
fn a_data_packet_in_time_keeps_the_path() {
    let (mut a, mut b) = measured_pair();
    let sent = send(&mut a, at(10), 1, Kind::Data);
    receive(&mut b, at(20), of_kind(&sent, FrameKind::Probe).remove(0));
    receive(&mut b, at(35), of_kind(&sent, FrameKind::Data).remove(0));
    assert_eq!(b.deadline(), None);
}

#[test]
fn a_restarted_sender_is_believed_about_its_epoch() {
    let (mut a, mut b) = measured_pair();
    a.handle_input(
        at(10),
        Input::Frame(Frame {
            path: FIRST,
            epoch: Epoch(5),
            sequence: 0,
            sent: at(10),
            body: Body::Switch { to: SECOND },
        }),
        &mut |_| {},
    );
    receive(
        &mut b,
        at(30),
        of_kind(&send(&mut a, at(20), 1, Kind::Data), FrameKind::Data).remove(0),
    );
    let policy = PolicyConfig::probe_and_switch(0);
    let fresh = EndpointConfig {
        first_sequence: 1_000_000,
        ..config(policy)
    };
    let mut restarted = Endpoint::<Packet>::new(&fresh).unwrap();
    let first = send(&mut restarted, at(100), 2, Kind::Data);
    assert_eq!(
        delivered(&receive(
            &mut b,
            at(110),
            of_kind(&first, FrameKind::Data).remove(0)
        )),
        [2]
    );
    let next = send(&mut restarted, at(111), 3, Kind::Data);
    receive(&mut b, at(120), of_kind(&next, FrameKind::Probe).remove(0));
    assert!(b.deadline().is_some(), "its probes vote");
    let pairs = of_kind(&first, FrameKind::Pair);
    let outputs: Vec<_> = pairs
        .iter()
        .enumerate()
        .flat_map(|(n, pair)| receive(&mut b, at(130 + n as u64), pair.clone()))
        .collect();
    assert!(
        outputs
            .iter()
            .any(|o| matches!(o, Output::Event(Event::DeltaT { .. }))),
        "{outputs:?}"
    );
}

#[test]
fn pairs_of_an_older_epoch_do_not_vote() {
    let (mut a, mut b) = measured_pair();
    let old = send(&mut a, at(10), 1, Kind::Data);
    let older = send(&mut a, at(10), 2, Kind::Data);
    receive(&mut b, at(20), of_kind(&old, FrameKind::Probe).remove(0));
    assert!(b.deadline().is_some(), "a timer runs");
    let switch = Body::Switch { to: SECOND };
    let request = older[0].carrying(FIRST, switch);
    receive(
        &mut a,
        at(20),
        Frame {
            epoch: Epoch(1),
            ..request
        },
    );
    let next = send(&mut a, at(21), 3, Kind::Data);
    receive(&mut b, at(30), of_kind(&next, FrameKind::Data).remove(0));
    assert_eq!(b.deadline(), None, "the new epoch ended the timer");
    receive(&mut b, at(31), of_kind(&older, FrameKind::Probe).remove(0));
    assert_eq!(
        b.deadline(),
        None,
        "a late probe of the old epoch starts none"
    );
}

#[test]
fn late_data_of_an_older_epoch_does_not_end_the_vote_of_the_newer() {
    let (mut a, mut b) = measured_pair();
    let old = send(&mut a, at(10), 1, Kind::Data);
    let late = of_kind(&old, FrameKind::Data).remove(0);
    let request = late.carrying(FIRST, Body::Switch { to: SECOND });
    let epoch = Epoch(1);
    receive(&mut a, at(20), Frame { epoch, ..request });
    let new = send(&mut a, at(21), 2, Kind::Data);
    let probe = of_kind(&new, FrameKind::Probe).remove(0);
    assert_eq!(probe.epoch, epoch);
    // A third path would carry it as fast; delta T is known for the second.
    let probe = Frame {
        path: SECOND,
        ..probe
    };
    receive(&mut b, at(30), probe);
    let vote = Some(at(46));
    assert_eq!(b.deadline().map(|d| d.at), vote, "twice delta T from now");
    assert_eq!(delivered(&receive(&mut b, at(31), late)), [1]);
    assert_eq!(b.deadline().map(|d| d.at), vote);
    receive(&mut b, at(32), of_kind(&old, FrameKind::Probe).remove(0));
    assert_eq!(b.deadline().map(|d| d.at), vote, "an old probe votes not");
    let requests = frames(&wake(&mut b, at(46), Wake::Timeout));
    assert!(requests.iter().all(|f| f.epoch == Epoch(2)), "{requests:?}");
    assert!(!requests.is_empty());
}

#[test]
fn without_a_measured_pair_no_probe_votes() {
    let probing = PolicyConfig::probe_and_switch(0);
    let (mut a, mut b) = (endpoint(probing), endpoint(probing));
    let sent = send(&mut a, at(0), 0, Kind::Data);
    receive(&mut b, at(10), of_kind(&sent, FrameKind::Probe).remove(0));
    assert_eq!(b.deadline(), None);
}

#[test]
fn of_three_paths_the_one_with_the_least_virtual_delay_is_asked_for() {
    let three = EndpointConfig {
        paths: 3,
        ..config(PolicyConfig::probe_and_switch(0))
    };
    let (mut a, mut b) = (
        Endpoint::new(&three).unwrap(),
        Endpoint::new(&three).unwrap(),
    );
    let first = send(&mut a, at(0), 0, Kind::Data);
    for pair in of_kind(&first, FrameKind::Pair) {
        let slow = u64::from(pair.path == SECOND) * 40;
        let trailing = matches!(pair.body, Body::Pair { trailing: true, .. });
        receive(&mut b, at(1 + u64::from(trailing) * (4 + slow)), pair);
    }
    receive(&mut b, at(50), of_kind(&first, FrameKind::Data).remove(0));
    let next = send(&mut a, at(60), 1, Kind::Data);
    let probes = of_kind(&next, FrameKind::Probe);
    assert_eq!(
        probes.iter().map(|p| p.path).collect::<Vec<_>>(),
        [SECOND, PathId(2)]
    );
    receive(&mut b, at(70), probes[0].clone());
    receive(&mut b, at(75), probes[1].clone());
    let due = b.deadline().unwrap().at;
    assert_eq!(
        due,
        at(83),
        "5 ms behind the first probe, yet 8 ms against 88 ms to wait"
    );
    let requests = frames(&wake(&mut b, due, Wake::Timeout));
    assert_eq!(requests.len(), 3, "on all paths");
    assert!(
        requests
            .iter()
            .all(|f| f.body == Body::Switch { to: PathId(2) }),
        "{requests:?}"
    );
}

#[test]
fn foreign_frames_are_dropped_with_their_reason() {
    let deployed = Encapsulation::deployed(crate::frame::OVER_IPV4);
    let all = EndpointConfig {
        encapsulation: deployed,
        ..config(PolicyConfig::DuplicateAll {})
    };
    let mut end = Endpoint::new(&all).unwrap();
    let stray = Frame {
        path: PathId(9),
        epoch: Epoch(0),
        sequence: 0,
        sent: at(0),
        body: Body::Data(Packet(1, 100)),
    };
    let outputs = receive(&mut end, at(0), stray);
    let reason = DropReason::UnknownPath;
    assert_eq!(
        outputs,
        [Output::Event(Event::Dropped { reason, len: 100 })]
    );
}

fn policies() -> impl Strategy<Value = PolicyConfig> {
    prop_oneof![
        Just(PolicyConfig::single_path(1)),
        Just(PolicyConfig::DuplicateAcks { path: 0 }),
        Just(PolicyConfig::DuplicateAll {}),
        Just(PolicyConfig::probe_and_switch(0)),
        Just(PolicyConfig::InTime(RepairConfig::default())),
    ]
}

/// Both directions between two endpoints; `fates` has the fate of each frame in the network.
fn converse(policy: PolicyConfig, fates: &[u8], lossless: Option<PathId>) -> Vec<u32> {
    let mut ends = [endpoint(policy), endpoint(policy)];
    let mut flying: VecDeque<(usize, Frame<Packet>)> = VecDeque::new();
    let mut arrived = Vec::new();
    for (tick, fate) in fates.iter().enumerate() {
        let now = at(3 * tick as u64);
        let kind = if fate % 3 == 0 {
            Kind::PureAck
        } else {
            Kind::Data
        };
        let sent = send(&mut ends[0], now, u32::try_from(tick).unwrap(), kind);
        flying.extend(sent.into_iter().map(|f| (1, f)));
        for _ in 0..flying.len().min(usize::from(fate % 7)) {
            let (to, frame) = if fate & 8 == 0 {
                flying.pop_front()
            } else {
                flying.pop_back()
            }
            .unwrap();
            if fate & 0x30 == 0x30 && lossless != Some(frame.path) {
                continue;
            }
            for _ in 0..=(fate >> 6 & 1) {
                let outputs = receive(&mut ends[to], now, frame.clone());
                arrived.extend(delivered(&outputs));
                flying.extend(frames(&outputs).into_iter().map(|f| (1 - to, f)));
            }
        }
        for from in [0, 1] {
            if ends[from].deadline().is_some_and(|d| d.at <= now) {
                let outputs = wake(&mut ends[from], now, Wake::Timeout);
                flying.extend(frames(&outputs).into_iter().map(|f| (1 - from, f)));
            }
        }
    }
    for (to, frame) in flying {
        arrived.extend(delivered(&receive(&mut ends[to], at(1_000_000), frame)));
    }
    arrived
}

proptest! {
    /// Whatever the network does, no packet is delivered twice, and only packets that were sent.
    #[test]
    fn nothing_is_delivered_twice(
        policy in policies(), fates in prop::collection::vec(any::<u8>(), 1..300),
    ) {
        let mut arrived = converse(policy, &fates, None);
        let total = arrived.len();
        arrived.sort_unstable();
        arrived.dedup();
        prop_assert_eq!(arrived.len(), total);
        prop_assert!(arrived.iter().all(|&n| (n as usize) < fates.len()));
    }

    /// With everything duplicated, one path without loss delivers everything.
    #[test]
    fn one_good_path_delivers_all_copies(fates in prop::collection::vec(any::<u8>(), 1..300)) {
        let arrived = converse(PolicyConfig::DuplicateAll {}, &fates, Some(SECOND));
        prop_assert_eq!(arrived.len(), fates.len());
    }
}
