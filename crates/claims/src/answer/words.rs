//! The texts of answers.

use super::Answer;
use crate::judge::{MeasuredQuantity, PartJudgement, Test, Verdict};
use crate::ledger::{Claim, Kind, Ledger};

/// The maximum number of quantities of a claim in a table or the book.
const SHOWN: usize = 8;

impl Verdict {
    /// The printed word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NotRun => "not run",
        }
    }
}

impl Claim {
    /// The allowed deviation from value `index` in words: a share of it, or a range.
    #[must_use]
    pub fn allowed(&self, index: usize) -> Option<String> {
        if index >= self.value.len() {
            return None;
        }
        let bounds = self.bounds.as_ref().and_then(|bounds| bounds.get(index));
        match self.kind {
            Kind::Most => return Some("upper bound".to_owned()),
            Kind::Least => return Some("lower bound".to_owned()),
            _ => {}
        }
        Some(match (bounds, self.tol) {
            (Some([low, high]), _) => format!("{} to {}", number(*low), number(*high)),
            (None, Some(tol)) if tol > 0.0 && self.value[index] != 0.0 => {
                format!("within {} %", number(100.0 * tol))
            }
            (None, _) => "equal".to_owned(),
        })
    }
}

impl Answer {
    /// The paper's values with their unit and allowed deviation, or the rule.
    #[must_use]
    pub fn paper(&self) -> String {
        if let Some(rule) = &self.claim.rule {
            return rule.clone();
        }
        let values = listed(self.claim.value.iter().map(|value| number(*value)));
        let mut allowed: Vec<String> = (0..self.claim.value.len())
            .filter_map(|index| self.claim.allowed(index))
            .collect();
        allowed.dedup();
        format!("{values} {} ({})", self.claim.unit, listed(allowed))
    }

    /// The measured values in the order of the paper's, or the quantities by name.
    #[must_use]
    pub fn measured(&self) -> String {
        let is_named = self.claim.rule.is_some() || self.ours.len() > 1;
        let one = |ours: &&MeasuredQuantity| {
            if is_named {
                return ours.named();
            }
            with_interval(ours.value, ours.ci95)
        };
        let (shown, rest) = self.shown();
        let rest = (rest > 0).then(|| format!("and {rest} more"));
        listed(shown.iter().map(one).chain(rest).chain(self.derived()))
    }

    /// The margins of parts that hold for computed values, which are not among the quantities.
    pub(super) fn derived(&self) -> impl Iterator<Item = String> {
        let met = self
            .parts
            .iter()
            .filter(|part| part.holds && part.is_computed());
        met.filter_map(|part| match &part.tests[..] {
            [test] => Some(format!("`{}` met by {}", part.part, margin(test))),
            _ => None,
        })
    }

    /// The quantities to show, of curves the ends, and the number of the others.
    pub(super) fn shown(&self) -> (Vec<&MeasuredQuantity>, usize) {
        let ours = &self.ours;
        let is_curve = |at: usize| ours[at].at.is_some();
        let same = |a: usize, b: usize| ours[a].quantity == ours[b].quantity;
        let is_end = |at: &usize| {
            let all = (0..ours.len()).filter(|other| same(*other, *at));
            let (mut first, mut last) = (*at, *at);
            for other in all {
                first = first.min(other);
                last = last.max(other);
            }
            !is_curve(*at) || *at == first || *at == last
        };
        let ends: Vec<&MeasuredQuantity> =
            (0..ours.len()).filter(is_end).map(|at| &ours[at]).collect();
        let shown: Vec<&MeasuredQuantity> = ends.into_iter().take(SHOWN).collect();
        let rest = ours.len() - shown.len();
        (shown, rest)
    }

    /// The reason and the caveats.
    #[must_use]
    pub fn remarks(&self) -> String {
        let both = [self.reason.as_str(), self.caveat.as_str()];
        let both = both.into_iter().filter(|text| !text.is_empty());
        let sentence = |text: &str| text.trim_end_matches('.').to_owned() + ".";
        both.map(sentence).collect::<Vec<_>>().join(" ")
    }

    /// The parts of the rule without a test.
    pub(super) fn untested(&self) -> String {
        let Some(Ok(rule)) = self.claim.rule() else {
            return String::new();
        };
        let parts = rule.parts.iter().filter(|part| part.relation.is_none());
        let words: Vec<String> = parts.map(|part| format!("`{}`", part.text)).collect();
        if words.is_empty() || self.ours.is_empty() {
            return String::new();
        }
        format!("Not tested: {}.", words.join(", "))
    }

    /// The values whose intervals contain an end of the allowed range.
    pub(super) fn imprecise(&self) -> String {
        let is_open = |(index, ours): (usize, &MeasuredQuantity)| {
            let (half, ends) = (ours.ci95?, self.claim.range(index)?);
            let is_open = ends.iter().any(|end| (ours.value - end).abs() < half);
            is_open.then(|| ours.named())
        };
        let open: Vec<String> = self.ours.iter().enumerate().filter_map(is_open).collect();
        if open.is_empty() {
            return String::new();
        }
        format!(
            "The verdict is by the means; the intervals contain an end of the allowed range: {}.",
            listed(open)
        )
    }

