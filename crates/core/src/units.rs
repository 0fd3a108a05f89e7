//! Rates and sizes as types, with the notation of scenario and node files.
//!
//! Decimal prefixes are powers of ten (`100 kB` is 100 000 bytes, `10 Mbit/s` is 10^7 bits per
//! second), as usual in networking; `KiB`, `MiB`, `GiB` and `TiB` are powers of two.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use crate::time::Duration;

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Rate {
    /// A rate of `n` megabits (10^6 bits) per second.
    #[must_use]
    pub const fn from_mbits(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// The transmission time of `size` at this rate, rounded to the nearest nanosecond.
    ///
    /// [`Duration::MAX`] at a rate of zero.
    #[must_use]
    pub fn transmission_time(self, size: Bytes) -> Duration {
        const NS_PER_S: u64 = 1_000_000_000;
        match size.0.checked_mul(8 * NS_PER_S) {
            Some(bit_ns) if self.0 > 0 => Duration(bit_ns.saturating_add(self.0 / 2) / self.0),
            _ => Duration(size.0.saturating_mul(8)).scale(NS_PER_S, self.0),
        }
    }

    /// The bytes sent in `span` at this rate, rounded down: the inverse of
    /// [`transmission_time`](Self::transmission_time).
    #[must_use]
    pub fn bytes_in(self, span: Duration) -> Bytes {
        Bytes(span.scale(self.0, 8_000_000_000).0)
    }

    /// The mean rate of `size` over `span`, rounded down; `None` if `span` is zero.
    #[must_use]
    pub fn average(size: Bytes, span: Duration) -> Option<Self> {
        const NS_PER_S: u128 = 1_000_000_000;
        let bits = u128::from(size.0) * 8 * NS_PER_S;
        u64::try_from(bits.checked_div(u128::from(span.0))?)
            .ok()
            .map(Self)
    }

    /// The rate in bits per second.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

/// A quantity that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}: write {example}")]
pub struct ParseUnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

/// Parses a number followed by one of `units`, each with its factor.
fn parse(
    text: &str,
    units: &[(&str, f64)],
    what: &'static str,
    example: &'static str,
) -> Result<u64, ParseUnitError> {
    let error = || ParseUnitError {
        text: text.to_string(),
        what,
        example,
    };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
        .ok_or_else(error)?;
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.replace('_', "").parse().map_err(|_| error())?;
    let factor = units
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .map(|(_, f)| *f)
        .ok_or_else(error)?;
    let value = libm::round(number * factor);
    if !(0.0..=9.0e18).contains(&value) {
        return Err(error());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "range checked"
    )]
    Ok(value as u64)
}

impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [
            ("bit/s", 1.0),
            ("kbit/s", 1e3),
            ("Mbit/s", 1e6),
            ("Gbit/s", 1e9),
            ("b/s", 1.0),
            ("kb/s", 1e3),
            ("Mb/s", 1e6),
            ("Gb/s", 1e9),
        ];
        parse(
            text,
            &units,
            "rate",
            "for example \"10 Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)",
        )
        .map(Rate)
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("TB", 1e12),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
            ("TiB", 1_099_511_627_776.0),
        ];
        parse(
            text,
            &units,
            "size",
            "for example \"100 kB\" (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)",
        )
        .map(Bytes)
    }
}

impl FromStr for Duration {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [
            ("ns", 1.0),
            ("us", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
            ("min", 60e9),
            ("h", 3600e9),
        ];
        parse(
            text,
            &units,
            "duration",
            "for example \"20 ms\" (ns, us, ms, s, min, h)",
        )
        .map(Duration)
    }
}

/// Formats `value` with the largest unit that gives a number of at least one.
fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (factor, unit) = units
        .iter()
        .find(|(factor, _)| value >= *factor)
        .or(units.last())
        .copied()
        .unwrap_or((1, ""));
    if value.is_multiple_of(factor) {
        return f.pad(&format!("{} {unit}", value / factor));
    }
    f.pad(&format!("{} {unit}", value as f64 / factor as f64))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (1_000_000_000, "Gbit/s"),
            (1_000_000, "Mbit/s"),
            (1_000, "kbit/s"),
            (1, "bit/s"),
        ];
        scaled(f, self.0, &units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(
            f,
            self.0,
            &[
                (1_000_000_000_000, "TB"),
                (1_000_000_000, "GB"),
                (1_000_000, "MB"),
                (1_000, "kB"),
                (1, "B"),
            ],
        )
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nobody writes zero in nanoseconds.
        if self.0 == 0 {
            return f.pad("0 s");
        }
        scaled(
            f,
            self.0,
            &[
                (1_000_000_000, "s"),
                (1_000_000, "ms"),
                (1_000, "us"),
                (1, "ns"),
            ],
        )
    }
}

