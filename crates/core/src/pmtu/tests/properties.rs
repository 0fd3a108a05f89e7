use proptest::prelude::*;

use super::*;
use crate::rng::Seed;

/// Sizes that a search asks for at most: the base, the least, the room, and the halvings of what is between.
fn most_sizes(room: u16) -> usize {
    3 + (room / STEP).ilog2() as usize + 1
}

proptest! {
    /// Whatever a path carries, the search finds it to within a step, with a bounded number of probes; the bench itself
    /// checks that nothing is said to cross that was not answered.
    #[test]
    fn the_size_of_a_path_is_found_in_a_bounded_number_of_probes(
        room in MIN_PACKET..9_000, mtu in MIN_PACKET..9_000, rtt in 1_u64..400,
    ) {
        let mut bench = Bench::new(room).busy();
        let fate = |_, len| (len <= mtu).then_some(MS * rtt);
        while bench.known().state != MtuState::Complete {
            prop_assert!(bench.now < at(200_000));
            bench.run(bench.now + MS * 10, fate);
        }
        let most = most_sizes(room) * MAX_PROBES as usize;
        prop_assert!(bench.probes.len() <= most, "{} of {most}", bench.probes.len());
        let found = bench.limit();
        let real = room.min(mtu);
        prop_assert!(found <= real && real - found < STEP, "{found} of {real}");
    }

    /// However often a path's size changes, it is found again, and never for longer than stated what does not cross.
    #[test]
    fn changes_are_followed(
        room in 1_000_u16..1_500,
        mtus in prop::collection::vec(MIN_PACKET..1_500, 1..6),
        busy in any::<bool>(),
    ) {
        let mut bench = Bench::new(room);
        if busy {
            bench = bench.busy();
        }
        let every = if busy { CONFIRM_INTERVAL } else { IDLE_CONFIRM_INTERVAL };
        for mtu in mtus {
            let changed = bench.now;
            let fate = narrow(mtu);
            // The size that no longer crosses fails after it was due to be confirmed, in base the base too.
            bench.run(changed + every + Duration::from_secs(4), &fate);
            let limit = bench.limit();
            let is_unknown = limit >= room && bench.known().state != MtuState::Complete;
            prop_assert!(
                limit <= mtu || is_unknown,
                "{limit} of {mtu}, {:?}", bench.known()
            );
            bench.run(changed + Duration::from_secs(60), &fate);
            let real = room.min(mtu);
            let found = bench.limit();
            prop_assert!(found <= real);
            bench.run(changed + RAISE_INTERVAL + Duration::from_secs(90), &fate);
            let found = bench.limit();
            prop_assert!(found <= real && real - found < STEP, "{found} of {real}");
        }
    }

    /// A path that loses much and carries all fails no size once its losses are known.
    #[test]
    fn losses_fail_no_size(seed in any::<u64>(), share in 0.0..0.3_f64) {
        let mut draws = Seed(seed).stream("losses");
        let mut bench = Bench::new(ROOM).busy();
        let mut fate = |_, _| (!draws.chance(share)).then_some(MS * 40);
        // The discovery begins where the losses are known.
        bench.sizes.set_interface_mtu(Time::ZERO, PATH, 0, false);
        for second in 1..120 {
            if second == 60 {
                bench.sizes.set_interface_mtu(bench.now, PATH, ROOM, false);
            }
            bench.run(at(second * 1_000), &mut fate);
        }
        if bench.watch.health(PATH).unwrap().silences == 0 {
            prop_assert!(bench.told.len() <= 1, "{:?}", bench.told);
        }
    }
}
