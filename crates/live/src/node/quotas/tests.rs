use super::*;
use crate::stats::Volume;
use polypath_core::tariff::Renewal;
use polypath_core::units::Bytes;

const PATH: PathId = PathId(1);
/// A day in nanoseconds, and noon of a day.
const DAY: u64 = 86_400_000_000_000;
const NOON: u64 = 20_783 * DAY + DAY / 2;

fn tariffs(renews: Renewal) -> Tariffs {
    let metered = Tariff {
        quota: Some(Bytes(50_000_000)),
        renews,
        ..Tariff::FREE
    };
    [Tariff::FREE, metered].into_iter().collect()
}

fn traffic(sent: u64, received: u64) -> impl Iterator<Item = Traffic> {
    let volume = |bytes| Volume { packets: 1, bytes };
    let path = Traffic {
        sent: volume(sent),
        received: volume(received),
    };
    [Traffic::default(), path].into_iter()
}

fn update(quotas: &mut Quotas, wall_clock: u64, sent: u64, received: u64) -> Vec<Input> {
    update_at(quotas, Time::ZERO, wall_clock, sent + received)
}

/// Updates the count at `now` of the run.
fn update_at(quotas: &mut Quotas, now: Time, wall_clock: u64, bytes: u64) -> Vec<Input> {
    quotas.update(
        Moment { now, wall_clock },
        traffic(bytes, 0),
        |_| None,
        None,
    )
}

fn used(bytes: u64, is_renewed: bool) -> Vec<Input> {
    vec![Input::PathUsed {
        path: PATH,
        used: Bytes(bytes),
        is_renewed,
    }]
}

/// The use of the path as the endpoint counts it.
fn usage(bytes: u64, is_closed: bool) -> PathUsage {
    PathUsage {
        used: Bytes(bytes),
        is_closed,
        ..PathUsage::default()
    }
}

/// The names of the paths.
fn name(path: PathId) -> &'static str {
    ["dsl", "lte"][path.index()]
}

/// The quotas of these tariffs, after a run with this count.
fn quotas(tariffs: &Tariffs, saved: Option<SavedQuota>, wall_clock: u64) -> Quotas {
    let saved = saved.map(|saved| ("lte".to_owned(), saved));
    Quotas::new(tariffs, name, saved.into_iter().collect(), wall_clock)
}

/// The count of the path that is saved.
fn saved(quotas: &Quotas, is_last: bool) -> SavedQuota {
    let all = quotas.saved(is_last);
    assert_eq!(all.len(), 1);
    all["lte"]
}

#[test]
fn a_path_is_counted_in_both_directions_across_runs() {
    let mut quotas = quotas(&tariffs(Renewal::Never), None, NOON);
    assert_eq!(update(&mut quotas, NOON, 0, 0), used(0, false));
    assert_eq!(update(&mut quotas, NOON, 1000, 200), used(1200, false));
    assert_eq!(update(&mut quotas, NOON, 1000, 200), [], "nothing new");
    let last = saved(&quotas, true);
    assert_eq!(last.used, 1200);
    // The counters of the next run begin at 0.
    let mut quotas = self::quotas(&tariffs(Renewal::Never), Some(last), NOON + 400 * DAY);
    assert_eq!(
        update(&mut quotas, NOON + 400 * DAY, 0, 50),
        used(1250, false)
    );
}

/// Whenever the node may be killed, the file has more than was used until the next writes; and a kill
/// costs at most two seconds of the traffic, or 1 % of the quota.
#[test]
fn more_is_saved_than_is_used_until_the_next_counts() {
    for quota_bytes in [1_000_000_000, 50_000_000] {
        let metered = Tariff {
            quota: Some(Bytes(quota_bytes)),
            ..Tariff::FREE
        };
        let tariffs = [Tariff::FREE, metered].into_iter().collect();
        let mut quotas = quotas(&tariffs, None, NOON);
        quotas.start();
        update(&mut quotas, NOON, 0, 0);
        let (mut sent, mut writes, mut granted) = (0, 0, saved(&quotas, false).used);
        for step in 0..400 {
            // 100 kB in 100 ms, then 10 kB.
            sent += if step < 200 { 100_000 } else { 10_000 };
            assert!(granted >= sent, "{granted} is saved, {sent} are used");
            update(&mut quotas, NOON, sent, 0);
            let next = saved(&quotas, false).used;
            let lead = next - sent;
            assert!(lead <= 2_000_000, "{lead} of {quota_bytes}");
            if (20..200).contains(&step) {
                let later = sent + 900_000;
                assert!(next >= later, "no write for 0.9 s: {next}, {later}");
            }
            if step >= 350 {
                assert!(lead <= quota_bytes / 100, "{lead} of {quota_bytes}");
            }
            writes += u32::from(next != granted);
            granted = next;
        }
        assert!(writes < 50, "{writes}");
    }
}

