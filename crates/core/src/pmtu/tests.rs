use alloc::vec::Vec;

use super::*;
use crate::liveness::LivenessConfig;
use crate::packet::{Dscp, Ecn, FlowId, Kind};
use bench::Bench;

mod bench;
mod properties;

const MS: Duration = Duration::from_millis(1);
const PATH: PathId = PathId(0);
const INTERFACE_MTU: u16 = 1440;

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

/// A UDP packet of `size` bytes.
fn meta(version: IpVersion, size: u32) -> PacketMeta {
    PacketMeta {
        version,
        protocol: 17,
        flow: FlowId::default(),
        kind: Kind::Opaque,
        size,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        ports: None,
        class: None,
    }
}

/// A path with a round-trip time of 40 ms and this MTU.
fn narrow(mtu: u16) -> impl Fn(Time, u16) -> Option<Duration> {
    move |_, len| (len <= mtu).then_some(MS * 40)
}

#[test]
fn a_path_with_the_mtu_of_its_interface_takes_two_probes() {
    let mut bench = Bench::new(INTERFACE_MTU);
    bench.run(at(2_000), narrow(INTERFACE_MTU));
    assert_eq!(
        bench.probes,
        [(at(40), BASE_PACKET), (at(80), INTERFACE_MTU)]
    );
    let complete = (MtuState::Complete, Some(INTERFACE_MTU));
    assert_eq!(bench.changes, [(at(120), complete.0, complete.1)]);
    // Idle confirmations follow, and no other probes.
    bench.run(at(700_000), narrow(INTERFACE_MTU));
    assert!(
        bench.probes[2..]
            .iter()
            .all(|(_, size)| *size == INTERFACE_MTU)
    );
    assert_eq!(bench.probes.len(), 2 + 23);
    assert_eq!(bench.changes.len(), 1);
}

#[test]
fn the_search_probes_the_documented_sizes() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    bench.run(at(9_000), narrow(1240));
    let mut sizes: Vec<u16> = bench.probes.iter().map(|(_, size)| *size).collect();
    sizes.truncate(17);
    let golden = [
        1168, 1440, 1440, 1440, 1304, 1304, 1304, 1236, 1270, 1270, 1270, 1253, 1253, 1253, 1244,
        1244, 1244,
    ];
    assert_eq!(sizes, golden);
    let [(found, MtuState::Complete, Some(1236))] = bench.changes[..] else {
        panic!("{:?}", bench.changes)
    };
    // Each of fifteen probes is overdue after twice 65 ms, or later while RTTVAR is still high.
    assert!(found < at(3_000), "{found}");
    // No limit is reported while the interface MTU is probed.
    assert_eq!(bench.probes[1].0, at(80));
}

#[test]
fn the_limit_is_the_interface_mtu_until_a_size_fails() {
    let mut bench = Bench::new(INTERFACE_MTU);
    bench.run(at(81), narrow(1240));
    assert_eq!(
        (bench.limit(), bench.known().confirmed),
        (INTERFACE_MTU, Some(BASE_PACKET))
    );
    while bench.probes.last().unwrap().1 == INTERFACE_MTU {
        assert_eq!(bench.limit(), INTERFACE_MTU);
        bench.run(bench.now + MS, narrow(1240));
    }
    assert_eq!(bench.limit(), BASE_PACKET);
    assert!(!bench.discovery.search(PATH).unwrap().is_final());
    bench.run(at(10_000), narrow(1240));
    assert_eq!(bench.limit(), 1236);
    assert!(bench.discovery.search(PATH).unwrap().is_final());
}

#[test]
fn the_driver_is_notified_of_the_limits_during_a_search() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    bench.run(at(10_000), narrow(1240));
    let first = [BASE_PACKET, 1236].map(Some);
    assert_eq!(
        bench.limits[..2],
        first,
        "the interface MTU has failed, then a size is confirmed"
    );
    assert_eq!(bench.limits.last(), Some(&Some(1236)));
    // After a burst of losses the base is the limit until the size is confirmed again.
    let before = bench.limits.len();
    let mut lost = 0;
    bench.run(at(30_000), |_, len| {
        let is_lost = len == 1236 && lost < MAX_PROBES;
        lost += u32::from(is_lost);
        (len <= 1240 && !is_lost).then_some(MS * 40)
    });
    assert_eq!(lost, MAX_PROBES);
    assert_eq!(bench.limits[before], Some(BASE_PACKET));
    assert!(bench.limits.last().unwrap().unwrap() >= 1236);
}

