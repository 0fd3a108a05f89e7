//! The conclusion of a report in plain words, with the figures that it rests on: one comparison
//! with a baseline for transfers, networks and sweeps alike.

pub(crate) mod numbers;
#[cfg(test)]
mod tests;
pub mod transfers;

use crate::chart::wrap;
use crate::figures::{Bound, Difference};
use crate::statistics::Estimate;

/// The mark of a difference whose 95 % interval includes zero.
pub const NO_DIFFERENCE: &str = "n.s.";

/// The explanation of [`NO_DIFFERENCE`].
pub const NO_DIFFERENCE_MEANING: &str =
    "n.s. (not significant): no difference is shown, the 95 % interval includes zero";

/// The usual limit of comparisons that are listed one by one.
pub(crate) const LISTED: usize = 4;

/// The names that a count of comparisons is followed by, at most.
const NAMED: usize = 3;

/// The width of a line on a terminal.
const LINE: f64 = 78.0;

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

/// A quantity compared with that of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The subject of the sentence.
    pub subject: String,
    /// Its name in a list.
    pub name: String,
    /// Its quantity minus that of the baseline.
    pub difference: Difference,
    /// The transfers that timed out, if any did.
    pub timed_out: Option<String>,
}

/// The words for a kind of comparison; each predicate follows the subject and names the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Wording {
    /// The predicate of a subject that has less.
    pub less: String,
    /// The predicate of a subject that has more.
    pub greater: String,
    /// The predicate without a difference.
    pub same: String,
    /// The unit of the difference.
    pub unit: &'static str,
    /// The factor from the values to the unit.
    pub scale: f64,
    /// The common subject of several comparisons, before their number; may be empty.
    pub subject: String,
    /// The word for several comparisons.
    pub plural: &'static str,
    /// Comparisons up to this number are listed one by one; of more, those with the same verdict
    /// are counted.
    pub listed: usize,
}

impl Verdict {
    /// The verdict on a difference.
    #[must_use]
    pub fn of(difference: Difference) -> Self {
        let Difference { estimate, bound } = difference;
        let is_infinite = estimate.ci95.is_some_and(|half| !half.is_finite());
        if !estimate.mean.is_finite() || is_infinite {
            return Self::Unknown;
        }
        let verdict = match estimate.includes(0.0) {
            None => Self::NoInterval,
            Some(true) => Self::NoDifference,
            Some(false) if estimate.mean < 0.0 => Self::Less,
            Some(false) => Self::Greater,
        };
        // A bound on the side of zero leaves both relations possible.
        let is_certain = match bound {
            Bound::Exact => true,
            Bound::AtLeast => estimate.mean > 0.0 && verdict != Self::NoDifference,
            Bound::AtMost => estimate.mean < 0.0 && verdict != Self::NoDifference,
            Bound::Neither => false,
        };
        if is_certain { verdict } else { Self::Unknown }
    }
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

    /// Whether the 95 % interval includes zero; `None` without an interval.
    #[must_use]
    pub fn includes_zero(&self) -> Option<bool> {
        self.estimate.includes(0.0)
    }
}

/// A sentence about comparisons with one baseline, without its period; `None` if there are none.
#[must_use]
pub fn sentence(comparisons: &[Comparison], wording: &Wording) -> Option<String> {
    if comparisons.is_empty() {
        return None;
    }
    if comparisons.len() <= wording.listed {
        let clauses = comparisons.iter().map(|one| wording.clause(one));
        return Some(clauses.collect::<Vec<String>>().join("; "));
    }
    let mut by_verdict: Vec<(Verdict, &Comparison)> = comparisons
        .iter()
        .map(|one| (Verdict::of(one.difference), one))
        .collect();
    by_verdict.sort_by_key(|(verdict, _)| *verdict);
    let groups = by_verdict.chunk_by(|a, b| a.0 == b.0);
    let clauses = groups.map(|group| {
        let members: Vec<&Comparison> = group.iter().map(|(_, one)| *one).collect();
        wording.count(group[0].0, &members, comparisons.len())
    });
    Some(clauses.collect::<Vec<String>>().join("; "))
}

