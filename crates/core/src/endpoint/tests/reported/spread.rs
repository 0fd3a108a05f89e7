//! More than one path carries: the stream is spread over both.

use super::network::{Network, TestPath};
use super::*;
use crate::units::Rate;

const MBIT: Rate = Rate::from_mbits(1);

fn limited(rates: [u64; 2]) -> alloc::vec::Vec<TestPath> {
    let [first, second] = rates.map(|rate| Rate(MBIT.0 * rate));
    alloc::vec![TestPath::limited(20, first), TestPath::limited(30, second)]
}

/// A stream of `kbits` of packets of 1344 bytes.
fn interval(kbits: u64) -> Duration {
    Duration(1344 * 8 * 1_000_000 / kbits)
}

/// A media stream of 6 Mbit/s over two paths of 4 Mbit/s, each of which would lose a third of it.
#[test]
fn media_uses_both_paths_if_one_does_not_carry_it() {
    let mut network = Network::new(policy(200, 10), limited([4, 4]), 1);
    network.interval = interval(6000);
    network.stream(30);
    assert!(network.dropped.is_empty());
    let late = network.late(MS * 200);
    std::println!(
        "6 Mbit/s over 2 x 4: {:.3} % later than 200 ms; p99.9 {}; {:?}",
        late * 100.0,
        network.tail(1000),
        network.statistics()
    );
    assert!(late <= 0.002, "{late}");
    assert!(network.tail(1000) <= MS * 100, "{}", network.tail(1000));
    for path in &network.paths {
        assert!(path.longest < MS * 60, "{}", path.longest);
    }
    for path in [FIRST, SECOND] {
        let estimate = network.ends[0].path_estimate(path).unwrap();
        // Of the 4 Mbit/s, packets have 1344 of 1404 bytes.
        let known = estimate.capacity.unwrap().as_f64() / 1e6;
        assert!((3.2..4.0).contains(&known), "{path:?}: {known} Mbit/s");
    }
}

/// Streams of 57 to 91 % of what two paths carry: copies, which would overload them, do not delay
/// the stream beyond its deadline, also where a lost packet could not be repaired in time.
#[test]
fn copies_do_not_overload_paths() {
    for (deadline, redundancy, late) in [(200, 10, 0.0), (100, 20, 0.005)] {
        for kbits in (4400..7050).step_by(100) {
            let mut network = Network::new(policy(deadline, redundancy), limited([4, 4]), 1);
            network.interval = interval(kbits);
            network.stream(20);
            let share = network.late(MS * deadline);
            assert!(share <= late, "{kbits} kbit/s, {deadline} ms: {share} late");
        }
    }
}

/// A stream within the capacity of one path stays on it.
#[test]
fn media_stays_on_a_path_that_carries_it() {
    let mut network = Network::new(policy(200, 10), limited([8, 8]), 1);
    network.interval = interval(6000);
    network.stream(10);
    assert_eq!(network.ends[0].switches(), 0);
    assert!(network.tail(1000) <= MS * 25, "{}", network.tail(1000));
}

/// Segments of TCP at more than both paths carry wait in the endpoint and not in the network, whose
/// queues stay short, and the excess is dropped before it is sent.
#[test]
fn segments_leave_at_the_rates_of_the_paths() {
    for rates in [[10, 10], [16, 4]] {
        let mut network = Network::new(policy(200, 10), limited(rates), 1);
        network.kind = Kind::Data;
        network.interval = interval(24_000);
        network.stream(30);
        let arrived = network.arrived.iter().flatten().count() as f64;
        let share = arrived / network.sent.len() as f64;
        let goodput = share * 24.0;
        std::println!("24 Mbit/s over {rates:?}: {goodput:.2} Mbit/s");
        // 19.1 without the headers of the overlay.
        assert!(goodput > 20.0 * 0.9, "{rates:?}: {goodput} Mbit/s");
        // Before the capacities are known, more is sent than the queues of the paths hold.
        let lost = network.lost().filter(|sent| *sent > at(2000)).count();
        assert_eq!(lost, 0, "{rates:?}: lost in the network");
        for path in &network.paths {
            assert!(path.longest < MS * 30, "{rates:?}: {}", path.longest);
        }
    }
}

