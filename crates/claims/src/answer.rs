//! Answers: claims with their verdicts, as text and as JSON.

mod table;
mod words;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::book::ClaimRow;
use crate::figure::{ClaimRemark, FailedFigure, Figure, MadeFigure};
use crate::judge::{MeasuredQuantity, PartJudgement, Verdict, judge};
use crate::ledger::{Claim, Ledger};
use crate::measurement::Measurement;
use crate::study::SEED;

pub use table::{render, summary};

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The claim.
    pub claim: Claim,
    /// The figure that answers it, if there is one.
    pub figure: Option<&'static str>,
    /// The verdict.
    pub verdict: Verdict,
    /// The measured quantities.
    pub ours: Vec<MeasuredQuantity>,
    /// The judgements of the rule's parts.
    pub parts: Vec<PartJudgement>,
    /// The reason why the claim differs or was not run; empty if it holds.
    pub reason: String,
    /// Whether it was not run because the ledger names quantities that its figure does not measure.
    pub is_unanswerable: bool,
    /// The qualifications of the verdict; may be empty.
    pub caveat: String,
    /// The answer in the lab, if the claim was measured there.
    pub lab: Option<Box<Answer>>,
}

/// The figures that were made and those that failed.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The figures that were made.
    pub made: &'a [MadeFigure<'a>],
    /// The figures that failed.
    pub failed: &'a [FailedFigure<'a>],
}

/// An answer in JSON.
#[derive(Serialize)]
struct AnswerRecord<'a> {
    claim: &'a str,
    figure: Option<&'static str>,
    verdict: Verdict,
    /// The values that the paper, or this project, states; empty for claims with a rule.
    paper: &'a [f64],
    #[serde(flatten)]
    measured: MeasuredLists<'a>,
    parts: &'a [PartJudgement],
    reason: &'a str,
    caveat: &'a str,
    /// The answer in the lab, if the claim was measured there.
    #[serde(skip_serializing_if = "Option::is_none")]
    lab: Option<LabRecord<'a>>,
    /// The claim as in the ledger.
    statement: &'a Claim,
}

/// An answer in the lab in JSON.
#[derive(Serialize)]
struct LabRecord<'a> {
    verdict: Verdict,
    #[serde(flatten)]
    measured: MeasuredLists<'a>,
    parts: &'a [PartJudgement],
    reason: &'a str,
}

/// The measured quantities as lists with one entry for each quantity and position.
#[derive(Serialize)]
struct MeasuredLists<'a> {
    quantity: Vec<&'a str>,
    at: Vec<Option<f64>>,
    ours: Vec<f64>,
    ci95: Vec<Option<f64>>,
    unit: Vec<&'a str>,
    n: Vec<usize>,
    /// The root seed; the seeds of the runs are next to the measurements. `None` if nothing is
    /// random.
    seed: Option<u64>,
}

