//! Answers as a text table.

use polypath_report::table::plain;

use super::Answer;
use super::words::{number, rounded};
use crate::judge::{MeasuredQuantity, Verdict};

/// The width of remarks in characters.
const WIDTH: usize = 110;

/// The number of columns, of which the first four are text, without those of the lab.
const COLUMNS: usize = 9;

/// A row for each claim and quantity, followed by the remarks on claims.
#[must_use]
pub fn render(answers: &[Answer]) -> String {
    let mut text = table(answers);
    let alike = |a: &Answer, b: &Answer| a.remarks() == b.remarks() && a.verdict == b.verdict;
    for group in answers.chunk_by(alike) {
        let (remarks, word) = (group[0].remarks(), group[0].verdict.word());
        if !remarks.is_empty() {
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
        for answer in group {
            let id = &answer.claim.id;
            if let Some(lab) = &answer.lab {
                for line in lab.unmet() {
                    text.push_str(&wrapped(&format!("{id}, not met in the lab: {line}")));
                }
                if lab.verdict == Verdict::NotRun {
                    let reason = &lab.reason;
                    text.push_str(&wrapped(&format!("{id}, not judged in the lab: {reason}")));
                }
            }
        }
    }
    text
}

/// The rows of all answers; with a lab, its verdicts and values have columns of their own.
fn table(answers: &[Answer]) -> String {
    let headings = headings(answers);
    if answers.iter().all(|answer| answer.lab.is_none()) {
        let rows = answers.iter().flat_map(rows).collect();
        return plain(&headings, rows, 4) + "\n";
    }
    let rows = answers.iter().flat_map(rows_with_lab).collect();
    let mut headings = headings.to_vec();
    headings.insert(2, "in the lab");
    headings.extend(["lab", "+- 95 %", "runs"]);
    plain(&headings, rows, 5) + "\n"
}

/// The rows of an answer, with its verdict and its values in the lab.
fn rows_with_lab(answer: &Answer) -> Vec<Vec<String>> {
    let (shown, _) = answer.shown();
    let mut rows = rows(answer);
    for (index, row) in rows.iter_mut().enumerate() {
        let found = shown.get(index).and_then(|ours| in_lab(answer, ours));
        let cells = found.map_or_else(|| vec![String::new(); 3], |lab| value_cells(lab).to_vec());
        row.extend(cells);
        let verdict = answer.lab.as_ref().filter(|_| index == 0);
        row.insert(
            2,
            verdict.map_or_else(String::new, |lab| lab.verdict.word().to_owned()),
        );
    }
    rows
}

/// The same quantity in the lab.
fn in_lab<'a>(answer: &'a Answer, ours: &MeasuredQuantity) -> Option<&'a MeasuredQuantity> {
    let all = &answer.lab.as_ref()?.ours;
    all.iter().find(|lab| lab.name() == ours.name())
}

/// A value, half of its interval, and its number of runs.
fn value_cells(of: &MeasuredQuantity) -> [String; 3] {
    let [value, half] = match of.ci95 {
        Some(half) => rounded(of.value, half),
        None => [number(of.value), "-".to_owned()],
    };
    [value, half, of.n.to_string()]
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
    let mut row = vec![String::new(), String::new(), ours.name(), ours.unit.clone()];
    row.extend([
        claim.value.get(index).map_or_else(dash, |v| number(*v)),
        claim.allowed(index).unwrap_or_else(dash),
    ]);
    row.extend(value_cells(ours));
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
