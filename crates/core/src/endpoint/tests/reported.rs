//! The policy `in-time` over two paths of 20 and 30 ms: late packets, bytes on the wire, and
//! faults.

use network::{Network, TestPath};

use super::*;
use crate::repair::Share;
use crate::rng::Stream;

mod ceilings;
mod classes;
mod costs;
mod limits;
mod network;
mod spaced;
mod spread;

fn policy(deadline: u64, percent: u32) -> RepairConfig {
    RepairConfig {
        deadline: MS * deadline,
        redundancy: Share::from_millionths(percent * 10_000),
        ..RepairConfig::default()
    }
}

fn never(_: &mut Stream, _: Time) -> bool {
    false
}

fn random(stream: &mut Stream, _: Time) -> bool {
    stream.chance(0.02)
}

/// Fades of 50 ms, 3 % of the time; `path` selects the times.
fn fades(now: Time, path: u64) -> bool {
    Seed(now.0 / 50_000_000 * 2 + path)
        .stream("fade")
        .chance(0.03)
}

/// Whether `now` is within the first 2 s of 10 s, counted from `start` s.
fn is_dead(now: Time, start: u64) -> bool {
    (now.0 / 1_000_000_000 + 10 - start) % 10 < 2
}

/// A queue that grows by 200 ms/s for 1.5 s of 6 s, and is full at 250 ms.
fn congestion(now: Time) -> Option<Duration> {
    let phase = now.0 % 6_000_000_000;
    let growing = Duration(phase.saturating_sub(2_000_000_000)).scale(1, 5);
    let is_over = phase > 3_500_000_000;
    let queue = if is_over { Duration::ZERO } else { growing };
    (queue < MS * 250).then_some(queue)
}

/// The two paths of a scenario.
type Scenario = fn() -> [TestPath; 2];

fn randomly_lossy() -> [TestPath; 2] {
    [TestPath::new(20, random), TestPath::new(30, random)]
}

fn fading() -> [TestPath; 2] {
    let first = TestPath::new(20, |_, now| fades(now, 0));
    [first, TestPath::new(30, |_, now| fades(now, 1))]
}

fn dead_in_turn() -> [TestPath; 2] {
    let first = TestPath::new(20, |_, now| is_dead(now, 0));
    [first, TestPath::new(30, |_, now| is_dead(now, 5))]
}

fn congested() -> [TestPath; 2] {
    let mut first = TestPath::new(20, never);
    first.queue = congestion;
    [first, TestPath::new(60, never)]
}

/// The bounds of a scenario: late packets and bytes on the wire per byte of media.
struct Bounds {
    scenario: Scenario,
    /// Whether a packet that is sent now would be lost on every path: no policy helps it, and it is
    /// not counted.
    is_lost: fn(Time) -> bool,
    late: f64,
    wire: f64,
}

/// Checks the bounds with three seeds, and prints the worst values.
fn check(policy: RepairConfig, all: &[Bounds; 4]) {
    for (name, bounds) in ["random", "fades", "outages", "congestion"].iter().zip(all) {
        let (mut worst_late, mut worst_wire, mut worst_tail) = (0.0_f64, 0.0_f64, Duration::ZERO);
        for seed in 1..=3 {
            let mut network = Network::new(policy, (bounds.scenario)().into(), seed);
            network.stream(60);
            let (late, wire) = (network.late(policy.deadline), network.wire());
            let lost = network.sent.iter().filter(|sent| (bounds.is_lost)(**sent));
            let inevitable = lost.count() as f64 / network.sent.len() as f64;
            let spent = network.statistics();
            let seen = std::format!("{name}, seed {seed}: late {late}, wire {wire}, {spent:?}");
            assert!(late <= bounds.late + inevitable, "{seen}");
            assert!(wire <= bounds.wire, "{seen}");
            let budget = u64::from(policy.redundancy.millionths()) * spent.packet_bytes;
            assert!(
                (spent.copy_bytes + spent.repair_bytes) * 1_000_000 <= budget,
                "{seen}"
            );
            let reports = network.bytes[&FrameKind::Report];
            assert!(reports * 50 <= spent.packet_bytes + 200_000, "{seen}");
            worst_late = worst_late.max(late);
            worst_wire = worst_wire.max(wire);
            worst_tail = worst_tail.max(network.tail(1000));
        }
        std::println!(
            "{name}: {:.3} % later than {}; wire {worst_wire:.3}; p99.9 {worst_tail}",
            worst_late * 100.0,
            policy.deadline,
        );
    }
}