#[cfg(feature = "serde")]
mod serialised {
    use super::{Bytes, Duration, Rate, ToString};
    use alloc::borrow::Cow;
    use alloc::string::String;
    use serde::de::Error;

    macro_rules! as_text {
        ($unit:ty, $name:literal, $description:literal) => {
            impl<'de> serde::Deserialize<'de> for $unit {
                fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                    String::deserialize(d)?.parse().map_err(D::Error::custom)
                }
            }
            impl serde::Serialize for $unit {
                fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                    s.serialize_str(&self.to_string())
                }
            }
            impl schemars::JsonSchema for $unit {
                fn schema_name() -> Cow<'static, str> {
                    $name.into()
                }
                fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    schemars::json_schema!({ "type": "string", "description": $description })
                }
            }
        };
    }
    as_text!(
        Rate,
        "Rate",
        "a number and bit/s, kbit/s, Mbit/s or Gbit/s: \"10 Mbit/s\""
    );
    as_text!(
        Bytes,
        "Bytes",
        "a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB: \"100 kB\""
    );
    as_text!(
        Duration,
        "Duration",
        "a number and ns, us, ms, s, min or h: \"20 ms\""
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_parsed() {
        assert_eq!("10 Mbit/s".parse(), Ok(Rate::from_mbits(10)));
        assert_eq!("1.5Mb/s".parse(), Ok(Rate(1_500_000)));
        assert_eq!("100 kB".parse(), Ok(Bytes(100_000)));
        assert_eq!("1 KiB".parse(), Ok(Bytes(1024)));
        assert_eq!("20 GiB".parse(), Ok(Bytes(20 << 30)));
        assert_eq!("1.5TiB".parse(), Ok(Bytes(3 << 39)));
        assert_eq!("2 TB".parse(), Ok(Bytes(2_000_000_000_000)));
        assert_eq!(Bytes(2_000_000_000_000).to_string(), "2 TB");
        assert_eq!("20 ms".parse(), Ok(Duration::from_millis(20)));
        assert_eq!("2 min".parse(), Ok(Duration::from_secs(120)));
    }

    #[test]
    fn errors_name_the_expected_notation() {
        let error = "10 Mbps".parse::<Rate>().unwrap_err().to_string();
        assert!(
            error.contains("`10 Mbps` is not a rate") && error.contains("Mbit/s"),
            "{error}"
        );
        for bad in [
            "",
            "ms",
            "-3 ms",
            "10",
            "1e3 ms",
            "99999999999999 h",
            "1.2.3 s",
            "NaN s",
        ] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
    }

    #[test]
    fn transmission_time_and_average_rate_are_inverse() {
        assert_eq!(
            Rate::from_mbits(10).transmission_time(Bytes(1000)),
            Duration::from_micros(800)
        );
        assert_eq!(Rate(3).transmission_time(Bytes(1)), Duration(2_666_666_667));
        assert_eq!(Rate(0).transmission_time(Bytes(1)), Duration::MAX);
        let huge = Rate(1_000_000_000).transmission_time(Bytes(10_000_000_000));
        assert_eq!(huge, Duration::from_secs(80));
        assert_eq!(
            Rate::average(Bytes(1000), Duration::from_micros(800)),
            Some(Rate::from_mbits(10))
        );
        assert_eq!(Rate::average(Bytes(1000), Duration::ZERO), None);
    }

    proptest! {
        #[test]
        fn formatted_quantities_are_parsed_back(ns in 0_u64..1 << 50) {
            let read = Duration(ns).to_string().parse::<Duration>().unwrap();
            prop_assert!(read.0.abs_diff(ns) <= ns >> 50);
            let rate = Rate(ns).to_string().parse::<Rate>().unwrap();
            prop_assert!(rate.0.abs_diff(ns) <= ns >> 50);
        }
    }
}