/// Segments that wait for a path that fails leave on another, at the rate of that.
#[test]
fn what_waits_for_a_path_that_fails_leaves_on_another() {
    let fails = |_: &mut Stream, now: Time| now >= at(5000) && now < at(8000);
    let mut paths = limited([10, 10]);
    paths[1].loses = fails;
    // Those that join the packets of the other path were sent on neither before.
    paths[0].keeps_order = false;
    let mut network = Network::new(policy(200, 10), paths, 1);
    network.kind = Kind::Data;
    network.interval = interval(24_000);
    network.stream(10);
    let while_failed = network
        .sent
        .iter()
        .zip(&network.arrived)
        .filter(|(sent, arrived)| (at(5500)..at(8000)).contains(*sent) && arrived.is_some());
    let goodput = while_failed.count() as f64 * 1344.0 * 8.0 / 2.5e6;
    assert!(goodput > 9.0, "{goodput} Mbit/s on the other path");
    let lost = network.lost().filter(|sent| *sent > at(2000)).count();
    // Sent on the path within the 80 ms or so until it was known to be silent; a part is repaired.
    assert!(lost < 70, "{lost}");
    assert!(
        network.paths[0].longest < MS * 60,
        "{}",
        network.paths[0].longest
    );
    let end = &network.ends[0];
    assert_eq!(end.sender.waiting(), 0, "nothing waits at the end");
}

/// Media beside segments of TCP at more than the paths carry: it does not wait for them.
#[test]
fn media_passes_segments_that_wait() {
    let mut network = Network::new(policy(200, 10), limited([10, 10]), 1);
    network.interval = interval(24_000);
    // Every twelfth packet is one of media: 2 Mbit/s.
    network.media_every = Some(12);
    network.kind = Kind::Data;
    network
        .paths
        .iter_mut()
        .for_each(|path| path.keeps_order = false);
    network.stream(20);
    let delays = network.delays_of_media(at(3000));
    let (late, longest) = (
        delays.iter().filter(|delay| **delay > MS * 100),
        delays.iter().max(),
    );
    let share = late.count() as f64 / delays.len() as f64;
    assert!(
        delays.len() > 3000 && share < 0.001,
        "{share} later than 100 ms, {longest:?}"
    );
}

/// With a change of the deadline packets wait on, and nothing leaves as a burst.
#[test]
fn a_reload_keeps_what_waits() {
    let mut network = Network::new(policy(200, 10), limited([10, 10]), 1);
    network.kind = Kind::Data;
    network.interval = interval(24_000);
    let other = config(PolicyConfig::InTime(policy(300, 10)));
    let reload = Input::Adjust(Adjustment::new(&other).unwrap());
    network.input = Some((at(8000), 0, reload));
    network.stream(15);
    assert_eq!(network.lost().filter(|sent| *sent > at(2000)).count(), 0);
    for path in &network.paths {
        assert!(path.longest < MS * 30, "{}", path.longest);
    }
    // Those that wait still count in the signals of congestion: 250 ms without a reload.
    assert!(network.tail(2) < MS * 300, "{}", network.tail(2));
}

/// The capacities are measured also if reports come after the deadline of what they cover.
#[test]
fn capacities_are_measured_with_a_deadline_below_the_round_trip() {
    for (delay, deadline) in [(20, 20), (20, 30), (130, 200)] {
        let paths = [delay, delay + 10].map(|delay| TestPath::limited(delay, Rate(MBIT.0 * 10)));
        let mut network = Network::new(policy(deadline, 10), paths.into(), 1);
        network.kind = Kind::Data;
        network.interval = interval(24_000);
        network.stream(15);
        let lost = network.lost().filter(|sent| *sent > at(4000)).count();
        assert_eq!(lost, 0, "{delay} ms, {deadline} ms");
        for path in [FIRST, SECOND] {
            let estimate = network.ends[0].path_estimate(path).unwrap();
            let known = estimate.capacity.unwrap().as_f64() / 1e6;
            assert!((8.5..10.0).contains(&known), "{delay} ms: {known} Mbit/s");
        }
    }
}
