//! Answers as a table.

use polypath_report::table::plain;

use super::Answer;
use crate::judge::{Ours, PartJudgement, Test, Verdict};

/// The most quantities of a claim that are shown; the rest stand in its files.
const SHOWN: usize = 6;

/// The width of reasons, in characters.
const WIDTH: usize = 110;

/// A row for each claim and quantity, and below them the reasons of those that do not hold.
#[must_use]
pub fn render(answers: &[Answer]) -> String {
    let header = [
        "claim", "verdict", "quantity", "unit", "paper", "ours", "+- 95 %", "runs",
    ];
    let rows = answers.iter().flat_map(rows).collect();
    let mut text = plain(&header, rows, 4);
    for answer in answers.iter().filter(|a| !a.reason.is_empty()) {
        let (id, word) = (&answer.claim.id, answer.verdict.word());
        text.push('\n');
        text.push_str(&wrapped(&format!("{id} ({word}): {}", answer.reason)));
        for line in answer.unmet() {
            text.push_str(&wrapped(&format!("    not met: {line}")));
        }
    }
    text
}

/// The rows of an answer: the first has its name and verdict.
fn rows(answer: &Answer) -> Vec<Vec<String>> {
    let claim = [answer.claim.id.clone(), answer.verdict.word().to_owned()];
    let paper = |index: usize| {
        answer
            .claim
            .value
            .get(index)
            .map_or("-".to_owned(), |v| number(*v))
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (index, ours) in answer.ours.iter().take(SHOWN).enumerate() {
        rows.push(vec![
            String::new(),
            String::new(),
            ours.name(),
            ours.unit.clone(),
            paper(index),
            number(ours.value),
            ours.ci95.map_or("-".to_owned(), number),
            ours.n.to_string(),
        ]);
    }
    if answer.ours.len() > SHOWN {
        let rest = format!("and {} more", answer.ours.len() - SHOWN);
        rows.push(padded(&[String::new(), String::new(), rest]));
    }
    match rows.first_mut() {
        Some(first) => first[..2].clone_from_slice(&claim),
        None => rows.push(padded(&[claim[0].clone(), claim[1].clone(), String::new()])),
    }
    rows
}

fn padded(cells: &[String; 3]) -> Vec<String> {
    let mut row = cells.to_vec();
    row.resize(8, String::new());
    row
}

/// In lines of no more than [`WIDTH`] characters, as far as the words allow; those after the first are indented.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let length = lines.last().map_or(0, |line| line.chars().count());
        if length > 4 && length + word.chars().count() >= WIDTH {
            lines.push("   ".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

/// How many claims have which verdict, in one line.
#[must_use]
pub fn summary(answers: &[Answer]) -> String {
    let count = |verdict| answers.iter().filter(|a| a.verdict == verdict).count();
    format!(
        "{} claims: {} hold, {} differ, {} not run\n",
        answers.len(),
        count(Verdict::Holds),
        count(Verdict::Differs),
        count(Verdict::NotRun)
    )
}

impl Verdict {
    /// As it is printed.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NotRun => "not run",
        }
    }
}

impl Answer {
    /// What the paper says: its values, or the rule.
    #[must_use]
    pub fn paper(&self) -> String {
        match &self.claim.rule {
            Some(rule) => rule.clone(),
            None => listed(self.claim.value.iter().map(|value| number(*value))),
        }
    }

    /// What was measured: values in the order of the paper's, or quantities by name.
    #[must_use]
    pub fn measured(&self) -> String {
        let is_ruled = self.claim.rule.is_some();
        let one = |ours: &Ours| {
            let value = ours.with_interval();
            if is_ruled {
                format!("{} {value}", ours.name())
            } else {
                value
            }
        };
        let shown = self.ours.iter().take(SHOWN).map(one);
        let rest = self.ours.len().saturating_sub(SHOWN);
        let rest = (rest > 0).then(|| format!("and {rest} more"));
        listed(shown.chain(rest))
    }

    /// The comparisons that do not hold, each with what it lacks, in base units.
    #[must_use]
    pub fn unmet(&self) -> Vec<String> {
        let failed = self.parts.iter().filter(|part| !part.holds);
        let tests = failed.flat_map(|part| part.tests.iter().map(move |test| (part, test)));
        let unmet = tests.filter(|(_, test)| !test.holds);
        let line = |(part, test): (&PartJudgement, &Test)| {
            let half = test
                .ci95
                .map_or(String::new(), |half| format!(" +- {}", number(half)));
            format!(
                "`{}` for {}: margin {}{half}",
                part.part,
                test.of,
                number(test.margin)
            )
        };
        unmet.map(line).collect()
    }

    /// The units of what was measured, each once.
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

    /// How many runs stand behind each quantity: the least and the most.
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

impl Ours {
    /// Its name, with the position, if it is a curve.
    #[must_use]
    pub fn name(&self) -> String {
        match self.at {
            Some(at) => format!("{} at {}", self.quantity, number(at)),
            None => self.quantity.clone(),
        }
    }

    fn with_interval(&self) -> String {
        match self.ci95 {
            Some(half) => format!("{} +- {}", number(self.value), number(half)),
            None => number(self.value),
        }
    }
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
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and 6"
    )]
    let places = digits.max(0.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

fn listed(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}
