use alloc::vec::Vec;

use super::*;
use crate::liveness::LivenessConfig;
use crate::packet::{Ecn, FlowId, Kind};
use bench::Bench;

mod bench;
mod properties;

const MS: Duration = Duration::from_millis(1);
const PATH: PathId = PathId(0);
const ROOM: u16 = 1421;

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
    }
}

/// A path with a round-trip time of 40 ms, on which nothing longer than `mtu` crosses.
fn narrow(mtu: u16) -> impl Fn(Time, u16) -> Option<Duration> {
    move |_, len| (len <= mtu).then_some(MS * 40)
}

#[test]
fn a_path_as_wide_as_its_interface_is_known_after_two_probes() {
    let mut bench = Bench::new(ROOM);
    bench.run(at(2_000), narrow(ROOM));
    assert_eq!(bench.probes, [(at(40), BASE_PACKET), (at(80), ROOM)]);
    let complete = (MtuState::Complete, Some(ROOM));
    assert_eq!(bench.told, [(at(120), complete.0, complete.1)]);
    // It is confirmed while it rests, and no more is asked for.
    bench.run(at(700_000), narrow(ROOM));
    assert!(bench.probes[2..].iter().all(|(_, size)| *size == ROOM));
    assert_eq!(bench.probes.len(), 2 + 23);
    assert_eq!(bench.told.len(), 1);
}

#[test]
fn the_search_takes_the_course_that_is_stated() {
    let mut bench = Bench::new(ROOM).busy();
    bench.run(at(9_000), narrow(1221));
    let mut sizes: Vec<u16> = bench.probes.iter().map(|(_, size)| *size).collect();
    sizes.truncate(17);
    let golden = [
        1149, 1421, 1421, 1421, 1285, 1285, 1285, 1217, 1251, 1251, 1251, 1234, 1234, 1234, 1225,
        1225, 1225,
    ];
    assert_eq!(sizes, golden);
    let [(found, MtuState::Complete, Some(1217))] = bench.told[..] else {
        panic!("{:?}", bench.told)
    };
    // Each of fifteen probes is overdue after twice 65 ms, and RTTVAR has not yet come down at first.
    assert!(found < at(3_000), "{found}");
    // Nobody is told to keep to the base while that is tried.
    assert_eq!(bench.probes[1].0, at(80));
}

#[test]
fn packets_as_long_as_the_room_are_tried_until_a_size_has_failed() {
    let mut bench = Bench::new(ROOM);
    bench.run(at(81), narrow(1221));
    assert_eq!(
        (bench.limit(), bench.known().confirmed),
        (ROOM, Some(BASE_PACKET))
    );
    while bench.probes.last().unwrap().1 == ROOM {
        assert_eq!(bench.limit(), ROOM);
        bench.run(bench.now + MS, narrow(1221));
    }
    assert_eq!(bench.limit(), BASE_PACKET);
    assert!(!bench.sizes.search(PATH).unwrap().is_final());
    bench.run(at(10_000), narrow(1221));
    assert_eq!(bench.limit(), 1217);
    assert!(bench.sizes.search(PATH).unwrap().is_final());
}

#[test]
fn whoever_drives_it_hears_what_holds_while_it_is_searched_for() {
    let mut bench = Bench::new(ROOM).busy();
    bench.run(at(10_000), narrow(1221));
    let first = [BASE_PACKET, 1217].map(Some);
    assert_eq!(
        bench.limits[..2],
        first,
        "the room has failed, and more crosses"
    );
    assert_eq!(bench.limits.last(), Some(&Some(1217)));
    // A burst: the base holds, until what was found has been found again.
    let before = bench.limits.len();
    let mut lost = 0;
    bench.run(at(30_000), |_, len| {
        let is_lost = len == 1217 && lost < MAX_PROBES;
        lost += u32::from(is_lost);
        (len <= 1221 && !is_lost).then_some(MS * 40)
    });
    assert_eq!(lost, MAX_PROBES);
    assert_eq!(bench.limits[before], Some(BASE_PACKET));
    assert!(bench.limits.last().unwrap().unwrap() >= 1217);
}

#[test]
fn who_sends_more_than_the_room_hears_of_it_from_the_first_packet_on() {
    let mut bench = Bench::new(ROOM);
    let refused = TooLong {
        limit: ROOM,
        is_final: true,
    };
    let long = |bench: &Bench| {
        let paths = Paths::trusted(PathSet::only(PATH));
        bench.sizes.carriers(paths, &meta(IpVersion::V4, 1422))
    };
    assert_eq!(long(&bench), Err(refused));
    bench.run(at(2_000), narrow(ROOM));
    assert_eq!(long(&bench), Err(refused));
}