#[test]
fn media_arrives_within_200_ms_at_a_tenth_of_the_bytes() {
    let bounds = |scenario, wire| Bounds {
        scenario,
        is_lost: |_| false,
        late: 0.000_2,
        wire,
    };
    check(
        policy(200, 10),
        &[
            bounds(randomly_lossy, 1.12),
            bounds(fading, 1.14),
            bounds(dead_in_turn, 1.12),
            bounds(congested, 1.12),
        ],
    );
}

/// A queue that grows for 200 ms, in every 400 ms from `start` ms on, and then is empty.
fn fills_in_turn(now: Time, start: u64) -> Duration {
    let phase = Duration((now.0 + start * 1_000_000) % 400_000_000);
    if phase < MS * 200 {
        phase.scale(1, 2)
    } else {
        Duration::ZERO
    }
}

/// Data does not swing between paths that are congested in turn and deliver in time.
#[test]
fn paths_that_fill_in_turn_are_left_once_in_2_s_at_most() {
    let mut paths = [TestPath::new(20, never), TestPath::new(30, never)];
    paths[0].queue = |now| Some(fills_in_turn(now, 0));
    paths[1].queue = |now| Some(fills_in_turn(now, 200));
    let mut network = Network::new(policy(200, 10), paths.into(), 1);
    network.stream(20);
    let moves = network.moves.len();
    std::println!("{moves} moves in 20 s");
    assert!((1..=10).contains(&moves), "{moves}");
}

/// A queue that grows by half a second in each from `from` ms on.
fn growth(now: Time, from: u64) -> Duration {
    now.since(at(from)).scale(1, 2)
}

/// Data returns at once to a path that it has just left if the other one gets late.
#[test]
fn a_path_that_is_late_is_left_for_one_that_was_left_before() {
    let mut paths = [TestPath::new(20, never), TestPath::new(30, never)];
    paths[0].queue = |now| {
        Some(if now < at(5200) {
            growth(now, 5000)
        } else {
            Duration::ZERO
        })
    };
    paths[1].queue = |now| Some(growth(now, 5500).min(MS * 240));
    let mut network = Network::new(policy(100, 20), paths.into(), 1);
    network.stream(7);
    std::println!("moves at {:?}", network.moves);
    assert_eq!(network.ends[0].active(), Some(FIRST));
    let back = network.moves.last().unwrap();
    assert!((at(5500)..at(5900)).contains(back), "{back}");
}

/// The measured losses of two paths that lose 2 %, on average over the seeds.
fn measured_losses(policy: RepairConfig, delays: [u64; 2]) -> [f64; 2] {
    const SEEDS: u64 = 12;
    let mut sums = [0.0; 2];
    for seed in 1..=SEEDS {
        let paths = delays.map(|delay| TestPath::new(delay, random));
        let mut network = Network::new(policy, paths.into(), seed);
        network.stream(20);
        for (sum, path) in sums.iter_mut().zip([FIRST, SECOND]) {
            let estimate = network.ends[0].path_estimate(path).unwrap();
            *sum += f64::from(estimate.loss) / (1e6 * SEEDS as f64);
        }
    }
    std::println!("{delays:?} ms: {sums:?}");
    sums
}