#[test]
fn no_more_than_the_quota_is_saved_unless_it_is_exceeded() {
    let mut quotas = quotas(&tariffs(Renewal::Never), None, NOON);
    quotas.start();
    for used in [0, 4_000, 49_900_000, 49_999_999] {
        update(&mut quotas, NOON, used, 0);
        let granted = saved(&quotas, false).used;
        assert!(
            granted > used && granted <= 50_000_000,
            "{granted} of {used}"
        );
    }
    // What the peer sends all the same is saved in steps, to which a start adds nothing.
    for (used, expected) in [
        (0, 0),
        (300, 500_000),
        (500_000, 500_000),
        (500_001, 1_000_000),
    ] {
        update(&mut quotas, NOON, 50_000_000 + used, 0);
        let exceeded = saved(&quotas, false);
        assert_eq!(exceeded.used, 50_000_000 + expected);
        let mut restarted = self::quotas(&tariffs(Renewal::Never), Some(exceeded), NOON);
        restarted.start();
        update(&mut restarted, NOON, 0, 0);
        assert_eq!(saved(&restarted, false), exceeded);
    }
    // A service manager that restarts a node which cannot start consumes nothing.
    let last = saved(&quotas, true);
    let mut idle = self::quotas(&tariffs(Renewal::Never), Some(last), NOON);
    update(&mut idle, NOON, 0, 0);
    assert_eq!(saved(&idle, false), last);
}

#[test]
fn a_count_does_not_wrap() {
    let last = SavedQuota {
        since_day: 0,
        used: u64::MAX,
    };
    let mut quotas = quotas(&tariffs(Renewal::Never), Some(last), NOON);
    quotas.start();
    assert_eq!(update(&mut quotas, NOON, 1000, 0), used(u64::MAX, false));
    assert_eq!(saved(&quotas, false).used, u64::MAX);
}

#[test]
fn a_quota_is_renewed_with_its_period() {
    let mut quotas = quotas(&tariffs(Renewal::Daily), None, NOON);
    update(&mut quotas, NOON, 5000, 0);
    let midnight = NOON + DAY / 2;
    assert_eq!(
        update(&mut quotas, midnight - 1, 6000, 0),
        used(6000, false)
    );
    assert_eq!(update(&mut quotas, midnight, 6500, 0), used(0, true));
    assert_eq!(update(&mut quotas, midnight, 7000, 0), used(500, false));
    // A restart on the next day begins a count, one on the same day does not.
    let last = saved(&quotas, true);
    for (days, expected) in [(0, used(500, false)), (1, used(0, true))] {
        let now = midnight + days * DAY;
        let mut next = self::quotas(&tariffs(Renewal::Daily), Some(last), now);
        assert_eq!(update(&mut next, now, 0, 0), expected, "{days} days later");
    }
}

/// A machine without a battery-backed clock starts in the past until its clock is set.
#[test]
fn a_clock_that_is_set_back_and_right_renews_nothing() {
    for renews in [Renewal::Daily, Renewal::Monthly] {
        let mut quotas = quotas(&tariffs(renews), None, NOON);
        update(&mut quotas, NOON, 5000, 0);
        for wall_clock in [NOON - DAY, 0, NOON - 40 * DAY, NOON] {
            assert_eq!(update(&mut quotas, wall_clock, 5000, 0), [], "{renews:?}");
        }
        // Over a restart.
        let mut last = saved(&quotas, true);
        for wall_clock in [0, NOON - 40 * DAY, NOON] {
            let mut next = self::quotas(&tariffs(renews), Some(last), wall_clock);
            assert_eq!(update(&mut next, wall_clock, 0, 0), used(5000, false));
            assert_eq!(update(&mut next, NOON, 0, 0), [], "{renews:?}");
            last = saved(&next, true);
        }
    }
}

