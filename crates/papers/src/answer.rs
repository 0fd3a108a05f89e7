//! Answers: claims with their verdicts, as a person and a program read them.

mod table;
mod words;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::book::ClaimRow;
use crate::figure::{Figure, Findings, Reason};
use crate::judge::{Ours, PartJudgement, Verdict, judge};
use crate::ledger::{CLAIMS, Claim, Ledger};
use crate::measurement::Measurement;
use crate::study::SEED;

pub use table::{render, summary};

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The claim.
    pub claim: Claim,
    /// The figure that answers it, if there is one.
    pub figure: Option<&'static str>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What was measured.
    pub ours: Vec<Ours>,
    /// The parts of its rule.
    pub parts: Vec<PartJudgement>,
    /// Why it differs or was not run; empty where it holds.
    pub reason: String,
    /// Whether it was not run because the ledger names what its figure does not measure.
    pub is_unanswerable: bool,
    /// What qualifies the verdict, whichever it is; empty if nothing does.
    pub caveat: String,
}

/// An answer as a program reads it.
#[derive(Serialize)]
struct Row<'a> {
    claim: &'a str,
    figure: Option<&'static str>,
    verdict: Verdict,
    /// The values that the paper states; none of a claim with a rule.
    paper: &'a [f64],
    #[serde(flatten)]
    measured: Measured<'a>,
    parts: &'a [PartJudgement],
    reason: &'a str,
    caveat: &'a str,
    /// The claim as the ledger has it.
    statement: &'a Claim,
}

/// What was measured; the lists have one entry for each quantity, and position of it.
#[derive(Serialize)]
struct Measured<'a> {
    quantity: Vec<&'a str>,
    at: Vec<Option<f64>>,
    ours: Vec<f64>,
    ci95: Vec<Option<f64>>,
    unit: Vec<&'a str>,
    n: Vec<usize>,
    /// The root of the seeds of all runs, which stand beside the measurements; nothing where nothing is random.
    seed: Option<u64>,
}

impl Answer {
    /// The root of the seeds of its runs; nothing where nothing was measured, or nothing is random.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.ours.iter().any(|ours| ours.seed > 0).then_some(SEED)
    }

    /// As the book has it.
    pub(crate) fn row_of_book(&self) -> ClaimRow {
        let unmet = self.unmet();
        let reason = if unmet.is_empty() {
            self.remarks()
        } else {
            format!("{} Not met: {}.", self.remarks(), unmet.join("; "))
        };
        ClaimRow {
            id: self.claim.id.clone(),
            place: self.claim.place.clone(),
            says: self.claim.says.clone(),
            kind: self.claim.kind.word().to_owned(),
            paper: self.paper(),
            ours: self.measured(),
            unit: match self.ours[..] {
                [] => self.claim.unit.clone(),
                [_] => self.units(),
                // Each has its own beside it.
                _ => String::new(),
            },
            n: self.runs(),
            seed: self
                .seed()
                .map_or_else(String::new, |seed| seed.to_string()),
            verdict: self.verdict,
            reason,
        }
    }

    fn row(&self) -> Row<'_> {
        Row {
            claim: &self.claim.id,
            figure: self.figure,
            verdict: self.verdict,
            paper: &self.claim.value,
            measured: self.lists(),
            parts: &self.parts,
            reason: &self.reason,
            caveat: &self.caveat,
            statement: &self.claim,
        }
    }

    fn lists(&self) -> Measured<'_> {
        let ours = || self.ours.iter();
        Measured {
            quantity: ours().map(|ours| ours.quantity.as_str()).collect(),
            at: ours().map(|ours| Some(ours.at.as_ref()?.value)).collect(),
            ours: ours().map(|ours| ours.value).collect(),
            ci95: ours().map(|ours| ours.ci95).collect(),
            unit: ours().map(|ours| ours.unit.as_str()).collect(),
            n: ours().map(|ours| ours.n).collect(),
            seed: self.seed(),
        }
    }
}

/// Answers as JSON: a list, in the order of the ledger.
///
/// # Errors
/// Where one cannot be written.
pub fn json(answers: &[Answer]) -> Result<String, serde_json::Error> {
    let rows: Vec<Row<'_>> = answers.iter().map(Answer::row).collect();
    Ok(serde_json::to_string_pretty(&rows)? + "\n")
}

