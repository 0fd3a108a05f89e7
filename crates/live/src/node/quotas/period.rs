//! The periods of a quota, in days since 1970-01-01 UTC.

use polypath_core::tariff::{Renewal, Tariff};
use time::{Date, Month, OffsetDateTime};

const SECONDS_PER_DAY: u64 = 86_400;

/// The day of a wall clock, in nanoseconds since 1970.
pub(super) fn day(wall_clock: u64) -> i32 {
    let days = wall_clock / 1_000_000_000 / SECONDS_PER_DAY;
    i32::try_from(days).unwrap_or(i32::MAX)
}

/// The first day of the period of `tariff` that contains the day `today`; `None` if there is only one
/// period.
pub(super) fn start(tariff: &Tariff, today: i32) -> Option<i32> {
    match tariff.renews {
        Renewal::Never => None,
        Renewal::Daily => Some(today),
        Renewal::Monthly => {
            let epoch = OffsetDateTime::UNIX_EPOCH.date().to_julian_day();
            let date = Date::from_julian_day(epoch.checked_add(today)?).ok()?;
            let day = tariff.day.unwrap_or(1);
            let (year, month) = match (date.day() >= day, date.month()) {
                (true, month) => (date.year(), month),
                (false, Month::January) => (date.year() - 1, Month::December),
                (false, month) => (date.year(), month.previous()),
            };
            let start = Date::from_calendar_date(year, month, day).ok()?;
            Some(start.to_julian_day() - epoch)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days since 1970, by `date -d 2026-11-26 +%s` divided by 86 400.
    const NOVEMBER_26_2026: i32 = 20_783;

    #[test]
    fn a_period_starts_on_its_day() {
        let of = |renews, day| Tariff {
            renews,
            day,
            ..Tariff::FREE
        };
        let today = NOVEMBER_26_2026;
        assert_eq!(start(&of(Renewal::Never, None), today), None);
        assert_eq!(start(&of(Renewal::Daily, None), today), Some(today));
        for (day, first) in [
            (None, today - 25),
            (Some(1), today - 25),
            (Some(26), today),
            // 27 October.
            (Some(27), today - 30),
        ] {
            let tariff = of(Renewal::Monthly, day);
            assert_eq!(start(&tariff, today), Some(first), "{day:?}");
        }
        // 1 January 2026 is 329 days before, 15 December 2025 another 17.
        let january = today - 329;
        let tariff = of(Renewal::Monthly, Some(15));
        assert_eq!(start(&tariff, january), Some(january - 17));
        // 28 February 2028, a leap year, is the last day of its period's first month.
        let tariff = of(Renewal::Monthly, Some(28));
        let leap_day = today + 460;
        assert_eq!(start(&tariff, leap_day), Some(leap_day - 1));
    }

    #[test]
    fn a_day_begins_at_midnight() {
        let midnight = 20_783 * SECONDS_PER_DAY * 1_000_000_000;
        assert_eq!(day(midnight), NOVEMBER_26_2026);
        assert_eq!(day(midnight - 1), NOVEMBER_26_2026 - 1);
        assert_eq!(start(&Tariff::FREE, day(u64::MAX)), None);
    }
}
