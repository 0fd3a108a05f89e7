//! Differences to a baseline, and the one rule that decides whether one is shown.

use crate::statistics::Estimate;

/// The mark of a difference whose 95 % interval includes zero.
pub const NO_DIFFERENCE: &str = "n.s.";

/// The explanation of [`NO_DIFFERENCE`].
pub const NO_DIFFERENCE_MEANING: &str =
    "n.s. (not significant): no difference is shown, the 95 % interval includes zero";

/// A mean difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean and its interval, with the timeout for each transfer that timed out.
    pub estimate: Estimate,
    /// The relation of the mean to the true mean.
    pub bound: Bound,
}

/// The relation of a mean to the true mean, given that timed-out transfers count with the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No transfer timed out: an unbiased estimate.
    Exact,
    /// The true mean is greater or equal.
    AtLeast,
    /// The true mean is less or equal.
    AtMost,
    /// The true mean can be on either side.
    Neither,
}

/// The relation of a quantity to that of a baseline, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is less.
    Less,
    /// It is greater.
    Greater,
    /// The interval of the difference includes zero.
    NoDifference,
    /// There is a single value, and so no interval.
    NoInterval,
    /// Transfers that timed out can reverse the relation, or a value is not finite.
    Unknown,
}

impl Difference {
    /// An unbiased difference.
    #[must_use]
    pub const fn exact(estimate: Estimate) -> Self {
        Self {
            estimate,
            bound: Bound::Exact,
        }
    }

    /// The difference of a ratio to one.
    #[must_use]
    pub fn of_ratio(ratio: Estimate) -> Self {
        Self::exact(Estimate {
            mean: ratio.mean - 1.0,
            ..ratio
        })
    }

    /// The difference in another unit: the values times `factor`, which is more than 0.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            estimate: self.estimate.scaled(factor),
            ..self
        }
    }

    /// Whether the 95 % interval includes zero, whatever the bound; `None` without an interval.
    /// Marks and keys follow from this, sentences from [`Self::verdict`].
    #[must_use]
    pub fn includes_zero(&self) -> Option<bool> {
        self.estimate.includes(0.0)
    }

    /// Whether the difference has the mark [`NO_DIFFERENCE`] in tables.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.includes_zero() == Some(true)
    }

    /// Its verdict in a sentence.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let Self { estimate, bound } = self;
        let is_infinite = estimate.ci95.is_some_and(|half| !half.is_finite());
        if !estimate.mean.is_finite() || is_infinite {
            return Verdict::Unknown;
        }
        let verdict = match self.includes_zero() {
            None => Verdict::NoInterval,
            Some(true) => Verdict::NoDifference,
            Some(false) if estimate.mean < 0.0 => Verdict::Less,
            Some(false) => Verdict::Greater,
        };
        // A bound on the side of zero leaves both relations possible.
        let is_certain = match bound {
            Bound::Exact => true,
            Bound::AtLeast => estimate.mean > 0.0 && verdict != Verdict::NoDifference,
            Bound::AtMost => estimate.mean < 0.0 && verdict != Verdict::NoDifference,
            Bound::Neither => false,
        };
        if is_certain {
            verdict
        } else {
            Verdict::Unknown
        }
    }
}

impl Bound {
    /// The bound for the mean of `a - b` if values of `a` or `b` are censored at the timeout.
    pub(crate) fn of_difference(a_is_cut: bool, b_is_cut: bool) -> Self {
        match (a_is_cut, b_is_cut) {
            (false, false) => Self::Exact,
            (true, false) => Self::AtLeast,
            (false, true) => Self::AtMost,
            (true, true) => Self::Neither,
        }
    }

    /// The bound on the mean transfer time of a scheme with this number of transfers that timed
    /// out.
    pub(crate) fn of_time(timed_out: usize) -> Self {
        Self::of_difference(timed_out > 0, false)
    }

    /// The bound on the mean pre-buffer, likewise.
    pub(crate) fn of_prebuffer(timed_out: usize) -> Self {
        Self::of_difference(timed_out > 0, timed_out > 0)
    }

    /// The name in `report.json`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtLeast => "at-least",
            Self::AtMost => "at-most",
            Self::Neither => "neither",
        }
    }

    /// The bound with a name in `report.json`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Exact, Self::AtLeast, Self::AtMost, Self::Neither];
        all.into_iter().find(|bound| bound.name() == name)
    }

    /// The mark before a value in tables.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => ">= ",
            Self::AtMost => "<= ",
            Self::Neither => "~ ",
        }
    }
}