/// Answers the claims that are named, by themselves, their paper or their figure; all of the ledger, if nothing is.
/// `made` are figures with what they found, and the measurements as they were written; `unmade` are others, with why.
#[must_use]
pub fn answer(
    ledger: &Ledger,
    all: &[&Figure],
    made: &[(&Figure, &Findings, Vec<Measurement>)],
    unmade: &[(&Figure, &str)],
    names: &[String],
) -> Vec<Answer> {
    let figures: BTreeMap<&str, &Figure> = all
        .iter()
        .flat_map(|figure| figure.claims.iter().map(|claim| (*claim, *figure)))
        .collect();
    let is_named = |claim: &&Claim| {
        let figure = figures.get(claim.id.as_str()).map(|figure| figure.id);
        let is = |name: &String| {
            *name == claim.id || name == claim.paper() || figure == Some(name.as_str())
        };
        names.is_empty() || names.iter().any(is)
    };
    let own = Ledger::parse(CLAIMS, "claims.toml").ok();
    let claims = ledger.claims.iter().filter(is_named);
    let answers = claims.map(|claim| {
        let figure = figures.get(claim.id.as_str()).copied();
        let made = figure.and_then(|figure| made.iter().find(|made| made.0.id == figure.id));
        match (figure, made) {
            (Some(figure), Some((_, _, measurements))) => {
                let all = || made.iter().map(|made| made.1);
                let reasons = all().flat_map(|findings| &findings.reasons);
                let caveats = all().flat_map(|findings| &findings.caveats);
                let answer = answer_one(claim, figure, measurements, &of_claim(claim, reasons));
                let said = of_claim(claim, caveats);
                Answer {
                    caveat: qualified(&answer, said, own.as_ref()),
                    ..answer
                }
            }
            _ => Answer {
                reason: not_run(figure, unmade),
                ..Answer::not_run(claim, figure)
            },
        }
    });
    answers.collect()
}

/// Why a claim has no verdict.
fn not_run(figure: Option<&Figure>, unmade: &[(&Figure, &str)]) -> String {
    let Some(figure) = figure else {
        return "no figure of this program answers it yet".to_owned();
    };
    let of_it = unmade.iter().find(|unmade| unmade.0.id == figure.id);
    of_it.map_or_else(
        || format!("{} was not made", figure.id),
        |(_, why)| format!("{} could not be made: {why}", figure.id),
    )
}

/// What qualifies a verdict: what its figure says, and what the verdict takes no account of.
fn qualified(answer: &Answer, said: String, own: Option<&Ledger>) -> String {
    let all = [
        said,
        answer.untested(),
        answer.imprecise(),
        answer.not_refuted(),
        answer.foreign(own),
    ];
    let all: Vec<String> = all.into_iter().filter(|text| !text.is_empty()).collect();
    all.join(" ")
}

/// What is said of a claim.
fn of_claim<'a>(claim: &Claim, said: impl Iterator<Item = &'a Reason>) -> String {
    let of_it = said.filter(|reason| reason.claim == claim.id);
    let texts: Vec<&str> = of_it.map(|reason| reason.text.as_str()).collect();
    texts.join(" ")
}

fn answer_one(
    claim: &Claim,
    figure: &Figure,
    measurements: &[Measurement],
    reason: &str,
) -> Answer {
    let mut answer = Answer::not_run(claim, Some(figure));
    match judge(claim, measurements) {
        Ok(judgement) => {
            answer.verdict = judgement.verdict;
            answer.ours = judgement.ours;
            answer.parts = judgement.parts;
        }
        Err(error) => {
            answer.reason = format!("the ledger and the figure do not agree: {error}");
            answer.is_unanswerable = true;
        }
    }
    match answer.verdict {
        Verdict::Holds => answer.reason.clear(),
        Verdict::Differs => answer.reason = why(&answer.parts, reason),
        Verdict::NotRun if answer.reason.is_empty() => {
            answer.reason = format!("{} measured nothing of it", figure.id);
        }
        Verdict::NotRun => {}
    }
    answer
}

/// Why a claim differs: what its figure says, if anything, after what its comparisons show.
fn why(parts: &[PartJudgement], said: &str) -> String {
    let unmet = || {
        let tests = parts.iter().flat_map(|part| &part.tests);
        tests.filter(|test| !test.holds)
    };
    let is_unproven = unmet().next().is_some() && unmet().all(|test| test.margin > 0.0);
    let unproven = "The means are in its order, but these runs are too few to prove it at 95 %.";
    match (is_unproven, said) {
        (true, "") => unproven.to_owned(),
        (true, said) => format!("{unproven} {said}"),
        (false, "") => "why is not known".to_owned(),
        (false, said) => said.to_owned(),
    }
}

impl Answer {
    /// Without a verdict, and without a word why.
    fn not_run(claim: &Claim, figure: Option<&Figure>) -> Self {
        Self {
            claim: claim.clone(),
            figure: figure.map(|figure| figure.id),
            verdict: Verdict::NotRun,
            ours: Vec::new(),
            parts: Vec::new(),
            reason: String::new(),
            is_unanswerable: false,
            caveat: String::new(),
        }
    }
}

#[cfg(test)]
mod tests;