#[test]
fn packets_above_the_interface_mtu_are_refused_from_the_start() {
    let mut bench = Bench::new(INTERFACE_MTU);
    let refused = TooLong {
        limit: INTERFACE_MTU,
        is_final: true,
    };
    let long = |bench: &Bench| {
        let paths = Paths::trusted(PathSet::only(PATH));
        bench.discovery.carriers(paths, &meta(IpVersion::V4, 1441))
    };
    assert_eq!(long(&bench), Err(refused));
    bench.run(at(2_000), narrow(INTERFACE_MTU));
    assert_eq!(long(&bench), Err(refused));
}

#[test]
fn a_smaller_path_mtu_is_detected_and_a_larger_one_found_at_the_raise_timer() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    bench.run(at(20_000), narrow(INTERFACE_MTU));
    while bench.limit() == INTERFACE_MTU {
        bench.run(bench.now + MS, narrow(1300));
    }
    assert_eq!(bench.limit(), BASE_PACKET, "the black hole is detected");
    assert!(
        bench.now < at(20_000) + CONFIRM_INTERVAL + MS * 400,
        "{}",
        bench.now
    );
    bench.run(at(40_000), narrow(1300));
    let found = bench.limit();
    assert!((1300 - STEP..=1300).contains(&found), "{found}");
    let changes: Vec<_> = bench
        .changes
        .iter()
        .map(|(_, state, packet)| (*state, *packet))
        .collect();
    let golden = [
        (MtuState::Complete, Some(INTERFACE_MTU)),
        (MtuState::Search, None),
        (MtuState::Complete, Some(found)),
    ];
    assert_eq!(changes, golden);
    bench.run(at(620_000), narrow(INTERFACE_MTU));
    assert_eq!(bench.limit(), found);
    bench.run(at(630_000), narrow(INTERFACE_MTU));
    assert_eq!(bench.limit(), INTERFACE_MTU);
    // The previous limit stays in force during the new search.
    let raised = bench.changes[3];
    assert_eq!((raised.1, raised.2), (MtuState::Search, Some(found)));
}

#[test]
fn a_path_mtu_below_the_base_is_found() {
    let mut bench = Bench::new(INTERFACE_MTU);
    bench.run(at(30_000), narrow(900));
    let found = bench.limit();
    assert!((900 - STEP..=900).contains(&found), "{found}");
}

#[test]
fn a_peer_that_answers_no_probe_is_unaffected_and_rarely_probed() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    let plain = |_, len: u16| (len <= 2).then_some(MS * 40);
    bench.run(at(300_000), plain);
    assert_eq!(bench.limit(), u16::MAX, "no limit applies");
    let changes: Vec<_> = bench
        .changes
        .iter()
        .map(|(_, state, packet)| (*state, *packet))
        .collect();
    assert_eq!(changes, [(MtuState::Error, None)]);
    assert_eq!(bench.probes.len(), 6 + 4, "one per minute");
    assert_eq!(bench.liveness.health(PATH).unwrap().silences, 0);
    // The peer is replaced by one that answers probes.
    bench.run(at(400_000), narrow(1300));
    let found = bench.limit();
    assert!((1300 - STEP..=1300).contains(&found), "{found}");
}

#[test]
fn an_outage_fails_no_size() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    let cut = |now: Time, _| (now < at(20_000) || now > at(35_000)).then_some(MS * 40);
    bench.run(at(60_000), cut);
    assert_eq!(bench.changes.len(), 1, "{:?}", bench.changes);
    assert_eq!(bench.limit(), INTERFACE_MTU);
    // The path may have changed, so the size is confirmed immediately.
    let back = bench
        .probes
        .iter()
        .find(|(time, _)| *time > at(35_000))
        .unwrap();
    assert!(back.0 < at(41_000), "{back:?}");
}

#[test]
fn a_loss_burst_of_probes_causes_only_a_new_search() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    let mut start = None;
    bench.run(at(30_000), |now, len| {
        let is_long = len > MIN_PACKET && now > at(20_000);
        let is_lost = is_long && now < *start.get_or_insert(now) + MS * 300;
        (!is_lost).then_some(MS * 40)
    });
    let changes: Vec<_> = bench
        .changes
        .iter()
        .map(|(_, state, packet)| (*state, *packet))
        .collect();
    let complete = (MtuState::Complete, Some(INTERFACE_MTU));
    assert_eq!(changes, [complete, (MtuState::Search, None), complete]);
    assert_eq!(bench.limit(), INTERFACE_MTU);
    let [.., (lost, ..), (found, ..)] = bench.changes[..] else {
        unreachable!()
    };
    assert!(found < lost + Duration::from_secs(2), "{lost} {found}");
}

#[test]
fn a_loss_burst_on_a_path_below_its_interface_mtu_has_no_lasting_effect() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    bench.run(at(20_000), narrow(1300));
    let found = bench.limit();
    let mut lost = 0;
    bench.run(at(30_000), |_, len| {
        let is_lost = len == found && lost < MAX_PROBES;
        lost += u32::from(is_lost);
        (len <= 1300 && !is_lost).then_some(MS * 40)
    });
    assert_eq!(lost, MAX_PROBES);
    assert!(
        bench
            .changes
            .contains(&(bench.changes[1].0, MtuState::Search, None))
    );
    assert!(bench.limit() >= found, "{:?}", bench.changes);
}