    /// The bounds that hold only because the runs do not refute them, with means beyond them.
    pub(super) fn not_refuted(&self) -> String {
        let weak = self.parts.iter().filter_map(|part| {
            let beyond = part
                .tests
                .iter()
                .filter(|test| test.holds && test.margin < 0.0);
            let (beyond, all) = (beyond.count(), part.tests.len());
            let is_weak = part.is_bound() && part.holds && beyond > 0;
            is_weak.then(|| format!("`{}` in {beyond} of {all}", part.part))
        });
        let weak = listed(weak);
        if weak.is_empty() {
            return weak;
        }
        format!(
            "Not refuted, but not shown either (means beyond the bound, intervals that include it): {weak}."
        )
    }

    /// A note if the claim differs from that of the built-in ledgers.
    pub(super) fn foreign(&self, built_in: Option<&Ledger>) -> String {
        let known = built_in.and_then(|ledger| ledger.find(&self.claim.id));
        if known.is_none_or(|known| *known == self.claim) {
            return String::new();
        }
        "The reasons and caveats were written for this program's own ledger, in which this claim is different.".to_owned()
    }

    /// The comparisons that do not hold, with their margins.
    #[must_use]
    pub fn unmet(&self) -> Vec<String> {
        let values = self.ours.iter().enumerate();
        let outside = values.filter_map(|(index, ours)| {
            let allowed = self.claim.allowed(index)?;
            let paper = number(*self.claim.value.get(index)?);
            let is_outside = !self.claim.allows(index, ours.value);
            let source = if self.claim.is_own() {
                "ledger"
            } else {
                "paper"
            };
            is_outside.then(|| {
                format!(
                    "{}, where the {source} has {paper} ({allowed})",
                    ours.named()
                )
            })
        });
        let failed = self.parts.iter().filter(|part| !part.holds);
        let tests = failed.flat_map(|part| part.tests.iter().map(move |test| (part, test)));
        let unmet = tests.filter(|(_, test)| !test.holds);
        let line = |(part, test): (&PartJudgement, &Test)| {
            let margin = margin(test);
            // A part with a single comparison names what is compared itself.
            let of = if part.tests.len() > 1 {
                format!(", for {}", test.of)
            } else {
                String::new()
            };
            format!("`{}`{of}: margin {margin}", part.part)
        };
        outside.chain(unmet.map(line)).collect()
    }

    /// The units of the quantities, each once.
    #[must_use]
    pub fn units(&self) -> String {
        let mut units: Vec<String> = Vec::new();
        for ours in &self.ours {
            if !units.contains(&ours.unit) {
                units.push(ours.unit.clone());
            }
        }
        listed(units)
    }

    /// The minimum and the maximum number of runs of a quantity.
    #[must_use]
    pub fn runs(&self) -> String {
        let counts = || self.ours.iter().map(|ours| ours.n);
        match (counts().min(), counts().max()) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            _ => String::new(),
        }
    }
}

impl PartJudgement {
    /// Whether it compares computed values.
    fn is_computed(&self) -> bool {
        self.part.contains('(')
    }

    /// Whether it allows equality, so that only a significant difference refutes it.
    fn is_bound(&self) -> bool {
        self.part.contains("<=") || self.part.contains(">=")
    }
}

impl MeasuredQuantity {
    /// The value with its name, interval and unit.
    fn named(&self) -> String {
        let value = with_interval(self.value, self.ci95);
        let words = format!("{} {value} {}", self.name(), self.unit);
        words.trim_end().to_owned()
    }

    /// The name, with the position of a point of a curve.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.at {
            // Without a unit, the name of the coordinate explains the number.
            Some(at) if at.unit.is_empty() => {
                format!(
                    "{} at {} {}",
                    self.quantity,
                    at.coordinate,
                    number(at.value)
                )
            }
            Some(at) => format!("{} at {} {}", self.quantity, number(at.value), at.unit),
            None => self.quantity.clone(),
        }
    }
}

/// The margin of a comparison, rates in Mb/s.
fn margin(test: &Test) -> String {
    let (scale, unit) = match test.unit {
        "b/s" => (1e-6, "Mb/s"),
        unit => (1.0, unit),
    };
    let half = test.ci95.map(|half| half * scale);
    let words = with_interval(test.margin * scale, half) + " " + unit;
    words.trim_end().to_owned()
}

/// A number and half of its interval, both rounded to two significant digits of the interval.
pub(super) fn with_interval(value: f64, ci95: Option<f64>) -> String {
    match ci95 {
        Some(half) => {
            let [value, half] = rounded(value, half);
            format!("{value} +- {half}")
        }
        None => number(value),
    }
}

/// Both numbers, rounded in the same way.
pub(super) fn rounded(value: f64, half: f64) -> [String; 2] {
    let places = 1.0 - half.abs().log10().floor();
    if half == 0.0 || !(-6.0..=8.0).contains(&places) {
        return [number(value), number(half)];
    }
    let places = decimals(places);
    [format!("{value:.places$}"), format!("{half:.places$}")]
}

/// A number with four significant digits.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3.0 - value.abs().log10().floor();
    if !(-3.0..=6.0).contains(&digits) {
        return format!("{value:.3e}");
    }
    let places = decimals(digits);
    let text = format!("{value:.places$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// The number of decimals.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is no more than 8"
)]
fn decimals(places: f64) -> usize {
    places.max(0.0) as usize
}

fn listed(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}
