use super::*;
use proptest::prelude::*;

const PATH: PathId = PathId(1);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn meters(tariff: Tariff) -> Meters {
    let tariffs = [Tariff::default(), tariff].into_iter().collect();
    Meters::new(2, &tariffs)
}

fn quota(bytes: u64) -> Tariff {
    Tariff {
        quota: Some(Bytes(bytes)),
        ..Tariff::default()
    }
}

fn notices(meters: &mut Meters, now: Time) -> Vec<(PathId, u64)> {
    let due = meters.take_notices(now).into_iter();
    due.map(|notice| (notice.path, notice.number)).collect()
}

#[test]
fn a_path_is_full_while_it_is_ahead_of_its_ceiling() {
    let mut meters = meters(Tariff {
        ceiling: Some(Rate::from_mbits(1)),
        ..Tariff::default()
    });
    // 12 500 bytes take 100 ms.
    meters.on_sent(at(0), PATH, 12_500);
    assert_eq!(meters.full(at(0)), PathSet::EMPTY);
    meters.on_sent(at(0), PATH, 1_250);
    assert_eq!(meters.full(at(9)), PathSet::only(PATH));
    assert_eq!(meters.full(at(10)), PathSet::EMPTY);
    assert_eq!(meters.usage(PATH).unwrap().used, Bytes(0), "no quota");
    assert!(!meters.is_idle());
    // What is saved up in an idle time is not spent at once.
    meters.on_sent(at(5000), PATH, 13_750);
    assert_eq!(meters.full(at(5009)), PathSet::only(PATH));
}

#[test]
fn a_path_closes_before_its_quota_is_used_up_and_opens_when_it_is_renewed() {
    let mut meters = meters(quota(100_000));
    meters.on_received(at(0), PATH, 40_000, at(0));
    meters.on_sent(at(0), PATH, 15_999);
    assert_eq!(meters.closed(), PathSet::EMPTY);
    // 56 000 used, 40 000 may arrive again, 4 000 are reserved.
    meters.on_sent(at(0), PATH, 1);
    assert_eq!(meters.closed(), PathSet::only(PATH));
    let admitted = [4000, 4001].map(|len| meters.admits(PATH, PathSet::EMPTY, len));
    assert_eq!(admitted, [true, false], "of the same wake");
    assert!(!meters.admits(PATH, meters.closed(), 1), "of a later wake");
    assert_eq!(notices(&mut meters, at(0)), [(PATH, 0)]);
    assert_eq!(notices(&mut meters, at(200)), [], "nothing arrives");
    meters.on_received(at(200), PATH, 50, at(190));
    assert_eq!(notices(&mut meters, at(200)), [(PATH, 1)]);
    meters.on_received(at(250), PATH, 50, at(240));
    assert_eq!(notices(&mut meters, at(250)), [], "too soon");
    // What was reserved does not open it again.
    meters.on_received(at(5000), PATH, 50, at(5000));
    meters.set_used(at(5000), PATH, Bytes(56_150), false);
    assert_eq!(meters.closed(), PathSet::only(PATH));
    meters.set_used(at(5000), PATH, Bytes(0), true);
    assert_eq!(meters.closed(), PathSet::EMPTY);
    assert_eq!(notices(&mut meters, at(6000)), []);
}

#[test]
fn frames_that_never_left_do_not_close_a_path_for_good() {
    let mut meters = meters(quota(100_000));
    meters.on_sent(at(0), PATH, 99_000);
    assert_eq!(meters.closed(), PathSet::only(PATH));
    // What was sent used it up indeed.
    meters.set_used(at(100), PATH, Bytes(98_000), false);
    assert_eq!(meters.closed(), PathSet::only(PATH));
    meters.set_used(at(200), PATH, Bytes(10_000), false);
    assert_eq!(meters.closed(), PathSet::EMPTY);
    assert_eq!(meters.usage(PATH).unwrap().used, Bytes(10_000));
}

#[test]
fn bytes_received_long_ago_are_not_reserved_by_a_correction() {
    let mut meters = meters(quota(100_000));
    meters.on_received(at(0), PATH, 45_000, at(0));
    // Without them, 5000 would be left, of which 45 000 are in reserve.
    meters.set_used(at(60_000), PATH, Bytes(95_000), false);
    assert_eq!(meters.closed(), PathSet::EMPTY);
    meters.adjust(
        at(60_000),
        &[Tariff::default(), quota(101_000)].into_iter().collect(),
    );
    assert_eq!(meters.closed(), PathSet::EMPTY);
}

#[test]
fn another_quota_opens_or_closes_a_path() {
    let mut meters = meters(quota(100_000));
    meters.set_used(at(0), PATH, Bytes(99_000), false);
    assert_eq!(meters.closed_paths().own, PathSet::only(PATH));
    let to = |tariff: Tariff| [Tariff::default(), tariff].into_iter().collect::<Tariffs>();
    meters.adjust(at(0), &to(quota(200_000)));
    assert_eq!(meters.closed(), PathSet::EMPTY);
    meters.adjust(at(0), &to(quota(100_000)));
    assert_eq!(meters.closed(), PathSet::only(PATH));
    meters.adjust(at(0), &Tariffs::default());
    assert!(meters.is_idle());
}

#[test]
fn what_the_peer_closed_opens_with_a_later_frame_on_it() {
    let mut meters = meters(Tariff::default());
    meters.on_closed_by_peer(PATH, at(100));
    assert_eq!(
        meters.closed_since(PathSet::EMPTY).collect::<Vec<_>>(),
        [(PATH, true)]
    );
    meters.on_received(at(120), PATH, 1000, at(99));
    meters.on_received(at(120), PathId(0), 1000, at(110));
    assert_eq!(meters.closed(), PathSet::only(PATH), "overtaken");
    // An older notice does not put the time back.
    meters.on_closed_by_peer(PATH, at(50));
    meters.on_received(at(130), PATH, 1000, at(100));
    assert_eq!(meters.closed(), PathSet::only(PATH));
    meters.on_received(at(140), PATH, 1000, at(101));
    assert!(meters.is_idle());
    // A notice that took longer than a frame of the path which opened again.
    meters.on_closed_by_peer(PATH, at(100));
    assert!(meters.is_idle());
    meters.on_closed_by_peer(PATH, at(200));
    meters.on_peer_restarted();
    assert!(meters.is_idle());
}

proptest! {
    /// The peer sends at a steady rate, for longer than a round trip before the path closes, and
    /// stops a round trip after that: then no more than the quota is used.
    #[test]
    fn a_quota_is_not_exceeded(
        quota_kb in 100_u64..5_000,
        sent_len in 100_u32..1_500,
        received_len in 100_u32..1_500,
        interval_us in 200_u64..50_000,
        rtt_ms in 0_u64..400,
    ) {
        let in_flight = u64::from(sent_len + 2 * received_len) * rtt_ms * 1000 / interval_us;
        prop_assume!(quota_kb * 1000 > in_flight + RESERVE.0 + 10_000);
        let mut meters = meters(quota(quota_kb * 1000));
        let (mut now, mut closed_at) = (Time::ZERO, None);
        while closed_at.is_none_or(|at| now < at + Duration::from_millis(rtt_ms)) {
            if closed_at.is_none() {
                meters.on_sent(now, PATH, sent_len);
            }
            meters.on_received(now, PATH, received_len, now);
            if !meters.closed().is_empty() {
                closed_at.get_or_insert(now);
            }
            now += Duration::from_micros(interval_us);
        }
        let used = meters.usage(PATH).unwrap().used;
        prop_assert!(used <= Bytes(quota_kb * 1000), "{used}");
    }
}
