use super::*;
use crate::packet::{Dscp, Ecn, FlowId, IpVersion, Kind};
use crate::repair::PathLimit;
use crate::rng::Seed;
use crate::units::{Bytes, Rate};
use proptest::prelude::*;

const PATHS: u8 = 3;

fn policy() -> InTime {
    let context = PolicyContext {
        paths: PATHS,
        start: None,
        pair_interval: Duration::from_secs(1),
        epoch: Epoch::default(),
        acknowledges: false,
        tariffs: Tariffs::default(),
        stream: Seed(1).stream("in-time"),
    };
    InTime::new(&RepairConfig::default(), &context)
}

fn segment() -> PacketMeta {
    PacketMeta {
        version: IpVersion::V4,
        protocol: 6,
        flow: FlowId::default(),
        kind: Kind::Data,
        size: 1000,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        ports: None,
        class: None,
    }
}

/// The measurement of a path by a report: its delay in ms, whether it is silent, and whether it has
/// a limit.
fn measured(path: u8, delay_ms: u64, is_silent: bool, is_limited: bool) -> Feedback {
    let one_way = Duration::from_millis(delay_ms);
    let limit = PathLimit {
        rate: Rate::from_mbits(8),
        capacity: Rate::from_mbits(8),
        queue: Duration::ZERO,
        unsent: Bytes(0),
        drains: false,
    };
    Feedback::Measured {
        path: PathId(path),
        estimate: Some(PathEstimate {
            one_way,
            base: one_way,
            queueing: Duration::ZERO,
            is_rising: false,
            loss: 0,
            capacity: None,
            repair_time: None,
            repair_is_late: false,
        }),
        limit: is_limited.then_some(limit),
        is_silent,
    }
}

/// Bursts that use up the faster path, whose queue empties between them, go on the slower one, too, after
/// some seconds; no longer once a queue remains.
#[test]
fn bulk_that_keeps_its_queue_short_uses_a_slower_path_after_a_while() {
    let mut policy = policy();
    let mut now = Time::ZERO;
    let usable = PathSet::first(2);
    // Each path carries four segments in 4 ms. Returns the number of those on the second.
    let mut send = |seconds: u64, burst: u32, unsent: u64| {
        let mut on_second = 0;
        for _ in 0..seconds * 250 {
            for (path, delay_ms) in [(0, 20), (1, 60)] {
                let mut feedback = measured(path, delay_ms, false, true);
                if let Feedback::Measured {
                    limit: Some(limit), ..
                } = &mut feedback
                {
                    limit.unsent = Bytes(unsent);
                }
                policy.handle_feedback(now, feedback, &mut |_| {});
            }
            for _ in 0..burst {
                let plan = policy.route(now, &segment(), &Paths::trusted(usable), &mut |_| {});
                on_second += u32::from(plan.copies.contains(PathId(1)));
            }
            now += Duration::from_millis(4);
        }
        on_second
    };
    assert_eq!(send(3, 4, 0), 0);
    let spread = send(2, 6, 0);
    assert!(
        (1400..=1500).contains(&spread),
        "{spread} of 3000: half of them"
    );
    // 25 ms: more than half of the difference of the delays, and less than all of it.
    send(2, 4, 25_000);
    assert_eq!(send(2, 4, 25_000), 0);
}

proptest! {
    /// A choice that is kept is the choice that would be made.
    #[test]
    fn bulk_goes_where_it_would_without_a_kept_choice(
        steps in prop::collection::vec(
            (0..PATHS, 0_u64..120, prop::bool::weighted(0.1), prop::bool::weighted(0.1), 1_u64..8, 0_u8..4),
            1..60,
        ),
    ) {
        let (mut kept, mut fresh) = (policy(), policy());
        let mut now = Time::ZERO;
        for (path, delay_ms, is_silent, is_limited, usable, packets) in steps {
            now += Duration::from_millis(5);
            let feedback = measured(path, delay_ms, is_silent, is_limited);
            kept.handle_feedback(now, feedback, &mut |_| {});
            fresh.handle_feedback(now, feedback, &mut |_| {});
            let usable: PathSet = (0..PATHS).filter(|path| usable >> path & 1 != 0).map(PathId).collect();
            for _ in 0..packets {
                now += Duration::from_micros(500);
                fresh.bulk_choice = None;
                let paths = Paths::trusted(usable);
                let plan = kept.route(now, &segment(), &paths, &mut |_| {});
                prop_assert_eq!(plan, fresh.route(now, &segment(), &paths, &mut |_| {}));
            }
        }
    }
}