/// A clock that was ahead by years must not block renewals until then.
#[test]
fn a_clock_that_is_corrected_for_good_renews_again() {
    for (renews, days) in [(Renewal::Daily, 1), (Renewal::Monthly, 40)] {
        let mut quotas = quotas(&tariffs(renews), None, NOON + 4000 * DAY);
        let mut update = |minutes, wall_clock| {
            let now = Time::ZERO + Duration::from_secs(60) * minutes;
            update_at(&mut quotas, now, wall_clock, 5000)
        };
        update(0, NOON + 4000 * DAY);
        assert_eq!(update(1, NOON), [], "corrected");
        assert_eq!(update(59, NOON + days * DAY), [], "too early");
        // Ahead again for a moment: the hour starts again.
        assert_eq!(update(60, NOON + 4000 * DAY), []);
        assert_eq!(update(61, NOON), []);
        assert_eq!(update(120, NOON + days * DAY), []);
        assert_eq!(update(121, NOON), [], "the count goes on");
        assert_eq!(update(122, NOON + days * DAY), used(0, true));
    }
}

/// The first run of a router may begin before its clock is set.
#[test]
fn a_count_that_began_before_the_clock_was_set_goes_on() {
    for renews in [Renewal::Daily, Renewal::Monthly] {
        let mut quotas = quotas(&tariffs(renews), None, DAY);
        update(&mut quotas, DAY, 5000, 0);
        assert_eq!(update(&mut quotas, NOON, 5000, 0), [], "{renews:?}");
        assert_eq!(update(&mut quotas, NOON + 40 * DAY, 5000, 0), used(0, true));
    }
}

/// Without the network the clock may not be set for hours.
#[test]
fn a_clock_that_is_not_set_corrects_nothing() {
    let mut quotas = quotas(&tariffs(Renewal::Daily), None, NOON);
    update_at(&mut quotas, Time::ZERO, NOON, 5000);
    for hours in 0..10 {
        let now = Time::ZERO + Duration::from_secs(3600) * hours;
        assert_eq!(update_at(&mut quotas, now, DAY, 5000), []);
    }
    assert_eq!(update(&mut quotas, NOON, 5000, 0), []);
}

#[test]
fn another_quota_keeps_the_count() {
    let mut quotas = quotas(&tariffs(Renewal::Never), None, NOON);
    update(&mut quotas, NOON, 5500, 0);
    quotas.adjust(&tariffs(Renewal::Monthly), name, NOON, traffic(5500, 0));
    assert!(quotas.is_due(Time::ZERO));
    assert_eq!(update(&mut quotas, NOON, 6000, 0), used(6000, false));
    // Without a quota the path is not counted, and its count is kept.
    quotas.adjust(&Tariffs::default(), name, NOON, traffic(6000, 0));
    assert!(!quotas.is_due(Time::MAX));
    assert_eq!(saved(&quotas, false).used, 6000);
    quotas.adjust(&tariffs(Renewal::Never), name, NOON, traffic(8000, 0));
    assert_eq!(update(&mut quotas, NOON, 8100, 0), used(6100, true));
}

/// The endpoint counts frames that no socket has sent, as those to a peer without an address.
#[test]
fn an_endpoint_that_has_counted_more_is_corrected_although_nothing_was_carried() {
    let mut quotas = quotas(&tariffs(Renewal::Never), None, NOON);
    assert_eq!(update(&mut quotas, NOON, 1000, 0), used(1000, false));
    let mut with_counted = |bytes| {
        let moment = Moment {
            now: Time::ZERO,
            wall_clock: NOON,
        };
        quotas.update(
            moment,
            traffic(1000, 0),
            |_| Some(usage(bytes, false)),
            None,
        )
    };
    assert_eq!(with_counted(1000), []);
    assert_eq!(with_counted(50_000_000), used(1000, false));
}

#[test]
fn a_count_follows_the_name_of_its_path() {
    let metered = tariffs(Renewal::Never).of(PATH);
    let both = [metered, metered].into_iter().collect();
    let traffic = |first, second| {
        let path = |bytes| Traffic {
            sent: Volume { packets: 1, bytes },
            ..Traffic::default()
        };
        [path(first), path(second)].into_iter()
    };
    let moment = Moment {
        now: Time::ZERO,
        wall_clock: NOON,
    };
    let mut quotas = quotas(&both, None, NOON);
    quotas.update(moment, traffic(100, 2000), |_| None, None);
    let exchanged = |path: PathId| ["lte", "dsl"][path.index()];
    quotas.adjust(&both, exchanged, NOON, traffic(100, 2000));
    let input = |path, used| Input::PathUsed {
        path: PathId(path),
        used: Bytes(used),
        is_renewed: true,
    };
    assert_eq!(
        quotas.update(moment, traffic(105, 2007), |_| None, None),
        [input(0, 2005), input(1, 107)],
        "a path that was closed under the other name opens"
    );
    let counts: Vec<u64> = quotas
        .saved(true)
        .values()
        .map(|quota| quota.used)
        .collect();
    assert_eq!(counts, [107, 2005], "of dsl and lte");
}

