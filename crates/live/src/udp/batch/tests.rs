use super::*;
use crate::clock::Clock;
use crate::config::PathConfig;
use proptest::prelude::*;
use socket2::SockRef;
use std::thread::sleep;
use std::time::Duration;

fn socket() -> PathSocket {
    PathSocket::open(&PathConfig::at("127.0.0.1:0", None)).unwrap()
}

fn datagram(n: u8, len: usize) -> Bytes {
    vec![n; len].into()
}

#[test]
fn a_batch_is_sent_in_one_call_and_split_again() {
    let (from, mut to) = (socket(), socket());
    assert!(to.set_gro(true));
    let mut outgoing = Outgoing::default();
    let sent: Vec<Bytes> = (0..9)
        .map(|n| datagram(n, if n == 8 { 70 } else { 900 }))
        .collect();
    for datagram in &sent {
        assert!(outgoing.accepts(datagram, TrafficClass::DEFAULT));
        outgoing.push(datagram.clone(), TrafficClass::DEFAULT);
    }
    let report = outgoing.flush(&from, to.local().unwrap());
    assert_eq!(
        report,
        SendCounts {
            datagrams: 9,
            bytes: 8 * 900 + 70,
            ..SendCounts::default()
        }
    );
    assert!(outgoing.is_empty() && !outgoing.gso_refused);
    sleep(Duration::from_millis(20));
    let (mut incoming, mut buffer) = (Incoming::default(), vec![0; 65_535]);
    let clock = Clock::starting_now();
    let mut calls = 0;
    while let Some(received) = to.receive(&mut buffer, clock).unwrap() {
        incoming.fill(received, Bytes::copy_from_slice(&buffer[..received.len]));
        calls += 1;
    }
    assert_eq!(calls, 1, "over loopback nothing splits them");
    for expected in sent {
        let (received, datagram) = incoming.take().unwrap();
        assert_eq!((received.len, &datagram), (expected.len(), &expected));
        assert_eq!(received.from, from.local().unwrap());
    }
    assert!(incoming.is_empty());
}

/// Datagrams that differ in their ECN fields, which a peer or a router sets, arrive in order and
/// complete, each with its own, with GRO and timestamps enabled.
#[test]
fn datagrams_with_any_outer_ecn_field_arrive_in_order_with_it() {
    let mut to = socket();
    assert!(to.set_gro(true));
    let from = socket();
    let (clock, target) = (Clock::starting_now(), to.local().unwrap());
    let marks = [0, 1, 2, 3, 3, 2, 2, 0, 0, 1, 3];
    let mut outgoing = Outgoing::default();
    let mut sent = Vec::new();
    for (n, mark) in (0..).zip(marks) {
        SockRef::from(&from).set_tos_v4(mark).unwrap();
        for datagram in [datagram(n, 900), datagram(n, 900), datagram(n, 70)] {
            outgoing.push(datagram.clone(), TrafficClass::DEFAULT);
            sent.push((mark, datagram));
        }
        outgoing.flush(&from, target);
    }
    sleep(Duration::from_millis(20));
    let (mut incoming, mut buffer) = (Incoming::default(), vec![0; 65_535]);
    while let Some(received) = to.receive(&mut buffer, clock).unwrap() {
        incoming.fill(received, Bytes::copy_from_slice(&buffer[..received.len]));
    }
    for (mark, expected) in sent {
        let (received, datagram) = incoming.take().unwrap();
        let found = u32::from(received.traffic_class.byte());
        assert_eq!((found, datagram), (mark, expected), "no mark spreads");
    }
    assert!(incoming.is_empty());
}