impl Answer {
    /// The root seed of its runs; `None` if nothing was measured or nothing is random.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.ours.iter().any(|ours| ours.seed > 0).then_some(SEED)
    }

    /// The answer in the words of the book.
    pub(crate) fn book_claim(&self) -> ClaimRow {
        let unmet = self.unmet();
        let reason = if unmet.is_empty() {
            self.remarks()
        } else {
            format!("{} Not met: {}.", self.remarks(), unmet.join("; "))
        };
        ClaimRow {
            id: self.claim.id.clone(),
            place: self.claim.place.clone(),
            statement: self.claim.statement.clone(),
            kind: self.claim.kind.word().to_owned(),
            paper: self.paper(),
            ours: self.measured(),
            unit: match self.ours[..] {
                [] => self.claim.unit.clone(),
                [_] => self.units(),
                // Each value has its own unit.
                _ => String::new(),
            },
            n: self.runs(),
            seed: self
                .seed()
                .map_or_else(String::new, |seed| seed.to_string()),
            verdict: self.verdict,
            reason,
            lab: self
                .lab
                .as_ref()
                .map_or_else(String::new, |lab| lab.in_words()),
        }
    }

    /// The answer in the lab in words.
    fn in_words(&self) -> String {
        let unmet = match &self.unmet()[..] {
            [] => String::new(),
            unmet => format!(" Not met: {}.", unmet.join("; ")),
        };
        let word = self.verdict.word();
        if self.verdict == Verdict::NotRun {
            return format!("{word}: {}", self.reason);
        }
        let (measured, runs) = (self.measured(), self.runs());
        format!("{word}: {measured}; n = {runs}.{unmet}")
    }

    fn record(&self) -> AnswerRecord<'_> {
        AnswerRecord {
            claim: &self.claim.id,
            figure: self.figure,
            verdict: self.verdict,
            paper: &self.claim.value,
            measured: self.lists(),
            parts: &self.parts,
            reason: &self.reason,
            caveat: &self.caveat,
            lab: self.lab.as_ref().map(|lab| LabRecord {
                verdict: lab.verdict,
                measured: lab.lists(),
                parts: &lab.parts,
                reason: &lab.reason,
            }),
            statement: &self.claim,
        }
    }

    fn lists(&self) -> MeasuredLists<'_> {
        let ours = || self.ours.iter();
        MeasuredLists {
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

/// The answers as a JSON list.
///
/// # Errors
/// If an answer cannot be serialised.
pub fn json(answers: &[Answer]) -> Result<String, serde_json::Error> {
    let records: Vec<AnswerRecord<'_>> = answers.iter().map(Answer::record).collect();
    Ok(serde_json::to_string_pretty(&records)? + "\n")
}

/// Answers the claims that `names` selects by claim, paper or figure; without names, all claims of
/// the ledger.
#[must_use]
pub fn answer(
    ledger: &Ledger,
    all: &[&Figure],
    outcome: Outcome<'_>,
    names: &[String],
) -> Vec<Answer> {
    let figures: BTreeMap<&str, &Figure> = all
        .iter()
        .flat_map(|figure| figure.claims.iter().map(|claim| (*claim, *figure)))
        .collect();
    let is_selected = |claim: &&Claim| {
        let figure = figures.get(claim.id.as_str()).map(|figure| figure.id);
        let matches = |name: &String| {
            *name == claim.id || name == claim.paper() || figure == Some(name.as_str())
        };
        names.is_empty() || names.iter().any(matches)
    };
    let built_in = Ledger::built_in().ok();
    let claims = ledger.claims.iter().filter(is_selected);
    let answers = claims.map(|claim| {
        let figure = figures.get(claim.id.as_str()).copied();
        let made = figure.and_then(|figure| {
            let mut made = outcome.made.iter();
            made.find(|made| made.figure.id == figure.id)
        });
        match made {
            Some(made) => answer_made(claim, made, outcome.made, built_in.as_ref()),
            None => Answer {
                reason: not_run(figure, outcome.failed),
                ..Answer::not_run(claim, figure)
            },
        }
    });
    answers.collect()
}

/// Answers a claim whose figure was made; the findings of other figures may have reasons and
/// caveats for it, too.
fn answer_made(
    claim: &Claim,
    made: &MadeFigure<'_>,
    all: &[MadeFigure<'_>],
    built_in: Option<&Ledger>,
) -> Answer {
    let findings = || all.iter().map(|made| made.findings);
    let reason = texts(claim, findings().flat_map(|findings| &findings.reasons));
    let caveat = texts(claim, findings().flat_map(|findings| &findings.caveats));
    let answer = judged(claim, made.figure, &made.measurements, &reason);
    let is_in_lab = made.in_lab.iter().any(|of| of.claim == claim.id);
    Answer {
        caveat: qualified(&answer, caveat, built_in),
        lab: is_in_lab.then(|| Box::new(judged(claim, made.figure, &made.in_lab, ""))),
        ..answer
    }
}

/// The reason why a claim has no verdict.
fn not_run(figure: Option<&Figure>, failed: &[FailedFigure<'_>]) -> String {
    let Some(figure) = figure else {
        return "no figure of this program answers it yet".to_owned();
    };
    let failed = failed.iter().find(|failed| failed.figure.id == figure.id);
    failed.map_or_else(
        || format!("{} was not made", figure.id),
        |failed| format!("{} could not be made: {}", figure.id, failed.error),
    )
}

/// All qualifications of a verdict: those of the figure, and what the verdict does not take into
/// account.
fn qualified(answer: &Answer, caveat: String, built_in: Option<&Ledger>) -> String {
    let all = [
        caveat,
        answer.untested(),
        answer.imprecise(),
        answer.not_refuted(),
        answer.foreign(built_in),
    ];
    let all: Vec<String> = all.into_iter().filter(|text| !text.is_empty()).collect();
    all.join(" ")
}

/// The texts about a claim.
fn texts<'a>(claim: &Claim, reasons: impl Iterator<Item = &'a ClaimRemark>) -> String {
    let of_claim = reasons.filter(|reason| reason.claim == claim.id);
    let texts: Vec<&str> = of_claim.map(|reason| reason.text.as_str()).collect();
    texts.join(" ")
}

/// Judges a claim by measurements of its figure.
fn judged(claim: &Claim, figure: &Figure, measurements: &[Measurement], reason: &str) -> Answer {
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
        Verdict::Differs => answer.reason = why_differs(&answer.parts, reason),
        Verdict::NotRun if answer.reason.is_empty() => {
            answer.reason = format!("{} measured nothing for it", figure.id);
        }
        Verdict::NotRun => {}
    }
    answer
}

/// The reason why a claim differs: whether its runs are too few, then the figure's own reason.
fn why_differs(parts: &[PartJudgement], reason: &str) -> String {
    let unmet = || {
        let tests = parts.iter().flat_map(|part| &part.tests);
        tests.filter(|test| !test.holds)
    };
    let is_unproven = unmet().next().is_some() && unmet().all(|test| test.margin > 0.0);
    let unproven = "The means are in its order, but these runs are too few to prove it at 95 %.";
    match (is_unproven, reason) {
        (true, "") => unproven.to_owned(),
        (true, reason) => format!("{unproven} {reason}"),
        (false, "") => "the reason is not known".to_owned(),
        (false, reason) => reason.to_owned(),
    }
}

impl Answer {
    /// An answer without a verdict or reason.
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
            lab: None,
        }
    }
}

#[cfg(test)]
mod tests;
