use proptest::prelude::*;

use super::*;
use crate::rng::Seed;

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
}

/// On lossy paths that carry all sizes, hardly a size fails once the loss rate is known: three
/// consecutive losses are rare where few are needed, so at most one of 256 paths is allowed one.
#[test]
fn losses_fail_no_size() {
    let mut failed = Vec::new();
    for seed in 0..256 {
        let mut draws = Seed(seed).stream("losses");
        let share = draws.uniform() * 0.3;
        let mut bench = Bench::new(INTERFACE_MTU).busy();
        let mut outcome = |_, _| (!draws.chance(share)).then_some(MS * 40);
        // The discovery starts once the loss rate is known.
        bench
            .discovery
            .set_interface_mtu(Time::ZERO, PATH, 0, false);
        for second in 1..120 {
            if second == 60 {
                bench
                    .discovery
                    .set_interface_mtu(bench.now, PATH, INTERFACE_MTU, false);
            }
            bench.run(at(second * 1_000), &mut outcome);
        }
        let silences = bench.liveness.health(PATH).unwrap().silences;
        if silences == 0 && bench.changes.len() > 1 {
            failed.push((seed, share, bench.changes));
        }
    }
    assert!(failed.len() <= 1, "{failed:?}");
}
