//! The periods of a quota, in days since 1970-01-01 UTC.

use polypath_core::tariff::{Renewal, Tariff};
use time::{Date, Month, OffsetDateTime};

const SECONDS_PER_DAY: u64 = 86_400;
/// The day 0.
const EPOCH: Date = OffsetDateTime::UNIX_EPOCH.date();

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
            let date = date(today)?;
            let day = tariff.day.unwrap_or(1);
            let (year, month) = match (date.day() >= day, date.month()) {
                (true, month) => (date.year(), month),
                (false, Month::January) => (date.year() - 1, Month::December),
                (false, month) => (date.year(), month.previous()),
            };
            let start = Date::from_calendar_date(year, month, day).ok()?;
            Some(start.to_julian_day() - EPOCH.to_julian_day())
        }
    }
}

/// The first day of the period of `tariff` after the one that contains `today`; `None` if there is
/// only one period.
pub(super) fn next(tariff: &Tariff, today: i32) -> Option<Date> {
    match tariff.renews {
        Renewal::Never => None,
        Renewal::Daily => date(today.checked_add(1)?),
        Renewal::Monthly => {
            let start = date(start(tariff, today)?)?;
            let (year, month) = match start.month() {
                Month::December => (start.year() + 1, Month::January),
                month => (start.year(), month.next()),
            };
            Date::from_calendar_date(year, month, start.day()).ok()
        }
    }
}

/// The date of a day.
pub(super) fn date(day: i32) -> Option<Date> {
    Date::from_julian_day(EPOCH.to_julian_day().checked_add(day)?).ok()
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
    fn the_next_period_follows_on_its_day() {
        let next = |renews, day, today| {
            let tariff = Tariff {
                renews,
                day,
                ..Tariff::FREE
            };
            next(&tariff, today).map(|date| date.to_string())
        };
        let today = NOVEMBER_26_2026;
        assert_eq!(next(Renewal::Never, None, today), None);
        let daily = next(Renewal::Daily, None, today);
        assert_eq!(daily.as_deref(), Some("2026-11-27"));
        for (day, today, expected) in [
            (None, today, "2026-12-01"),
            (Some(26), today, "2026-12-26"),
            (Some(28), today, "2026-11-28"),
            (Some(1), today + 10, "2027-01-01"),
        ] {
            let monthly = next(Renewal::Monthly, day, today);
            assert_eq!(monthly.as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_day_begins_at_midnight() {
        let midnight = 20_783 * SECONDS_PER_DAY * 1_000_000_000;
        assert_eq!(day(midnight), NOVEMBER_26_2026);
        assert_eq!(day(midnight - 1), NOVEMBER_26_2026 - 1);
        assert_eq!(start(&Tariff::FREE, day(u64::MAX)), None);
    }
}
