//! Sets of paths.

use crate::frame::PathId;

/// A set of up to 64 paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathSet(u64);

impl PathSet {
    /// No path.
    pub const EMPTY: Self = Self(0);
    /// The maximum number of paths; path numbers are below it.
    pub const CAPACITY: u8 = 64;

    /// The first `n` paths, at most [`Self::CAPACITY`].
    #[must_use]
    pub const fn first(n: u8) -> Self {
        if n >= Self::CAPACITY {
            Self(u64::MAX)
        } else {
            Self((1 << n) - 1)
        }
    }

    /// The set of one path; empty if its number is not below the capacity.
    #[must_use]
    pub const fn only(path: PathId) -> Self {
        if path.0 >= Self::CAPACITY {
            Self(0)
        } else {
            Self(1 << path.0)
        }
    }

    /// The set with `path` added.
    #[must_use]
    pub const fn with(self, path: PathId) -> Self {
        Self(self.0 | Self::only(path).0)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The paths of `self` that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the path is in the set.
    #[must_use]
    pub const fn contains(self, path: PathId) -> bool {
        self.0 & Self::only(path).0 != 0
    }

    /// The set of `preferred` alone if it is a member, otherwise of the lowest member; empty if
    /// there is none.
    #[must_use]
    pub const fn preferred_or_lowest(self, preferred: PathId) -> Self {
        if self.contains(preferred) {
            Self::only(preferred)
        } else {
            Self(self.0 & self.0.wrapping_neg())
        }
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of paths in the set.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }
}

impl IntoIterator for PathSet {
    type Item = PathId;
    type IntoIter = Members;

    fn into_iter(self) -> Members {
        Members(self.0)
    }
}

impl FromIterator<PathId> for PathSet {
    fn from_iter<I: IntoIterator<Item = PathId>>(paths: I) -> Self {
        paths.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// The paths of a set, lowest first.
#[derive(Clone, Debug)]
pub struct Members(u64);

impl Iterator for Members {
    type Item = PathId;

    #[inline]
    fn next(&mut self) -> Option<PathId> {
        if self.0 == 0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "there are 64 bits")]
        let lowest = self.0.trailing_zeros() as u8;
        self.0 &= self.0 - 1;
        Some(PathId(lowest))
    }
}
