use proptest::prelude::*;

use super::*;
use crate::rng::{Seed, Stream};

/// The maximum number of sizes that a search tries: the base, the minimum, the interface MTU, and
/// the bisection steps.
fn max_sizes(interface_mtu: u16) -> usize {
    3 + (interface_mtu / STEP).ilog2() as usize + 1
}

proptest! {
    /// The search finds any path MTU to within a step with a bounded number of probes; the bench
    /// itself checks that every reported size has been answered.
    #[test]
    fn the_path_mtu_is_found_with_a_bounded_number_of_probes(
        interface_mtu in MIN_PACKET..9_000, mtu in MIN_PACKET..9_000, rtt in 1_u64..400,
    ) {
        let mut bench = Bench::new(interface_mtu).busy();
        let outcome = |_, len| (len <= mtu).then_some(MS * rtt);
        while bench.known().state != MtuState::Complete {
            prop_assert!(bench.now < at(200_000));
            bench.run(bench.now + MS * 10, outcome);
        }
        let max = max_sizes(interface_mtu) * MAX_PROBES as usize;
        prop_assert!(bench.probes.len() <= max, "{} of {max}", bench.probes.len());
        let found = bench.limit();
        let real = interface_mtu.min(mtu);
        prop_assert!(found <= real && real - found < STEP, "{found} of {real}");
    }

    /// Every change of the path MTU is found, and a size that is too large is used no longer than
    /// documented.
    #[test]
    fn changes_are_followed(
        interface_mtu in 1_000_u16..1_500,
        mtus in prop::collection::vec(MIN_PACKET..1_500, 1..6),
        busy in any::<bool>(),
    ) {
        let mut bench = Bench::new(interface_mtu);
        if busy {
            bench = bench.busy();
        }
        let every = if busy { CONFIRM_INTERVAL } else { IDLE_CONFIRM_INTERVAL };
        for mtu in mtus {
            let changed = bench.now;
            let outcome = narrow(mtu);
            // A size that is too large fails once its confirmation is due; below the base, so does
            // the base.
            bench.run(changed + every + Duration::from_secs(4), &outcome);
            let limit = bench.limit();
            let is_unknown = limit >= interface_mtu && bench.known().state != MtuState::Complete;
            prop_assert!(
                limit <= mtu || is_unknown,
                "{limit} of {mtu}, {:?}", bench.known()
            );
            bench.run(changed + Duration::from_secs(60), &outcome);
            let real = interface_mtu.min(mtu);
            let found = bench.limit();
            prop_assert!(found <= real);
            bench.run(changed + RAISE_INTERVAL + Duration::from_secs(90), &outcome);
            let found = bench.limit();
            prop_assert!(found <= real && real - found < STEP, "{found} of {real}");
        }
    }

    /// No size fails where three consecutive losses are negligible: once in 10^9 at most.
    #[test]
    fn rare_losses_fail_no_size(seed in any::<u64>(), share in 0.0..0.001_f64) {
        prop_assert!(!losses_fail_a_size(Seed(seed).stream("losses"), share));
    }
}

/// No size fails on lossy paths that carry all sizes. The seeds are fixed, since consecutive losses
/// fail a size without a defect on one path in some 10 000.
#[test]
fn losses_fail_no_size() {
    let is_failed = |seed: &u64| {
        let mut draws = Seed(*seed).stream("losses");
        let share = draws.uniform() * 0.3;
        losses_fail_a_size(draws, share)
    };
    let failed: Vec<u64> = (0..256).filter(is_failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// Whether a size fails on a path that carries all sizes and loses this share of the heartbeats, in
/// the minute after one in which the loss rate becomes known. A path that falls silent counts as
/// without failure: its discovery starts again.
fn losses_fail_a_size(mut draws: Stream, share: f64) -> bool {
    let mut bench = Bench::new(INTERFACE_MTU).busy();
    let mut outcome = |_, _| (!draws.chance(share)).then_some(MS * 40);
    bench
        .discovery
        .set_interface_mtu(Time::ZERO, PATH, 0, false);
    bench.run(at(60_000), &mut outcome);
    bench
        .discovery
        .set_interface_mtu(bench.now, PATH, INTERFACE_MTU, false);
    bench.run(at(120_000), &mut outcome);
    let complete = (MtuState::Complete, Some(INTERFACE_MTU));
    let mut changes = bench.changes.iter();
    let is_failed = changes.any(|(_, state, packet)| (*state, *packet) != complete);
    is_failed && bench.liveness.health(PATH).unwrap().silences == 0
}
