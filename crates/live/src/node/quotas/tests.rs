use super::*;
use crate::stats::Volume;
use polypath_core::tariff::Renewal;

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
    quotas.update(Time::ZERO, wall_clock, traffic(sent, received))
}

fn used(bytes: u64, is_renewed: bool) -> Vec<Input> {
    vec![Input::PathUsed {
        path: PATH,
        used: Bytes(bytes),
        is_renewed,
    }]
}

/// The count of the path that is saved.
fn saved(quotas: &Quotas, is_last: bool) -> SavedQuota {
    let all: Vec<_> = quotas.saved(is_last).collect();
    assert_eq!(all.len(), 1);
    all[0].1
}

#[test]
fn a_path_is_counted_in_both_directions_across_runs() {
    let mut quotas = Quotas::new(&tariffs(Renewal::Never), |_| None, NOON);
    assert_eq!(update(&mut quotas, NOON, 0, 0), used(0, false));
    assert_eq!(update(&mut quotas, NOON, 1000, 200), used(1200, false));
    assert_eq!(update(&mut quotas, NOON, 1000, 200), [], "nothing new");
    let last = saved(&quotas, true);
    assert_eq!(last.used, 1200);
    // The counters of the next run begin at 0.
    let mut quotas = Quotas::new(&tariffs(Renewal::Never), |_| Some(last), NOON + 400 * DAY);
    assert_eq!(
        update(&mut quotas, NOON + 400 * DAY, 0, 50),
        used(1250, false)
    );
}

#[test]
fn more_is_saved_than_was_used_whenever_the_node_may_be_killed() {
    let mut quotas = Quotas::new(&tariffs(Renewal::Never), |_| None, NOON);
    let (mut sent, mut writes, mut last) = (0, 0, 0);
    for step in 0..400 {
        update(&mut quotas, NOON, sent, 0);
        let granted = saved(&quotas, false).used;
        assert!(granted >= sent + MIN_CHUNK / 2, "{granted} of {sent}");
        assert!(granted <= sent + 2_500_000, "{granted} of {sent}");
        writes += u32::from(granted != last);
        last = granted;
        // 100 kB in 100 ms, then 10 kB.
        sent += if step < 200 { 100_000 } else { 10_000 };
    }
    assert!(writes < 40, "{writes}");
}

#[test]
fn a_quota_is_renewed_with_its_period() {
    let mut quotas = Quotas::new(&tariffs(Renewal::Daily), |_| None, NOON);
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
        let mut next = Quotas::new(&tariffs(Renewal::Daily), |_| Some(last), now);
        assert_eq!(update(&mut next, now, 0, 0), expected, "{days} days later");
    }
}

/// A machine without a battery-backed clock starts in the past.
#[test]
fn a_clock_that_is_set_back_renews_nothing() {
    let mut quotas = Quotas::new(&tariffs(Renewal::Daily), |_| None, NOON);
    update(&mut quotas, NOON, 5000, 0);
    let last = saved(&quotas, true);
    let mut next = Quotas::new(&tariffs(Renewal::Daily), |_| Some(last), 0);
    assert_eq!(update(&mut next, 0, 0, 0), used(5000, false));
}

#[test]
fn another_quota_keeps_the_count() {
    let mut quotas = Quotas::new(&tariffs(Renewal::Never), |_| None, NOON);
    update(&mut quotas, NOON, 5000, 0);
    quotas.adjust(&tariffs(Renewal::Monthly), NOON, traffic(5500, 0));
    assert!(quotas.is_due(Time::ZERO));
    assert_eq!(update(&mut quotas, NOON, 6000, 0), used(6000, false));
    quotas.adjust(&Tariffs::default(), NOON, traffic(7000, 0));
    assert!(!quotas.is_due(Time::MAX));
    assert_eq!(quotas.saved(false).count(), 0);
    // A new one counts from now on.
    quotas.adjust(&tariffs(Renewal::Never), NOON, traffic(8000, 0));
    assert_eq!(update(&mut quotas, NOON, 8100, 0), used(100, false));
}