#[test]
fn a_path_that_grows_narrower_is_found_out_and_one_that_grows_wider_at_the_raise() {
    let mut bench = Bench::new(ROOM).busy();
    bench.run(at(20_000), narrow(ROOM));
    while bench.limit() == ROOM {
        bench.run(bench.now + MS, narrow(1300));
    }
    assert_eq!(bench.limit(), BASE_PACKET, "the black hole is seen");
    assert!(
        bench.now < at(20_000) + CONFIRM_INTERVAL + MS * 400,
        "{}",
        bench.now
    );
    bench.run(at(40_000), narrow(1300));
    let found = bench.limit();
    assert!((1300 - STEP..=1300).contains(&found), "{found}");
    let told: Vec<_> = bench
        .told
        .iter()
        .map(|(_, state, packet)| (*state, *packet))
        .collect();
    let golden = [
        (MtuState::Complete, Some(ROOM)),
        (MtuState::Search, None),
        (MtuState::Complete, Some(found)),
    ];
    assert_eq!(told, golden);
    bench.run(at(620_000), narrow(ROOM));
    assert_eq!(bench.limit(), found);
    bench.run(at(630_000), narrow(ROOM));
    assert_eq!(bench.limit(), ROOM);
    // Until then what held goes on holding.
    let again = bench.told[3];
    assert_eq!((again.1, again.2), (MtuState::Search, Some(found)));
}

#[test]
fn a_path_narrower_than_the_base_is_searched_below_it() {
    let mut bench = Bench::new(ROOM);
    bench.run(at(30_000), narrow(900));
    let found = bench.limit();
    assert!((900 - STEP..=900).contains(&found), "{found}");
}

#[test]
fn an_end_that_answers_no_probe_takes_no_harm_and_is_left_in_peace() {
    let mut bench = Bench::new(ROOM).busy();
    let plain = |_, len: u16| (len <= 2).then_some(MS * 40);
    bench.run(at(300_000), plain);
    assert_eq!(bench.limit(), u16::MAX, "packets go as ever");
    let told: Vec<_> = bench
        .told
        .iter()
        .map(|(_, state, packet)| (*state, *packet))
        .collect();
    assert_eq!(told, [(MtuState::Error, None)]);
    assert_eq!(bench.probes.len(), 6 + 4, "one a minute");
    assert_eq!(bench.watch.health(PATH).unwrap().silences, 0);
    // It is replaced by one that knows them.
    bench.run(at(400_000), narrow(1300));
    let found = bench.limit();
    assert!((1300 - STEP..=1300).contains(&found), "{found}");
}

#[test]
fn an_outage_fails_no_size() {
    let mut bench = Bench::new(ROOM).busy();
    let cut = |now: Time, _| (now < at(20_000) || now > at(35_000)).then_some(MS * 40);
    bench.run(at(60_000), cut);
    assert_eq!(bench.told.len(), 1, "{:?}", bench.told);
    assert_eq!(bench.limit(), ROOM);
    // Whatever way it comes back by, it is confirmed at once.
    let back = bench
        .probes
        .iter()
        .find(|(time, _)| *time > at(35_000))
        .unwrap();
    assert!(back.0 < at(41_000), "{back:?}");
}

#[test]
fn a_burst_that_long_heartbeats_alone_do_not_survive_costs_a_path_no_more_than_a_search() {
    let mut bench = Bench::new(ROOM).busy();
    let mut begun = None;
    bench.run(at(30_000), |now, len| {
        let is_long = len > MIN_PACKET && now > at(20_000);
        let is_lost = is_long && now < *begun.get_or_insert(now) + MS * 300;
        (!is_lost).then_some(MS * 40)
    });
    let told: Vec<_> = bench
        .told
        .iter()
        .map(|(_, state, packet)| (*state, *packet))
        .collect();
    let complete = (MtuState::Complete, Some(ROOM));
    assert_eq!(told, [complete, (MtuState::Search, None), complete]);
    assert_eq!(bench.limit(), ROOM);
    let [.., (lost, ..), (found, ..)] = bench.told[..] else {
        unreachable!()
    };
    assert!(found < lost + Duration::from_secs(2), "{lost} {found}");
}