/// Losses of the faster path are measured where nearly all packets have copies.
#[test]
fn losses_are_measured_where_packets_have_copies() {
    for delays in [[20, 30], [30, 20], [20, 60]] {
        let losses = measured_losses(policy(40, 100), delays);
        let faster = losses[usize::from(delays[1] < delays[0])];
        assert!((0.015..0.025).contains(&faster), "{losses:?}");
        assert!(losses.iter().all(|loss| *loss < 0.03), "{losses:?}");
    }
    // Copies that arrive at the same time say nothing: only the packets without one are left.
    let losses = measured_losses(policy(40, 100), [20, 20]);
    assert!(losses.iter().all(|loss| *loss < 0.03), "{losses:?}");
    assert!(losses[0] > 0.005, "{losses:?}");
    // Only the path with the data, of about 10 000 packets, is measured.
    let [first, _] = measured_losses(policy(200, 10), [20, 30]);
    assert!((0.015..0.025).contains(&first), "{first}");
}

#[test]
fn media_arrives_within_100_ms_at_a_fifth_of_the_bytes() {
    let bounds = |scenario, late| Bounds {
        scenario,
        is_lost: |_| false,
        late,
        wire: 1.25,
    };
    check(
        policy(100, 20),
        &[
            bounds(randomly_lossy, 0.001),
            Bounds {
                is_lost: |now| fades(now, 0) && fades(now, 1),
                ..bounds(fading, 0.001)
            },
            bounds(dead_in_turn, 0.001),
            bounds(congested, 0.005),
        ],
    );
}

/// Neither equal paths nor random losses make data move to and fro.
#[test]
fn switches_are_rare_without_a_reason() {
    for paths in [
        [TestPath::new(20, never), TestPath::new(20, never)],
        randomly_lossy(),
    ] {
        let mut network = Network::new(policy(200, 10), paths.into(), 1);
        network.stream(60);
        assert!(
            network.ends[0].switches() <= 6,
            "{}",
            network.ends[0].switches()
        );
    }
}

/// A path that loses 5 % is left for a clean one that is slower.
#[test]
fn a_lossy_path_is_left() {
    let lossy = TestPath::new(20, |stream, _| stream.chance(0.05));
    let paths = alloc::vec![lossy, TestPath::new(30, never)];
    let mut network = Network::new(policy(200, 10), paths, 1);
    network.stream(30);
    assert_eq!(network.ends[0].active(), Some(SECOND));
    assert_eq!(network.ends[0].switches(), 1);
    assert!(
        network.statistics().repairs < 200,
        "{:?}",
        network.statistics()
    );
}

/// Clocks that are a day apart, drift and step change nothing but for a moment.
#[test]
fn clocks_need_not_agree() {
    let mut network = Network::new(policy(200, 10), randomly_lossy().into(), 1);
    network.clock.drift = 500;
    network.stream(60);
    assert!(
        network.late(MS * 200) <= 0.000_2,
        "{}",
        network.late(MS * 200)
    );
    let mut network = Network::new(policy(200, 10), randomly_lossy().into(), 1);
    network.clock.step = at(20_000);
    network.stream(60);
    assert!(
        network.late(MS * 200) <= 0.000_5,
        "{}",
        network.late(MS * 200)
    );
    let repairs = network.statistics().repairs;
    assert!(repairs < 1200, "the step causes {repairs} repairs");
}

/// A delay that was measured before its path failed changes nothing after the clocks have drifted: by
/// 50 ms, of which half would count, while a repair takes about 100 ms.
#[test]
fn the_delay_of_a_failed_path_is_forgotten() {
    let failed = TestPath::new(20, |_, now| now > at(5000));
    let paths = [failed, TestPath::new(30, random)];
    let mut network = Network::new(policy(120, 10), paths.into(), 1);
    network.clock.drift = 500;
    network.stream(100);
    let late = network.late(MS * 120);
    assert!(late < 0.001, "{late}, {:?}", network.statistics());
}

/// Without a budget only the choice of paths is left.
#[test]
fn without_a_budget_nothing_is_repaired() {
    let mut network = Network::new(policy(200, 0), dead_in_turn().into(), 1);
    network.stream(30);
    let statistics = network.statistics();
    assert_eq!((statistics.repairs, statistics.copies), (0, 0));
    // Six outages of about 60 ms until data moves.
    assert!(network.late(MS * 200) < 0.02, "{}", network.late(MS * 200));
}

