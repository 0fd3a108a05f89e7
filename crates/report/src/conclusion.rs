//! The conclusion of a report in plain words, with the figures that it rests on: one comparison
//! with a baseline for transfers, networks and sweeps alike.

pub(crate) mod numbers;
#[cfg(test)]
mod tests;
pub mod transfers;

use crate::chart::wrap;
use crate::difference::{Bound, Difference, Verdict};
use crate::figures::BASELINE;
use crate::statistics::Estimate;

/// The usual limit of comparisons that are listed one by one.
pub(crate) const LISTED: usize = 8;

/// The names that a count of comparisons is followed by, at most.
const NAMED: usize = 3;

/// The width of a line on a terminal.
const LINE: f64 = 78.0;

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
    /// The verb of the predicates `less` and `greater` of one subject.
    pub verb: &'static str,
    /// The verb of several subjects.
    pub verb_of_several: &'static str,
    /// The predicate of a subject that has less, after the verb.
    pub less: String,
    /// The predicate of a subject that has more, after the verb.
    pub greater: String,
    /// The predicate without a difference: the run shows none, which does not exclude one.
    pub same: String,
    /// The possible values of the difference, before the factor.
    pub range: [f64; 2],
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
        .map(|one| (one.difference.verdict(), one))
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
    /// The words for transfer times of several schemes, compared with that of [`BASELINE`].
    #[must_use]
    pub fn of_times() -> Self {
        Self {
            verb: "was",
            verb_of_several: "were",
            less: format!("faster than {BASELINE}"),
            greater: format!("slower than {BASELINE}"),
            same: format!("showed no difference from {BASELINE}"),
            range: numbers::ANY,
            unit: "s",
            scale: 1.0,
            subject: String::new(),
            plural: "schemes",
            listed: LISTED,
        }
    }

    /// A clause about one comparison.
    fn clause(&self, one: &Comparison) -> String {
        let Comparison {
            subject,
            difference: Difference { estimate, bound },
            ..
        } = one;
        let because = one.timed_out.as_deref().unwrap_or("a value is not finite");
        let is = format!("{subject} {} {}", self.verb, self.predicate(*estimate));
        let same = format!("{subject} {}", self.same);
        let numbers = self.numbers(one);
        let (size, unit) = (numbers.size(), self.unit);
        match one.difference.verdict() {
            Verdict::Unknown => {
                format!("{subject} cannot be compared, since {because}")
            }
            Verdict::NoDifference => {
                let [low, high] = numbers.ends();
                if low == high {
                    return format!("{same} (exactly {size} {unit})");
                }
                format!("{same} ({low} to {high} {unit} includes zero)")
            }
            Verdict::NoInterval if estimate.mean == 0.0 => same,
            Verdict::NoInterval if *bound != Bound::Exact => {
                format!("{is} by at least {size} {unit}, since {because}")
            }
            Verdict::Less | Verdict::Greater if *bound != Bound::Exact => {
                let low = numbers.sizes_of_ends().map_or(size, |[low, _]| low);
                format!("{is} by at least {low} {unit} (95 % confidence), since {because}")
            }
            Verdict::NoInterval => format!("{is} by {size} {unit}"),
            Verdict::Less | Verdict::Greater => match numbers.sizes_of_ends() {
                Some([low, high]) => {
                    format!("{is} by {size} {unit} (95 % confidence: {low} to {high} {unit})")
                }
                None => format!("{is} by {size} {unit} (95 % confidence)"),
            },
        }
    }

    fn numbers(&self, one: &Comparison) -> numbers::Numbers {
        let range = self.range.map(|end| end * self.scale);
        numbers::Numbers::of(one.difference.estimate.scaled(self.scale), range)
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
        let is_one = members.len() == 1;
        let names = listed(members);
        match verdict {
            Verdict::Less | Verdict::Greater => {
                let verb = if is_one {
                    self.verb
                } else {
                    self.verb_of_several
                };
                let predicate = self.predicate(members[0].difference.estimate);
                let each = if is_one { "" } else { " each" };
                format!(
                    "{among} {verb} {predicate}, {} with 95 % confidence{each}",
                    self.extremes(members)
                )
            }
            Verdict::NoDifference => {
                let intervals = if is_one {
                    "the interval includes zero"
                } else {
                    "the intervals include zero"
                };
                format!("{among} {} ({intervals}: {names})", self.same)
            }
            Verdict::NoInterval => format!("{among}: no interval ({names})"),
            Verdict::Unknown => {
                let because = match members[0].timed_out {
                    Some(_) => "transfers timed out",
                    None => "a value is not finite",
                };
                format!("{among} cannot be compared, since {because}: {names}")
            }
        }
    }

    /// The least and the greatest difference.
    fn extremes(&self, members: &[&Comparison]) -> String {
        let size = |one: &Comparison| one.difference.estimate.mean.abs();
        let mut sorted = members.to_vec();
        sorted.sort_by(|a, b| size(a).total_cmp(&size(b)));
        let text = |one: &Comparison| {
            let least = match one.difference.bound {
                Bound::Exact => "",
                _ => "at least ",
            };
            let size = self.numbers(one).size();
            format!("{least}{size} {} ({})", self.unit, one.name)
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

/// A text with a capital first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
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
