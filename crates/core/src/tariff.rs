//! The cost of paths, and the limits of what they carry.
//!
//! A path of a higher cost carries what those of lower costs do not. The policy
//! [`in-time`](crate::policy::InTime) follows this. The limits hold with every policy
//! ([`crate::metering`]).

use alloc::vec::Vec;

use crate::frame::PathId;
use crate::policy::PathSet;
use crate::units::{Bytes, Rate};

/// The lowest ceiling: heartbeats and reports take a part of it.
pub const MIN_CEILING: Rate = Rate(100_000);
/// The smallest quota: the path closes when less is left than may be in transit.
pub const MIN_QUOTA: Bytes = Bytes(100_000);
/// The highest ceiling: no path carries more.
pub const MAX_CEILING: Rate = Rate(1_000_000_000_000);
/// The largest quota: a path of 10 Gbit/s carries it in nine days.
pub const MAX_QUOTA: Bytes = Bytes(1_000_000_000_000_000);
/// The last day of a month on which a period may begin: every month has it.
pub const MAX_DAY: u8 = 28;

/// The cost of a path, and the limits of what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Tariff {
    /// The cost tier: a path carries data only while those of lower tiers do not suffice; 0 is
    /// free.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_zero"))]
    pub cost: u8,
    /// The most that this end sends on the path, in bytes on the wire per time.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", schemars(extend("x-maximum" = MAX_CEILING)))]
    pub ceiling: Option<Rate>,
    /// The most bytes on the wire that the path carries in both directions, from one renewal to the
    /// next.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", schemars(extend("x-maximum" = MAX_QUOTA, "examples" = ["20 GB"])))]
    pub quota: Option<Bytes>,
    /// The beginning of each period of the quota; a simulation has one period.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Renewal::is_never"))]
    pub renews: Renewal,
    /// The day of the month on which a monthly period begins, 1 to 28; 1 by default.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub day: Option<u8>,
}

/// The beginning of each period of a quota, at midnight UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Renewal {
    /// The quota is used once.
    #[default]
    Never,
    /// Every day.
    Daily,
    /// Every month, on the day that the tariff names.
    Monthly,
}

impl Renewal {
    /// Whether the quota is used once.
    #[must_use]
    pub fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

/// The error of an invalid tariff; each names its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TariffError {
    /// Less than heartbeats and reports need.
    #[error("a ceiling of {0} is too low: heartbeats and reports would take most of it")]
    Ceiling(Rate),
    /// More than any path carries.
    #[error("`ceiling` is {0}, but must be at most {MAX_CEILING}")]
    HighCeiling(Rate),
    /// Less than may be in transit.
    #[error(
        "a quota of {0} is too small: the path closes when as much is left as may be in transit"
    )]
    Quota(Bytes),
    /// More than any path carries in a period.
    #[error("`quota` is {0}, but must be at most {MAX_QUOTA}")]
    LargeQuota(Bytes),
    /// A period without a quota.
    #[error("`renews` needs a `quota` that is renewed")]
    RenewalWithoutQuota,
    /// A day without a month.
    #[error("`day` needs `renews = \"monthly\"`")]
    DayWithoutMonth,
    /// No day of every month.
    #[error("day {0} is not in every month")]
    Day(u8),
}

impl TariffError {
    /// The key of the invalid value.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Ceiling(_) | Self::HighCeiling(_) => "ceiling",
            Self::Quota(_) | Self::LargeQuota(_) => "quota",
            Self::RenewalWithoutQuota => "renews",
            Self::DayWithoutMonth | Self::Day(_) => "day",
        }
    }

    /// The correction.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Ceiling(_) => "use 100 kbit/s or more",
            Self::Quota(_) => "use 100 kB or more",
            Self::HighCeiling(_) | Self::LargeQuota(_) => "omit it if the path is not limited",
            Self::RenewalWithoutQuota => "give it one, as quota = \"20 GB\", or omit `renews`",
            Self::DayWithoutMonth => "omit it, or add renews = \"monthly\"",
            Self::Day(_) => "use 1 to 28",
        }
    }
}

impl Default for Tariff {
    fn default() -> Self {
        Self::FREE
    }
}

impl Tariff {
    /// A free path that carries any amount.
    pub const FREE: Self = Self {
        cost: 0,
        ceiling: None,
        quota: None,
        renews: Renewal::Never,
        day: None,
    };

    /// Whether the path is free and carries any amount.
    #[must_use]
    pub fn is_free(&self) -> bool {
        *self == Self::FREE
    }

    /// Whether what the path carries is limited.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.ceiling.is_some() || self.quota.is_some()
    }

    /// Checks the tariff.
    ///
    /// # Errors
    /// The first value that is out of range, or lacks the one that it belongs to.
    pub fn check(&self) -> Result<(), TariffError> {
        match self.ceiling {
            Some(low) if low < MIN_CEILING => return Err(TariffError::Ceiling(low)),
            Some(high) if high > MAX_CEILING => return Err(TariffError::HighCeiling(high)),
            _ => {}
        }
        match self.quota {
            Some(small) if small < MIN_QUOTA => return Err(TariffError::Quota(small)),
            Some(large) if large > MAX_QUOTA => return Err(TariffError::LargeQuota(large)),
            _ => {}
        }
        if self.quota.is_none() && self.renews != Renewal::Never {
            return Err(TariffError::RenewalWithoutQuota);
        }
        match self.day {
            Some(_) if self.renews != Renewal::Monthly => Err(TariffError::DayWithoutMonth),
            Some(day) if !(1..=MAX_DAY).contains(&day) => Err(TariffError::Day(day)),
            _ => Ok(()),
        }
    }
}

