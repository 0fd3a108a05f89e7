//! Classes of packets: media, bulk and packets of a single path beside each other.

use super::network::{Network, TestPath};
use super::*;
use crate::class::{Class, PortRange, Treatment};
use crate::units::Rate;
use alloc::vec::Vec;

/// The port of voice, and that of a download by QUIC.
const VOICE: u16 = 5004;
const QUIC: u16 = 443;

/// A class of packets from or to `port`.
fn class(port: u16, treatment: Treatment) -> Class {
    Class {
        name: std::format!("port {port}"),
        dscp: Vec::new(),
        protocol: None,
        ports: [PortRange::only(port)].to_vec(),
        treatment,
        deadline: None,
    }
}

fn all(treatment: Treatment) -> Class {
    Class {
        ports: Vec::new(),
        ..class(0, treatment)
    }
}

fn ends(policy: RepairConfig, classes: &[Class]) -> EndpointConfig {
    EndpointConfig {
        classes: classes.iter().cloned().collect(),
        ..config(PolicyConfig::InTime(policy))
    }
}

fn network<const N: usize>(paths: [TestPath; N], classes: &[Class], seed: u64) -> Network {
    Network::with_config(&ends(policy(200, 10), classes), paths.into(), seed)
}

/// Two paths of 10 Mbit/s, 20 and 30 ms.
fn limited() -> [TestPath; 2] {
    [20, 30].map(|delay| {
        let mut path = TestPath::limited(delay, Rate::from_mbits(10));
        path.keeps_order = false;
        path
    })
}

/// The interval of packets at 24 Mbit/s.
const BUSY: Duration = Duration(1344 * 8 * 1_000_000 / 24_000);

fn goodput(network: &Network) -> f64 {
    let arrived = network.arrived.iter().flatten().count() as f64;
    arrived / network.sent.len() as f64 * 24.0
}

/// Datagrams at more than the paths carry: as bulk, they wait in the endpoint, and the network
/// loses none. The same packets as media fill the queues of the network.
#[test]
fn bulk_datagrams_leave_at_the_rates_of_the_paths() {
    let run = |treatment| {
        let mut network = network(limited(), &[all(treatment)], 1);
        network.interval = BUSY;
        network.stream(30);
        let lost = network.lost().filter(|sent| *sent > at(2000)).count();
        let longest = network.paths.iter().map(|path| path.longest).max();
        let goodput = goodput(&network);
        let longest = longest.unwrap();
        std::println!(
            "24 Mbit/s of datagrams as {treatment:?}: {goodput:.1} Mbit/s, {:.1} % lost, queues of {} ms",
            lost as f64 / network.sent.len() as f64 * 100.0,
            longest.as_nanos() / 1_000_000
        );
        (goodput, lost, longest, network.dropped.len())
    };
    let (goodput, lost, longest, _) = run(Treatment::Bulk);
    // 19.1 without the headers of the overlay.
    assert!(goodput > 18.0, "{goodput} Mbit/s");
    assert_eq!(lost, 0);
    assert!(longest < MS * 30, "{longest}");
    let (_, lost, longest, dropped) = run(Treatment::Media);
    assert_eq!(dropped, 0, "media is never dropped before it is sent");
    assert!(lost > 1000 && longest > MS * 100, "{lost}, {longest}");
}

/// Voice beside a download of datagrams, at more than the paths carry together: without a class
/// both are media, and voice is lost in the queues that the download fills.
#[test]
fn voice_is_in_time_beside_bulk_datagrams() {
    let run = |classes: &[Class]| {
        let mut network = network(limited(), classes, 1);
        network.interval = BUSY;
        // Every twelfth packet is one of voice: 2 Mbit/s.
        network.media_every = Some(12);
        network.ports = |number| {
            let port = if number % 12 == 0 { VOICE } else { QUIC };
            Some([port, 50_000])
        };
        network.stream(20);
        let delays = network.delays_of_media(at(3000));
        let late = delays.iter().filter(|delay| **delay > MS * 100).count();
        let share = late as f64 / delays.len() as f64;
        let lost = network.lost().filter(|sent| *sent > at(3000)).count();
        std::println!(
            "{} classes: {:.2} % of voice later than 100 ms, {:.1} Mbit/s in all, {:.1} % lost",
            classes.len(),
            share * 100.0,
            goodput(&network),
            lost as f64 / network.sent.len() as f64 * 100.0
        );
        (share, goodput(&network))
    };
    let (without, _) = run(&[]);
    assert!(without > 0.5, "{without}");
    let (share, goodput) = run(&[class(VOICE, Treatment::Media), class(QUIC, Treatment::Bulk)]);
    assert!(share < 0.001, "{share} later than 100 ms");
    assert!(goodput > 18.0, "{goodput} Mbit/s");
}

