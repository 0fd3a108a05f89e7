//! Answers as a text table.

use polypath_report::table::plain;

use super::Answer;
use super::words::{number, rounded};
use crate::judge::{MeasuredQuantity, Verdict};

/// The width of remarks in characters.
const WIDTH: usize = 110;

/// The number of columns, of which the first four are text.
const COLUMNS: usize = 9;

/// A row for each claim and quantity, followed by the remarks on claims.
#[must_use]
pub fn render(answers: &[Answer]) -> String {
    let rows = answers.iter().flat_map(rows).collect();
    let mut text = plain(&headings(answers), rows, 4) + "\n";
    let alike = |a: &Answer, b: &Answer| a.remarks() == b.remarks() && a.verdict == b.verdict;
    for group in answers.chunk_by(alike) {
        let (remarks, word) = (group[0].remarks(), group[0].verdict.word());
        if remarks.is_empty() {
            continue;
        }
        let ids: Vec<&str> = group
            .iter()
            .map(|answer| answer.claim.id.as_str())
            .collect();
        text.push('\n');
        text.push_str(&wrapped(&format!("{} ({word}): {remarks}", ids.join(", "))));
        for line in group.iter().flat_map(Answer::unmet) {
            text.push_str(&wrapped(&format!("not met: {line}")));
        }
    }
    text
}

/// The numbers of claims by verdict: a line for those of the papers, and one for those of this
/// project, as far as there are any.
#[must_use]
pub fn summary(answers: &[Answer]) -> String {
    let (own, papers): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| answer.claim.is_own());
    let counts = |title: &str, answers: &[&Answer]| {
        let count = |verdict| answers.iter().filter(|a| a.verdict == verdict).count();
        format!(
            "{title}: {}, of which {} hold, {} differ, {} not run\n",
            answers.len(),
            count(Verdict::Holds),
            count(Verdict::Differs),
            count(Verdict::NotRun)
        )
    };
    match (&papers[..], &own[..]) {
        (papers, []) => counts("claims", papers),
        ([], own) => counts("own claims", own),
        (papers, own) => counts("claims", papers) + &counts("own claims", own),
    }
}

/// The headings of the columns.
fn headings(answers: &[Answer]) -> [&'static str; COLUMNS] {
    let is_own = !answers.is_empty() && answers.iter().all(|answer| answer.claim.is_own());
    let source = if is_own { "stated" } else { "paper" };
    [
        "claim", "verdict", "quantity", "unit", source, "allowed", "ours", "+- 95 %", "runs",
    ]
}

/// The rows of an answer; the first one has the name and the verdict.
fn rows(answer: &Answer) -> Vec<Vec<String>> {
    let (shown, rest) = answer.shown();
    let quantities = shown.iter().enumerate();
    let mut rows: Vec<Vec<String>> = quantities
        .map(|(index, ours)| row(answer, index, ours))
        .collect();
    if rest > 0 {
        rows.push(padded(format!("and {rest} more")));
    }
    rows.extend(answer.derived().map(padded));
    if rows.is_empty() {
        rows.push(padded(String::new()));
    }
    rows[0][0].clone_from(&answer.claim.id);
    answer.verdict.word().clone_into(&mut rows[0][1]);
    rows
}

fn row(answer: &Answer, index: usize, ours: &MeasuredQuantity) -> Vec<String> {
    let claim = &answer.claim;
    let dash = || "-".to_owned();
    let [value, half] = match ours.ci95 {
        Some(half) => rounded(ours.value, half),
        None => [number(ours.value), dash()],
    };
    let mut row = vec![String::new(), String::new(), ours.name(), ours.unit.clone()];
    row.extend([
        claim.value.get(index).map_or_else(dash, |v| number(*v)),
        claim.allowed(index).unwrap_or_else(dash),
        value,
        half,
        ours.n.to_string(),
    ]);
    row
}

/// A row with text in the column of quantities only.
fn padded(words: String) -> Vec<String> {
    let mut row = vec![String::new(); COLUMNS];
    row[2] = words;
    row
}

/// Wraps text at [`WIDTH`] characters and indents all lines but the first.
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