#[test]
fn a_failed_size_is_probed_again_before_a_smaller_one_is_accepted() {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    bench.run(at(20_000), narrow(INTERFACE_MTU));
    let before = bench.probes.len();
    bench.run(at(40_000), narrow(1300));
    let probes = &bench.probes[before..];
    let repeated = probes.iter().filter(|(_, size)| *size == INTERFACE_MTU);
    // MAX_PROBES fail the size after the MTU has shrunk, and as many fail it again.
    assert_eq!(repeated.count(), 2 * MAX_PROBES as usize);
    let complete = (MtuState::Complete, Some(bench.limit()));
    assert_eq!((bench.known().state, bench.known().confirmed), complete);
}

#[test]
fn a_new_interface_mtu_starts_a_new_search() {
    let mut bench = Bench::new(INTERFACE_MTU);
    bench.run(at(1_000), narrow(1500));
    assert!(
        bench
            .discovery
            .set_interface_mtu(bench.now, PATH, INTERFACE_MTU, false)
            .is_none()
    );
    assert_eq!(bench.known().state, MtuState::Complete);
    let event = bench.set_interface_mtu(1468, false);
    let (state, packet) = (MtuState::Search, None);
    let path = PATH;
    let limit = None;
    assert_eq!(
        event,
        Some(Event::PathMtu {
            path,
            state,
            packet,
            limit
        })
    );
    bench.run(at(3_000), narrow(1500));
    assert_eq!(bench.limit(), 1468);
    bench.discovery.set_interface_mtu(bench.now, PATH, 0, false);
    assert_eq!(bench.discovery.of(PATH), None);
}

#[test]
fn a_rerouted_path_starts_a_new_search_and_ignores_earlier_replies() {
    let mut bench = Bench::new(INTERFACE_MTU);
    bench.run(at(30_000), narrow(1240));
    assert_eq!(bench.limit(), 1236);
    // A probe is in flight when the path is rerouted; its reply comes over the old route.
    let before = bench.probes.len();
    while bench.probes.len() == before {
        bench.run(bench.now + MS, narrow(1240));
    }
    let probe = bench.last_probe();
    assert!(bench.set_interface_mtu(INTERFACE_MTU, true).is_some());
    assert_eq!(bench.discovery.on_reply(bench.now, PATH, probe), None);
    let nothing = (MtuState::Base, None);
    assert_eq!((bench.known().state, bench.known().confirmed), nothing);
    bench.run(bench.now + MS * 10_000, narrow(1500));
    assert_eq!(bench.limit(), INTERFACE_MTU);
}

#[test]
fn a_packet_takes_a_path_with_sufficient_mtu_or_is_refused() {
    let mut bench = Bench::new(INTERFACE_MTU);
    bench.run(at(10_000), narrow(1240));
    let both = PathSet::first(2);
    let only = PathSet::only(PATH);
    let carriers = |usable, version, size| {
        let carriers = bench
            .discovery
            .carriers(Paths::trusted(usable), &meta(version, size));
        carriers.map(|paths| {
            assert_eq!(paths.usable, paths.copies);
            paths.usable
        })
    };
    assert_eq!(carriers(both, IpVersion::V4, 1236), Ok(both));
    assert_eq!(
        carriers(both, IpVersion::V4, 1237),
        Ok(PathSet::only(PathId(1)))
    );
    let refused = TooLong {
        limit: 1236,
        is_final: true,
    };
    assert_eq!(carriers(only, IpVersion::V4, 1237), Err(refused));
    assert_eq!(carriers(only, IpVersion::V6, 1281), Err(refused));
    assert_eq!(carriers(only, IpVersion::V6, 1280), Ok(only));
    assert_eq!(
        carriers(PathSet::EMPTY, IpVersion::V4, 9),
        Ok(PathSet::EMPTY)
    );
}

#[test]
fn a_packet_too_long_for_the_live_paths_takes_a_returning_one() {
    let mut bench = Bench::new(INTERFACE_MTU);
    bench.run(at(10_000), narrow(1240));
    let returning = PathSet::only(PathId(1));
    let usable = PathSet::only(PATH);
    let paths = Paths {
        copies: PathSet::first(2),
        ..Paths::trusted(usable)
    };
    let carriers = |size| bench.discovery.carriers(paths, &meta(IpVersion::V4, size));
    assert_eq!(carriers(1236), Ok(paths));
    let (usable, copies) = (returning, returning);
    let expected = Paths {
        usable,
        copies,
        ..paths
    };
    assert_eq!(carriers(1237), Ok(expected));
}