/// A queue that grows at once, and loses nothing: packets that seem missing, and cannot be repaired
/// without a budget, have arrived by the next report.
#[test]
fn what_arrives_late_without_a_budget_is_not_given_up() {
    let step = |now: Time| Some(MS * 60 * u64::from(now.0 % 1_000_000_000 > 800_000_000));
    let mut paths = [TestPath::new(20, never), TestPath::new(90, never)];
    paths[0].queue = step;
    let mut network = Network::new(policy(400, 0), paths.into(), 1);
    network.stream(20);
    let spent = network.statistics();
    assert_eq!(network.lost().count(), 0);
    assert_eq!(spent.given_up + spent.unaffordable, 0, "{spent:?}");
}

/// If a round trip takes longer than the deadline, copies replace repairs, as far as the budget
/// reaches.
#[test]
fn below_the_round_trip_copies_replace_repairs() {
    let slow = || [TestPath::new(60, random), TestPath::new(70, random)];
    let mut network = Network::new(policy(100, 10), slow().into(), 1);
    network.stream(30);
    let statistics = network.statistics();
    assert!(
        statistics.copies > 500 && statistics.repairs < 100,
        "{statistics:?}"
    );
    let late = [1, 2, 3].map(|seed| {
        let mut network = Network::new(policy(100, 100), slow().into(), seed);
        network.stream(30).late(MS * 100)
    });
    assert!(late.iter().sum::<f64>() / 3.0 < 0.002, "{late:?}");
}

/// A path that reorders by 50 ms causes repairs only until its reordering is known.
#[test]
fn reordering_is_no_loss() {
    let mut reordering = TestPath::new(20, never);
    reordering.jitter = MS * 50;
    let paths = alloc::vec![reordering, TestPath::new(90, never)];
    let mut network = Network::new(policy(200, 10), paths, 1);
    network.stream(30);
    let statistics = network.statistics();
    assert!(statistics.repairs < 300, "{statistics:?}");
    assert!(network.late(MS * 200) < 0.000_2);
}

/// An outage of all paths that is longer than the deadline costs what it lasts, and no more.
#[test]
fn an_outage_of_all_paths_is_survived() {
    let dead = |_: &mut Stream, now: Time| now >= at(10_000) && now < at(12_000);
    let paths = alloc::vec![TestPath::new(20, dead), TestPath::new(30, dead)];
    let mut network = Network::new(policy(200, 10), paths, 1);
    network.stream(30);
    let late = network.late(MS * 200) * 30.0;
    assert!((1.8..2.3).contains(&late), "{late} s");
}

/// A flow of few packets over long paths: what an outage takes twice, its later packets lack.
#[test]
fn an_outage_of_a_long_path_is_repaired_to_its_end() {
    let dead = |_: &mut Stream, now: Time| is_dead(now, 5);
    for seed in 1..=3 {
        let paths = alloc::vec![TestPath::new(100, dead), TestPath::new(100, never)];
        let mut network = Network::new(policy(400, 10), paths, seed);
        network.interval = MS * 20;
        network.stream(30);
        let statistics = network.statistics();
        let given_up = statistics.unaffordable + statistics.given_up;
        assert_eq!((network.lost().count(), given_up), (0, 0), "{statistics:?}");
    }
}

/// Lost and late reports cost repairs, which the budget bounds, but no packets.
#[test]
fn lost_reports_lose_no_packets() {
    let path = |delay| TestPath::new(delay, |stream: &mut Stream, _| stream.chance(0.2));
    let mut network = Network::new(policy(200, 60), alloc::vec![path(20), path(30)], 1);
    network.stream(30);
    let late = network.late(MS * 200);
    assert!(late < 0.01, "{late}");
}

