//! Verdicts: claims compared with measurements.
//!
//! A measured value is the mean over the runs, with its 95 % interval (Student's t). The sides of a
//! rule are computed from means; their intervals come from the jackknife over the runs: each run is
//! left out in turn, and quantities of one group lose the same run, so that their common variation
//! cancels. Groups are independent: their variances add up, with the degrees of freedom of Welch
//! and Satterthwaite. Quantities of a single run have no interval and are compared as they are. The
//! steps of a curve are tested at a level at which all hold together with 95 % (Bonferroni).

mod dip;
mod eval;
mod expand;
mod interval;
mod modes;
mod relation;
mod units;

use polypath_report::statistics::Estimate;
use serde::Serialize;

use crate::ledger::{Claim, RuleError};
use crate::measurement::{Measurement, Position};

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// The measurements agree with the claim.
    #[serde(rename = "holds")]
    Holds,
    /// The measurements do not agree with the claim.
    #[serde(rename = "differs")]
    Differs,
    /// Nothing was measured for the claim.
    #[serde(rename = "not run")]
    NotRun,
}

/// The judgement of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The measured quantities.
    pub ours: Vec<MeasuredQuantity>,
    /// The judgements of the rule's parts, in their order; empty for a claim with values.
    pub parts: Vec<PartJudgement>,
}

/// A measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredQuantity {
    /// The name.
    pub quantity: String,
    /// The position, for a point of a curve.
    pub at: Option<Position>,
    /// The unit.
    pub unit: String,
    /// The mean over the runs.
    pub value: f64,
    /// Half of the 95 % interval; `None` for a single run.
    pub ci95: Option<f64>,
    /// The number of runs.
    pub n: usize,
    /// The seed of the first run.
    pub seed: u64,
}

/// The judgement of a part of a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartJudgement {
    /// The text of the part.
    pub part: String,
    /// Whether it holds.
    pub holds: bool,
    /// The comparisons for each name and position.
    pub tests: Vec<Test>,
}

/// A single comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Test {
    /// The compared quantities and the position.
    pub of: String,
    /// Whether it holds.
    pub holds: bool,
    /// The margin by which the relation is met; negative if it is not.
    pub margin: f64,
    /// The unit of the margin: s, b/s, or empty for other units.
    pub unit: &'static str,
    /// Half of the 95 % interval of the margin; `None` for single runs.
    pub ci95: Option<f64>,
}

/// Measurements by which a claim cannot be judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JudgeError {
    /// A quantity of the rule is missing.
    #[error("`{0}` was not measured for this claim")]
    Missing(String),
    /// A quantity was measured twice at one position.
    #[error("`{0}` was measured twice")]
    Twice(String),
    /// The numbers of quantities and values differ.
    #[error("{ours} quantities were measured for {values} values")]
    Count {
        /// The number of quantities.
        ours: usize,
        /// The number of the paper's values.
        values: usize,
    },
    /// The unit differs from the ledger's.
    #[error("`{quantity}` was measured in {ours}, and the ledger has {wanted}")]
    Unit {
        /// The quantity.
        quantity: String,
        /// Its unit.
        ours: String,
        /// The ledger's.
        wanted: String,
    },
    /// A curve in place of a number, or a number in place of a curve.
    #[error("`{0}` is a curve where the rule needs a number, or a number where it needs a curve")]
    Form(String),
    /// Curves that are compared were not measured at the same positions.
    #[error("curves of one comparison were measured at different positions")]
    Positions,
    /// The coordinate of a curve differs from the rule's.
    #[error("`{quantity}` was measured over `{ours}`, and the rule needs it over `{wanted}`")]
    Coordinate {
        /// The quantity.
        quantity: String,
        /// Its coordinate.
        ours: String,
        /// That of the rule.
        wanted: String,
    },
    /// The units of a number and of a quantity have different dimensions.
    #[error("`{quantity}` is in {unit}, which has another dimension than the unit in the rule")]
    Dimension {
        /// The quantity.
        quantity: String,
        /// Its unit.
        unit: String,
    },
    /// Quantities of one group are from different runs.
    #[error("the samples of group `{0}` are not paired")]
    Unpaired(String),
    /// An expression has no finite value.
    #[error("{0} has no value")]
    Undefined(String),
    /// There is no test for this form.
    #[error("there is no test for `{0}`")]
    Untested(&'static str),
    /// The rule cannot be parsed.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// Judges a claim by its measurements.
///
/// # Errors
/// If the measurements are not those that the claim needs.
pub fn judge(claim: &Claim, all: &[Measurement]) -> Result<Judgement, JudgeError> {
    let of_claim: Vec<&Measurement> = all.iter().filter(|m| m.claim == claim.id).collect();
    if of_claim.is_empty() {
        return Ok(Judgement {
            verdict: Verdict::NotRun,
            ours: Vec::new(),
            parts: Vec::new(),
        });
    }
    let ours = of_claim
        .iter()
        .map(|measurement| ours(measurement))
        .collect::<Result<Vec<_>, _>>()?;
    let (holds, parts) = if claim.kind.has_values() {
        (agree(claim, &ours)?, Vec::new())
    } else {
        let rule = claim.rule().transpose()?;
        let rule = rule.ok_or(RuleError::Nothing)?;
        let parts = relation::judge(&rule, &of_claim)?;
        (parts.iter().all(|part| part.holds), parts)
    };
    let verdict = if holds {
        Verdict::Holds
    } else {
        Verdict::Differs
    };
    Ok(Judgement {
        verdict,
        ours,
        parts,
    })
}

fn ours(measurement: &Measurement) -> Result<MeasuredQuantity, JudgeError> {
    let values: Vec<f64> = measurement.samples.iter().map(|s| s.value).collect();
    let missing = || JudgeError::Missing(measurement.quantity.clone());
    let estimate = Estimate::of(&values).ok_or_else(missing)?;
    Ok(MeasuredQuantity {
        quantity: measurement.quantity.clone(),
        at: measurement.at.clone(),
        unit: measurement.unit.clone(),
        value: estimate.mean,
        ci95: estimate.ci95,
        n: estimate.n,
        seed: measurement.samples.first().map_or(0, |sample| sample.seed),
    })
}

/// Whether each measured value is in the allowed range.
fn agree(claim: &Claim, ours: &[MeasuredQuantity]) -> Result<bool, JudgeError> {
    if ours.len() != claim.value.len() {
        return Err(JudgeError::Count {
            ours: ours.len(),
            values: claim.value.len(),
        });
    }
    for (ours, wanted) in ours.iter().zip(claim.units()) {
        if ours.unit != wanted {
            return Err(JudgeError::Unit {
                quantity: ours.quantity.clone(),
                ours: ours.unit.clone(),
                wanted: wanted.to_owned(),
            });
        }
    }
    let allowed = |(index, ours): (usize, &MeasuredQuantity)| claim.allows(index, ours.value);
    Ok(ours.iter().enumerate().all(allowed))
}

#[cfg(test)]
mod tests;