#[test]
fn a_burst_on_a_path_narrower_than_its_room_costs_it_nothing_for_good_either() {
    let mut bench = Bench::new(ROOM).busy();
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
            .told
            .contains(&(bench.told[1].0, MtuState::Search, None))
    );
    assert!(bench.limit() >= found, "{:?}", bench.told);
}

#[test]
fn a_size_that_crosses_no_more_is_asked_for_once_more_before_less_is_settled_for() {
    let mut bench = Bench::new(ROOM).busy();
    bench.run(at(20_000), narrow(ROOM));
    let before = bench.probes.len();
    bench.run(at(40_000), narrow(1300));
    let asked = &bench.probes[before..];
    let again = asked.iter().filter(|(_, size)| *size == ROOM);
    // One may have crossed before the path grew narrower: then those that failed it, and those that failed it again.
    assert_eq!(again.count(), 2 * MAX_PROBES as usize);
    let complete = (MtuState::Complete, Some(bench.limit()));
    assert_eq!((bench.known().state, bench.known().confirmed), complete);
}

#[test]
fn another_room_is_another_search() {
    let mut bench = Bench::new(ROOM);
    bench.run(at(1_000), narrow(1500));
    assert!(
        bench
            .sizes
            .set_interface_mtu(bench.now, PATH, ROOM, false)
            .is_none()
    );
    assert_eq!(bench.known().state, MtuState::Complete);
    let event = bench.set_interface_mtu(1449, false);
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
    assert_eq!(bench.limit(), 1449);
    bench.sizes.set_interface_mtu(bench.now, PATH, 0, false);
    assert_eq!(bench.sizes.of(PATH), None);
}

#[test]
fn another_way_is_another_search_and_what_comes_of_the_old_one_says_nothing() {
    let mut bench = Bench::new(ROOM);
    bench.run(at(30_000), narrow(1221));
    assert_eq!(bench.limit(), 1217);
    // A probe is under way where the path moves; its answer comes by the old way.
    let before = bench.probes.len();
    while bench.probes.len() == before {
        bench.run(bench.now + MS, narrow(1221));
    }
    let asked = bench.asked();
    assert!(bench.set_interface_mtu(ROOM, true).is_some());
    assert_eq!(bench.sizes.on_reply(bench.now, PATH, asked), None);
    let nothing = (MtuState::Base, None);
    assert_eq!((bench.known().state, bench.known().confirmed), nothing);
    bench.run(bench.now + MS * 10_000, narrow(1500));
    assert_eq!(bench.limit(), ROOM);
}

#[test]
fn a_packet_takes_a_path_that_is_wide_enough_and_is_refused_where_none_is() {
    let mut bench = Bench::new(ROOM);
    bench.run(at(10_000), narrow(1221));
    let both = PathSet::first(2);
    let only = PathSet::only(PATH);
    let carriers = |usable, version, size| {
        let carriers = bench
            .sizes
            .carriers(Paths::trusted(usable), &meta(version, size));
        carriers.map(|paths| {
            assert_eq!(paths.usable, paths.copies);
            paths.usable
        })
    };
    assert_eq!(carriers(both, IpVersion::V4, 1217), Ok(both));
    assert_eq!(
        carriers(both, IpVersion::V4, 1218),
        Ok(PathSet::only(PathId(1)))
    );
    let refused = TooLong {
        limit: 1217,
        is_final: true,
    };
    assert_eq!(carriers(only, IpVersion::V4, 1218), Err(refused));
    assert_eq!(carriers(only, IpVersion::V6, 1281), Err(refused));
    assert_eq!(carriers(only, IpVersion::V6, 1280), Ok(only));
    assert_eq!(
        carriers(PathSet::EMPTY, IpVersion::V4, 9),
        Ok(PathSet::EMPTY)
    );
}

#[test]
fn a_packet_too_long_for_the_paths_that_live_takes_one_that_returns() {
    let mut bench = Bench::new(ROOM);
    bench.run(at(10_000), narrow(1221));
    let returning = PathSet::only(PathId(1));
    let usable = PathSet::only(PATH);
    let paths = Paths {
        copies: PathSet::first(2),
        ..Paths::trusted(usable)
    };
    let carriers = |size| bench.sizes.carriers(paths, &meta(IpVersion::V4, size));
    assert_eq!(carriers(1217), Ok(paths));
    let (usable, copies) = (returning, returning);
    let detour = Paths {
        usable,
        copies,
        ..paths
    };
    assert_eq!(carriers(1218), Ok(detour));
}