/// A peer of an older version gets plain data, and nothing is kept for it.
#[test]
fn a_peer_without_reports_gets_plain_data() {
    let mut end = endpoint(PolicyConfig::InTime(policy(200, 10)));
    let outputs = wake(&mut end, at(0), Wake::Input(Input::PeerReports(false)));
    assert_eq!(outputs, [Output::Event(Event::RepairUnavailable)]);
    let sent = send(&mut end, at(1), 0, Kind::Data);
    assert!(
        sent.iter().any(|frame| matches!(frame.body, Body::Data(_))),
        "{sent:?}"
    );
    assert_eq!(
        end.repair_statistics().map(|counters| counters.packets),
        Some(0)
    );
    wake(&mut end, at(2), Wake::Input(Input::PeerReports(true)));
    let sent = send(&mut end, at(3), 1, Kind::Data);
    let is_reported = |frame: &Frame<Packet>| matches!(frame.body, Body::Reported { .. });
    assert!(sent.iter().any(is_reported), "{sent:?}");
    // After it has restarted as an older version, what was sent is not sent again.
    wake(&mut end, at(4), Wake::Input(Input::PeerReports(false)));
    let later = wake(&mut end, at(250), Wake::Timeout);
    let is_resent =
        |output: &Output<Packet>| matches!(output, Output::Transmit(frame) if is_reported(frame));
    assert!(!later.iter().any(is_resent), "{later:?}");
}

/// A change of the policy keeps the sequence, and what is kept ends with the policy.
#[test]
fn a_reload_starts_and_ends_repairs() {
    let mut end = endpoint(PolicyConfig::single_path(0));
    let adjust = |policy| Input::Adjust(Adjustment::new(&config(policy)).unwrap());
    send(&mut end, at(0), 0, Kind::Data);
    let in_time = PolicyConfig::InTime(policy(200, 10));
    wake(&mut end, at(1), Wake::Input(adjust(in_time)));
    let sent = of_kind(&send(&mut end, at(2), 1, Kind::Data), FrameKind::Data);
    assert_eq!(sent[0].sequence, 1);
    assert_eq!(end.buffered(), 1);
    wake(
        &mut end,
        at(3),
        Wake::Input(adjust(PolicyConfig::single_path(0))),
    );
    assert_eq!((end.buffered(), end.repair_statistics()), (0, None));
}

/// A pause in which the peer does not report leaves a gap in the sequence. Packets that waited for
/// the budget before it no longer count, so that copies are sent again.
#[test]
fn a_peer_that_stops_to_report_leaves_nothing_behind() {
    let mut end = endpoint(PolicyConfig::InTime(policy(200, 10)));
    send(&mut end, at(0), 0, Kind::Data);
    // Nothing is reported, and nothing was earned: the packet waits.
    wake(&mut end, at(150), Wake::Timeout);
    for reports in [false, true] {
        wake(&mut end, at(160), Wake::Input(Input::PeerReports(reports)));
        send(&mut end, at(160), 1, Kind::Data);
    }
    assert_eq!(end.buffered(), 1);
    // Only the timer of the new packet is left, not the retry of the old one.
    let due = end.sender.repair_deadline();
    wake(&mut end, due.unwrap().max(at(160)), Wake::Timeout);
    let next = end.sender.repair_deadline();
    assert!(next.is_none_or(|next| next >= at(255)), "{next:?}");
}

/// Nothing is reported any more. A packet may have been delivered all the same, by a peer that has
/// restarted since and would deliver it again.
#[test]
fn what_was_sent_before_the_peer_restarted_is_not_sent_again() {
    let repairs = |has_restarted: bool| {
        let mut end = endpoint(PolicyConfig::InTime(policy(2_000, 100)));
        for number in 0..100 {
            send(&mut end, at(u64::from(number) * 10), number, Kind::Opaque);
        }
        if has_restarted {
            wake(&mut end, at(991), Wake::Input(Input::PeerRestarted));
        }
        let before = end.repair_statistics().unwrap().repairs;
        for ms in 992..1_500 {
            wake(&mut end, at(ms), Wake::Timeout);
        }
        end.repair_statistics().unwrap().repairs - before
    };
    assert!(repairs(false) > 5);
    assert_eq!(repairs(true), 0);
}