#[test]
fn counts_of_other_names_are_kept() {
    let other = SavedQuota {
        since_day: 7,
        used: 77,
    };
    let saved: SavedQuotas = [("gone".to_owned(), other), ("dsl".to_owned(), other)].into();
    let mut quotas = Quotas::new(&tariffs(Renewal::Never), name, saved, NOON);
    update(&mut quotas, NOON, 10, 0);
    for is_last in [false, true] {
        let all = quotas.saved(is_last);
        assert_eq!((all.len(), all["gone"], all["dsl"]), (3, other, other));
    }
}

/// The endpoint closes a path when its count reaches the quota: so it gets as much more as the quota
/// exceeds what is in the file.
#[test]
fn a_path_carries_no_more_than_a_file_that_cannot_be_written_has() {
    let mut quotas = quotas(&tariffs(Renewal::Daily), None, NOON);
    quotas.start();
    update(&mut quotas, NOON, 5000, 0);
    let in_file = quotas.saved(false);
    let covered = in_file["lte"].used;
    let mut limited = |applies_below, wall_clock, bytes| {
        let moment = Moment {
            now: Time::ZERO,
            wall_clock,
        };
        let limit = Limit {
            saved: &in_file,
            applies_below,
        };
        let inputs = quotas.update(moment, traffic(bytes, 0), |_| None, Some(limit));
        (inputs, quotas.shift(PATH))
    };
    let shift = 50_000_000 - covered;
    // A slow write may be done in time.
    let slow = (used(covered, false), None);
    assert_eq!(limited(false, NOON, covered), slow);
    let beyond = (used(50_000_001, false), Some(shift));
    assert_eq!(limited(false, NOON, covered + 1), beyond);
    let below = (used(covered - 1 + shift, false), Some(shift));
    assert_eq!(limited(true, NOON, covered - 1), below);
    let reached = (used(50_000_000, false), Some(shift));
    assert_eq!(limited(true, NOON, covered), reached);
    // The file covers nothing of the next day.
    let renewed = (used(50_000_000, true), Some(50_000_000));
    assert_eq!(limited(true, NOON + DAY, covered), renewed);
    // It opens when the file is written.
    assert_eq!(
        update(&mut quotas, NOON + DAY, covered + 10, 0),
        used(10, true)
    );
    assert_eq!(quotas.shift(PATH), None);
}

#[test]
fn the_use_of_most_of_a_quota_is_logged_once_in_each_period() {
    let mut quotas = quotas(&tariffs(Renewal::Daily), None, NOON);
    let mut is_logged = |wall_clock, bytes| {
        update(&mut quotas, wall_clock, bytes, 0);
        quotas.paths[&PATH].is_logged()
    };
    assert!(!is_logged(NOON, 39_999_999));
    assert!(is_logged(NOON, 40_000_000));
    assert!(!is_logged(NOON + DAY, 40_000_000), "renewed");
    assert!(is_logged(NOON + DAY, 90_000_000));
}

/// A quota that is reduced below its use closes the path, which is logged by itself.
#[test]
fn the_use_of_most_of_a_quota_is_not_logged_of_a_closed_path() {
    let mut quotas = quotas(&tariffs(Renewal::Never), None, NOON);
    let mut is_logged = |is_closed| {
        let moment = Moment {
            now: Time::ZERO,
            wall_clock: NOON,
        };
        let usage = |_| Some(usage(40_000_000, is_closed));
        quotas.update(moment, traffic(40_000_000, 0), usage, None);
        quotas.paths[&PATH].is_logged()
    };
    assert!(!is_logged(true));
    assert!(is_logged(false), "the quota was raised");
}

#[test]
fn counts_without_a_path_are_logged_once_for_each_set_of_names() {
    let metered = tariffs(Renewal::Never);
    let saved = SavedQuota {
        since_day: 20_783,
        used: 1,
    };
    let former = [("lte".to_owned(), saved), ("old".to_owned(), saved)].into();
    let mut quotas = Quotas::new(&metered, name, former, NOON);
    assert_eq!(quotas.changed_unused().as_deref(), Some("old"));
    let mut reload = |tariffs: &Tariffs| {
        quotas.adjust(tariffs, name, NOON, traffic(0, 0));
        quotas.changed_unused()
    };
    assert_eq!(reload(&metered), None, "an unrelated change");
    let both = reload(&Tariffs::default());
    assert_eq!(both.as_deref(), Some("lte, old"));
    assert_eq!(reload(&Tariffs::default()), None);
    assert_eq!(reload(&metered).as_deref(), Some("old"));
}