/// The datagrams that a peer receives of `datagrams`, if the kernel cuts the bytes of each call into
/// segments as `udp(7)` describes; each call is as the kernel accepts it.
fn segmented(datagrams: &[Bytes]) -> Vec<Bytes> {
    let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::default());
    let mut flush = |outgoing: &mut Outgoing| {
        let slices = slices(&outgoing.datagrams);
        let bytes: Vec<u8> = slices
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        assert!(slices.len() <= MAX_DATAGRAMS && bytes.len() <= MAX_BYTES);
        assert_eq!(bytes.len(), outgoing.len);
        let received = Received {
            len: bytes.len(),
            segment: slices.first().map_or(0, |first| first.len()),
            from: "192.0.2.1:7001".parse().unwrap(),
            at: polypath_core::time::Time::ZERO,
            traffic_class: TrafficClass::DEFAULT,
        };
        incoming.fill(received, bytes.into());
        outgoing.discard();
    };
    for datagram in datagrams {
        if !outgoing.accepts(datagram, TrafficClass::DEFAULT) {
            flush(&mut outgoing);
        }
        outgoing.push(datagram.clone(), TrafficClass::DEFAULT);
    }
    flush(&mut outgoing);
    let mut arrived = Vec::new();
    while let Some((received, datagram)) = incoming.take() {
        assert_eq!(
            (received.len, received.segment),
            (datagram.len(), datagram.len())
        );
        arrived.push(datagram);
    }
    arrived
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn every_sequence_of_short_datagrams_survives_its_segmentation() {
    const LONGEST: usize = 4;
    for count in 0..=6 {
        for number in 0..LONGEST.pow(count) {
            let len = |place| number / LONGEST.pow(place) % LONGEST + 1;
            let datagrams: Vec<Bytes> = (0..count)
                .map(|place| datagram(u8::try_from(place).unwrap(), len(place)))
                .collect();
            assert_eq!(segmented(&datagrams), datagrams);
        }
    }
}

proptest! {
    /// At full width: more datagrams, and more bytes, than one call can carry.
    #[test]
    fn any_sequence_of_datagrams_survives_its_segmentation(
        runs in prop::collection::vec((1..1500_usize, 1..100_usize, any::<u8>()), 1..8)
    ) {
        let of_run = |(len, count, content)| (0..count).map(move |_| datagram(content, len));
        let datagrams: Vec<Bytes> = runs.into_iter().flat_map(of_run).collect();
        prop_assert_eq!(segmented(&datagrams), datagrams);
    }
}

#[test]
fn a_batch_holds_what_one_call_can_carry() {
    let mut outgoing = Outgoing::default();
    outgoing.push(datagram(0, 900), TrafficClass::DEFAULT);
    assert!(
        !outgoing.accepts(&datagram(1, 901), TrafficClass::DEFAULT),
        "longer"
    );
    assert!(outgoing.accepts(&datagram(1, 900), TrafficClass::DEFAULT));
    outgoing.push(datagram(1, 500), TrafficClass::DEFAULT);
    assert!(
        !outgoing.accepts(&datagram(2, 500), TrafficClass::DEFAULT),
        "behind a shorter one"
    );
    let mut outgoing = Outgoing::default();
    for n in 0..64 {
        assert!(outgoing.accepts(&datagram(n, 100), TrafficClass::DEFAULT));
        outgoing.push(datagram(n, 100), TrafficClass::DEFAULT);
    }
    assert!(
        !outgoing.accepts(&datagram(64, 100), TrafficClass::DEFAULT),
        "more than the kernel splits"
    );
    assert_eq!(outgoing.discard(), 64);
    for _ in 0..43 {
        outgoing.push(datagram(0, 1500), TrafficClass::DEFAULT);
    }
    assert!(
        !outgoing.accepts(&datagram(0, 1500), TrafficClass::DEFAULT),
        "more than a packet holds"
    );
}

#[test]
fn datagrams_are_sent_one_by_one_after_a_refusal_of_gso() {
    let (from, mut to) = (socket(), socket());
    let mut outgoing = Outgoing::default();
    // More than the kernel splits.
    for n in 0..200 {
        outgoing.push(datagram(n, 10), TrafficClass::DEFAULT);
    }
    let report = outgoing.flush(&from, to.local().unwrap());
    sleep(Duration::from_millis(20));
    let mut buffer = [0; 100];
    let mut arrived = 0;
    while to
        .receive(&mut buffer, Clock::starting_now())
        .unwrap()
        .is_some()
    {
        arrived += 1;
    }
    assert_eq!((report.datagrams, report.bytes, arrived), (200, 2000, 200));
    assert!(outgoing.gso_refused);
    outgoing.retry_gso();
    outgoing.push(datagram(1, 10), TrafficClass::DEFAULT);
    outgoing.push(datagram(2, 10), TrafficClass::DEFAULT);
    outgoing.flush(&from, to.local().unwrap());
    assert!(!outgoing.gso_refused, "a few it takes");
}

#[test]
fn without_a_route_a_batch_is_lost_and_gso_stays_enabled() {
    // From loopback no other destination is reachable.
    let from = socket();
    let mut outgoing = Outgoing::default();
    for n in 0..3 {
        outgoing.push(datagram(n, 100), TrafficClass::DEFAULT);
    }
    let report = outgoing.flush(&from, "192.0.2.1:9".parse().unwrap());
    assert_eq!((report.datagrams, report.bytes, report.unsent), (0, 0, 3));
    assert!(outgoing.is_empty());
}