/// Segments of TCP that are media do not wait, and are repaired.
#[test]
fn media_segments_are_sent_at_once_and_repaired() {
    let mut network = network(randomly_lossy(), &[all(Treatment::Media)], 1);
    network.kind = Kind::Data;
    network
        .paths
        .iter_mut()
        .for_each(|path| path.keeps_order = false);
    network.stream(60);
    let late = network.late(MS * 200);
    assert!(late <= 0.000_2, "{late}");
    assert!(network.statistics().repairs > 100);
    let mut busy = self::network(limited(), &[all(Treatment::Media)], 1);
    (busy.kind, busy.interval) = (Kind::Data, BUSY);
    busy.stream(10);
    assert_eq!(busy.ends[0].sender.waiting(), 0);
    assert!(busy.dropped.is_empty());
}

/// With a redundancy of 1 and a deadline below the round trip, media would get copies.
#[test]
fn packets_of_a_single_path_are_neither_copied_nor_repaired() {
    for deadline in [40, 200] {
        let run = |treatment| {
            let paths = [TestPath::new(30, random), TestPath::new(40, random)];
            let ends = ends(policy(deadline, 100), &[all(treatment)]);
            let mut network = Network::with_config(&ends, paths.into(), 1);
            network.stream(30);
            network
        };
        let single = run(Treatment::SinglePath);
        let statistics = single.statistics();
        assert_eq!((statistics.repairs, statistics.copies), (0, 0));
        assert_eq!((statistics.given_up, statistics.unaffordable), (0, 0));
        let lost = single.lost().count() as f64 / single.sent.len() as f64;
        assert!((0.015..0.025).contains(&lost), "{lost}");
        let media = run(Treatment::Media).statistics();
        assert!(media.repairs + media.copies > 300, "{media:?}");
    }
}

/// Packets of a single path follow the active path, and do not spread over others.
#[test]
fn packets_of_a_single_path_leave_a_path_that_fails_and_one_that_is_full() {
    let dead = |_: &mut Stream, now: Time| now >= at(10_000);
    let paths = [TestPath::new(20, dead), TestPath::new(30, never)];
    let mut network = self::network(paths, &[all(Treatment::SinglePath)], 1);
    network.stream(20);
    let lost = network.lost().count();
    // Sent within the 80 ms or so until the path is known to be silent: 475 packets a second.
    assert!((10..80).contains(&lost), "{lost}");
    assert_eq!(network.ends[0].active(), Some(SECOND));
    assert!(network.share(SECOND, 2..10) < 0.01);
    let free = |kbits: u64| Duration(1344 * 8 * 1_000_000 / kbits);
    let mut full = self::network(limited(), &[all(Treatment::SinglePath)], 1);
    full.interval = free(8000);
    full.stream(10);
    assert!(full.share(SECOND, 2..10) < 0.02);
}