/// The sentences of a conclusion as lines of a terminal.
#[must_use]
pub fn lines(sentences: &[String]) -> String {
    let text = format!("conclusion: {}", sentences.join(" "));
    wrap(&text, LINE).join("\n") + "\n"
}

impl Wording {
    /// A clause about one comparison.
    fn clause(&self, one: &Comparison) -> String {
        let Comparison {
            subject,
            difference: Difference { estimate, bound },
            ..
        } = one;
        let because = one.timed_out.as_deref().unwrap_or("a value is not finite");
        let predicate = self.predicate(*estimate);
        let numbers = numbers::Numbers::of(*estimate, self.scale);
        let unit = self.unit;
        match Verdict::of(one.difference) {
            Verdict::Unknown => {
                format!("{subject} cannot be compared, since {because}")
            }
            Verdict::NoDifference => {
                let [low, high] = numbers.ends();
                let same = &self.same;
                format!("{subject} {same} ({low} to {high} {unit} includes zero)")
            }
            Verdict::NoInterval if estimate.mean == 0.0 => format!("{subject} {}", self.same),
            Verdict::Less | Verdict::Greater | Verdict::NoInterval if *bound != Bound::Exact => {
                let size = numbers.size();
                format!("{subject} {predicate} by at least {size} {unit}, since {because}")
            }
            Verdict::NoInterval => format!("{subject} {predicate} by {} {unit}", numbers.size()),
            Verdict::Less | Verdict::Greater => {
                let (size, [low, high]) = (numbers.size(), numbers.sizes_of_ends());
                format!(
                    "{subject} {predicate} by {size} {unit} (95 % confidence: {low} to {high} {unit})"
                )
            }
        }
    }

    fn predicate(&self, difference: Estimate) -> &str {
        if difference.mean < 0.0 {
            &self.less
        } else {
            &self.greater
        }
    }

    /// A clause about several comparisons with the same verdict, of `all`.
    fn count(&self, verdict: Verdict, members: &[&Comparison], all: usize) -> String {
        let (common, plural) = (&self.subject, self.plural);
        let among = if members.len() == all {
            format!("{common}all {all} {plural}")
        } else {
            format!("{common}{} of {all} {plural}", members.len())
        };
        let names = listed(members);
        match verdict {
            Verdict::Less | Verdict::Greater => {
                let predicate = self.predicate(members[0].difference.estimate);
                format!(
                    "{among} {predicate}, {} with 95 % confidence each",
                    self.range(members)
                )
            }
            Verdict::NoDifference => {
                format!(
                    "{among} {} (the intervals include zero: {names})",
                    self.same
                )
            }
            Verdict::NoInterval => format!("{among} have no interval: {names}"),
            Verdict::Unknown => format!("{among} cannot be compared: {names}"),
        }
    }

    /// The least and the greatest difference.
    fn range(&self, members: &[&Comparison]) -> String {
        let size = |one: &Comparison| one.difference.estimate.mean.abs();
        let mut sorted = members.to_vec();
        sorted.sort_by(|a, b| size(a).total_cmp(&size(b)));
        let text = |one: &Comparison| {
            let numbers = numbers::Numbers::of(one.difference.estimate, self.scale);
            format!("{} {} ({})", numbers.size(), self.unit, one.name)
        };
        match sorted[..] {
            [only] => format!("by {}", text(only)),
            _ => format!(
                "by {} to {}",
                text(sorted[0]),
                text(sorted[sorted.len() - 1])
            ),
        }
    }
}

/// The first names, and the number of the others.
fn listed(members: &[&Comparison]) -> String {
    let names = members.iter().take(NAMED).map(|one| one.name.as_str());
    let names = names.collect::<Vec<&str>>().join(", ");
    match members.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}