#[cfg(feature = "serde")]
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a field by reference"
)]
fn is_zero(cost: &u8) -> bool {
    *cost == 0
}

/// The tariffs of the paths, by their numbers; a path without one is free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tariffs(Vec<Tariff>);

impl Tariffs {
    /// The tariff of `path`.
    #[must_use]
    pub fn of(&self, path: PathId) -> Tariff {
        self.0.get(path.index()).copied().unwrap_or_default()
    }

    /// The cost tier of `path`.
    #[must_use]
    pub fn cost(&self, path: PathId) -> u8 {
        self.of(path).cost
    }

    /// Whether the traffic of any path is limited.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.0.iter().any(Tariff::is_limited)
    }

    /// The first error, with the index of its path.
    ///
    /// # Errors
    /// If a tariff is invalid ([`Tariff::check`]).
    pub fn check(&self) -> Result<(), (usize, TariffError)> {
        let mut tariffs = self.0.iter().enumerate();
        tariffs.try_for_each(|(index, tariff)| tariff.check().map_err(|error| (index, error)))
    }

    /// Those of `paths` that cost at most `cost`.
    #[must_use]
    pub fn up_to(&self, cost: u8, paths: PathSet) -> PathSet {
        if self.0.is_empty() {
            return paths;
        }
        paths
            .into_iter()
            .filter(|path| self.cost(*path) <= cost)
            .collect()
    }

    /// Those of `paths` that cost least.
    #[must_use]
    pub fn cheapest(&self, paths: PathSet) -> PathSet {
        let least = paths.into_iter().map(|path| self.cost(path)).min();
        least.map_or(paths, |least| self.up_to(least, paths))
    }

    /// Whether the paths cost the same as with `other`.
    #[must_use]
    pub fn cost_like(&self, other: &Self) -> bool {
        let most = self.0.len().max(other.0.len());
        let mut paths = (0..).map(PathId).take(most);
        paths.all(|path| self.cost(path) == other.cost(path))
    }
}

impl FromIterator<Tariff> for Tariffs {
    /// Tariffs of paths 0, 1 and so on; none if all are free.
    fn from_iter<I: IntoIterator<Item = Tariff>>(tariffs: I) -> Self {
        let all: Vec<_> = tariffs.into_iter().collect();
        let is_free = all.iter().all(Tariff::is_free);
        Self(if is_free { Vec::new() } else { all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_order_paths() {
        let costs = |costs: &[u8]| {
            let tariff = |cost: &u8| Tariff {
                cost: *cost,
                ..Tariff::default()
            };
            costs.iter().map(tariff).collect::<Tariffs>()
        };
        let set = |paths: &[u8]| paths.iter().map(|path| PathId(*path)).collect::<PathSet>();
        let tariffs = costs(&[0, 2, 1, 2]);
        assert_eq!(tariffs.cheapest(set(&[1, 2, 3])), set(&[2]));
        assert_eq!(tariffs.cheapest(set(&[1, 3])), set(&[1, 3]));
        assert_eq!(tariffs.cheapest(PathSet::EMPTY), PathSet::EMPTY);
        assert_eq!(tariffs.up_to(1, set(&[0, 1, 2, 3])), set(&[0, 2]));
        // Paths beyond the list are free.
        assert_eq!(tariffs.cheapest(set(&[1, 9])), set(&[9]));
        assert_eq!(costs(&[0, 0]), Tariffs::default());
    }

    #[test]
    fn invalid_tariffs_are_refused() {
        let monthly = Tariff {
            ceiling: Some(MIN_CEILING),
            quota: Some(MIN_QUOTA),
            renews: Renewal::Monthly,
            day: Some(28),
            ..Tariff::default()
        };
        let most = Tariff {
            ceiling: Some(MAX_CEILING),
            quota: Some(MAX_QUOTA),
            ..monthly
        };
        assert_eq!([monthly.check(), most.check()], [Ok(()); 2]);
        let invalid = [
            Tariff {
                ceiling: Some(Rate(99_999)),
                ..monthly
            },
            Tariff {
                ceiling: Some(Rate(MAX_CEILING.0 + 1)),
                ..monthly
            },
            Tariff {
                quota: Some(Bytes(99_999)),
                ..monthly
            },
            Tariff {
                quota: Some(Bytes(MAX_QUOTA.0 + 1)),
                ..monthly
            },
            Tariff {
                quota: None,
                ..monthly
            },
            Tariff {
                renews: Renewal::Daily,
                ..monthly
            },
            Tariff {
                day: Some(29),
                ..monthly
            },
            Tariff {
                day: Some(0),
                ..monthly
            },
        ];
        let keys = invalid.map(|tariff| tariff.check().unwrap_err().key());
        let wanted = [
            "ceiling", "ceiling", "quota", "quota", "renews", "day", "day", "day",
        ];
        assert_eq!(keys, wanted);
    }
}