/// A class with a short deadline gets copies where a repair would be late; others do not.
#[test]
fn the_deadline_of_a_class_is_that_of_its_packets() {
    let run = |deadline: Option<u64>| {
        let voice = Class {
            deadline: deadline.map(|ms| MS * ms),
            ..class(VOICE, Treatment::Media)
        };
        let paths = [TestPath::new(60, random), TestPath::new(70, random)];
        let ends = ends(policy(1000, 100), &[voice]);
        let mut network = Network::with_config(&ends, paths.into(), 1);
        network.media_every = Some(4);
        network.ports = |number| Some([if number % 4 == 0 { VOICE } else { QUIC }, 1]);
        network.stream(30);
        let voice = network.delays_of_media(at(2000));
        let late = voice.iter().filter(|delay| **delay > MS * 100).count();
        let (copies, late) = (
            network.statistics().copies,
            late as f64 / voice.len() as f64,
        );
        std::println!(
            "deadline {deadline:?}: {copies} copies, {:.2} % later than 100 ms",
            late * 100.0
        );
        (copies, late)
    };
    let (copies, late) = run(None);
    assert!(copies < 50, "{copies} after bursts of losses");
    assert!(late > 0.01, "{late}: repairs come after a round trip");
    let (copies, late) = run(Some(100));
    assert!((2000..4000).contains(&copies), "{copies} of 3560 packets");
    assert!(late < 0.002, "{late}");
}

/// Classes that state the treatment of packets without a class change nothing.
#[test]
fn classes_that_state_the_usual_treatment_change_nothing() {
    let run = |classes: &[Class]| {
        let mut network = network(limited(), classes, 1);
        (network.kind, network.interval) = (Kind::Data, BUSY);
        network.media_every = Some(7);
        network.ports = |number| (number % 7 != 0).then_some([QUIC, 1]);
        network.stream(10);
        (network.path_bytes, network.arrived)
    };
    let explicit = [class(QUIC, Treatment::Bulk), all(Treatment::Media)];
    assert_eq!(run(&explicit), run(&[]));
}

/// Other classes hold for the next packet; those with the same name are counted on.
#[test]
fn a_reload_changes_the_classes() {
    let bulk = [class(QUIC, Treatment::Bulk)];
    let mut network = network(limited(), &[], 1);
    network.interval = BUSY;
    network.ports = |_| Some([QUIC, 1]);
    let adjusted = Adjustment::new(&ends(policy(200, 10), &bulk)).unwrap();
    network.input = Some((at(8000), 0, Input::Adjust(adjusted)));
    network.stream(15);
    let lost = |from, to| {
        network
            .lost()
            .filter(|sent| (from..to).contains(sent))
            .count()
    };
    assert!(lost(at(5000), at(7000)) > 500);
    assert_eq!(lost(at(8500), at(16_000)), 0);
    let counted = |network: &Network| {
        let all = network.ends[0].class_statistics();
        all.map(|(class, counters)| (class.name.clone(), counters.packets, counters.bytes))
            .collect::<Vec<(alloc::string::String, _, _)>>()
    };
    let after = network.sent.iter().filter(|sent| **sent >= at(8000));
    let packets = after.count() as u64;
    assert_eq!(
        counted(&network),
        [("port 443".into(), packets, packets * 1344)]
    );
    let both = [class(VOICE, Treatment::Media), bulk[0].clone()];
    let adjusted = Adjustment::new(&ends(policy(200, 10), &both)).unwrap();
    let end = &mut network.ends[0];
    wake(end, at(30_000), Wake::Input(Input::Adjust(adjusted)));
    let expected = [
        ("port 5004".into(), 0, 0),
        ("port 443".into(), packets, packets * 1344),
    ];
    assert_eq!(counted(&network), expected);
}

/// A policy that treats all packets alike ignores classes.
#[test]
fn an_invalid_class_is_refused_and_another_policy_ignores_classes() {
    let twice = [all(Treatment::Bulk), all(Treatment::Media)];
    let invalid = ends(policy(200, 10), &twice);
    let error = Endpoint::<Packet>::new(&invalid).unwrap_err();
    assert!(
        std::format!("{error}").starts_with("class.1.name: "),
        "{error}"
    );
    assert!(Adjustment::new(&invalid).is_err());
    let config = EndpointConfig {
        policy: PolicyConfig::DuplicateAll {},
        ..ends(policy(200, 10), &[all(Treatment::SinglePath)])
    };
    let mut end = Endpoint::<Packet>::new(&config).unwrap();
    assert_eq!(send(&mut end, at(0), 1, Kind::Opaque).len(), 2);
}
