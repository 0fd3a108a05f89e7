//! The cost of paths.
//!
//! A path of a higher cost carries what those of lower costs do not. The policy
//! [`in-time`](crate::policy::InTime) follows this.

use alloc::vec::Vec;

use crate::frame::PathId;
use crate::policy::PathSet;

/// The cost of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Tariff {
    /// The cost tier: a path carries data only while those of lower tiers do not suffice; 0 is free.
    pub cost: u8,
}

impl Tariff {
    /// Whether the path is free.
    #[must_use]
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }
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
            let tariff = |cost: &u8| Tariff { cost: *cost };
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
}
