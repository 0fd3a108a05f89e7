//! Points in time and spans of it, in integer nanoseconds.
//!
//! There is no `now()`: the driver of a machine passes the time, so that a machine runs alike on
//! virtual time, in a replay and on the real clock.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub};

/// A point in time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Time(pub u64);

/// A span of time in nanoseconds; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event of any run (about 584 years).
    pub const MAX: Time = Time(u64::MAX);

    /// The span from `earlier` to `self`, zero if `earlier` is later than `self`.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start of the run.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        Duration(self.0).as_secs_f64()
    }
}

impl Duration {
    /// The empty span.
    pub const ZERO: Duration = Duration(0);
    /// The longest span, about 584 years.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of whole nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of whole microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// A span of whole milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// A span of `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, as intended for out-of-range spans"
    )]
    pub fn from_secs_f64(s: f64) -> Self {
        Self(libm::round(s * 1e9) as u64)
    }

    /// The span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self` times `numerator / denominator`, rounded down, without intermediate overflow.
    ///
    /// A zero denominator gives [`Duration::MAX`].
    #[must_use]
    pub fn scale(self, numerator: u64, denominator: u64) -> Self {
        if denominator == 0 {
            return Self::MAX;
        }
        let scaled = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(durations: I) -> Self {
        durations.fold(Self::ZERO, Add::add)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, times: u64) -> Duration {
        Duration(self.0.saturating_mul(times))
    }
}

/// The same span for timers of the standard library.
impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}
