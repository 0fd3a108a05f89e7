//! Verdicts: claims held against what was measured.
//!
//! A value of ours is the mean over the runs, with its 95 % interval (Student's t). What a rule compares is computed
//! from the means; its interval comes from the jackknife over the runs: each run is left out in turn, and
//! quantities of one group lose the same run, so that what they share cancels. Several groups are independent, and
//! their variances add up, with the degrees of freedom of Welch and Satterthwaite. Quantities of a single run have no
//! interval, and are compared as they are. Where a form of a curve is tested step by step, the level of each step is
//! such that all are right together with 95 % (Bonferroni).

mod dip;
mod eval;
mod expand;
mod interval;
mod modes;
mod relation;
mod units;

use polypath_report::statistics::Estimate;
use serde::Serialize;

use crate::ledger::{Claim, Kind, RuleError};
use crate::measurement::{Measurement, Position};

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Ours agrees with it.
    #[serde(rename = "holds")]
    Holds,
    /// Ours does not.
    #[serde(rename = "differs")]
    Differs,
    /// Nothing of it was measured.
    #[serde(rename = "not run")]
    NotRun,
}

/// What was measured of a claim, and what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Whether it holds.
    pub verdict: Verdict,
    /// What was measured.
    pub ours: Vec<Ours>,
    /// The parts of its rule, in their order; none of a claim with values.
    pub parts: Vec<PartJudgement>,
}

/// A measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// Its name.
    pub quantity: String,
    /// Where it was measured, if it is a curve.
    pub at: Option<Position>,
    /// Its unit.
    pub unit: String,
    /// The mean over the runs.
    pub value: f64,
    /// Half of its 95 % interval; none of a single run.
    pub ci95: Option<f64>,
    /// How many runs.
    pub n: usize,
    /// The seed of the first.
    pub seed: u64,
}

/// A part of a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartJudgement {
    /// As the rule says it.
    pub part: String,
    /// Whether it holds.
    pub holds: bool,
    /// What it comes down to, for each name and position for which it has to hold.
    pub tests: Vec<Test>,
}

/// A single comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Test {
    /// What is compared, with names in the place of segments, and the position.
    pub of: String,
    /// Whether it holds.
    pub holds: bool,
    /// By how much more than needed the relation is met; negative if it is not.
    pub margin: f64,
    /// The unit of that, s or b/s; empty where it has none, or one that rules do not know.
    pub unit: &'static str,
    /// Half of the 95 % interval of that; none of single runs.
    pub ci95: Option<f64>,
}

/// Why a claim cannot be judged by what was measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JudgeError {
    /// A rule names something else.
    #[error("`{0}` was not measured for this claim")]
    Missing(String),
    /// A quantity was measured twice at one position.
    #[error("`{0}` was measured twice")]
    Twice(String),
    /// Not as many quantities as values.
    #[error("{ours} quantities were measured for {values} values")]
    Count {
        /// The quantities measured.
        ours: usize,
        /// The paper's values.
        values: usize,
    },
    /// The unit is not the ledger's.
    #[error("`{quantity}` was measured in {ours}, and the ledger has {wanted}")]
    Unit {
        /// The quantity.
        quantity: String,
        /// Its unit.
        ours: String,
        /// The ledger's.
        wanted: String,
    },
    /// A curve where one number is needed, or the other way.
    #[error(
        "`{0}` is a curve where the rule wants one number, or one number where it wants a curve"
    )]
    Form(String),
    /// Curves that are compared were not measured at the same positions.
    #[error("curves of one comparison were measured at different positions")]
    Positions,
    /// The coordinate of a rule is not that of a curve.
    #[error("`{quantity}` was measured over `{ours}`, and the rule wants it over `{wanted}`")]
    Coordinate {
        /// The quantity.
        quantity: String,
        /// Its coordinate.
        ours: String,
        /// That of the rule.
        wanted: String,
    },
    /// A number of a rule has a unit with which that of a quantity cannot be compared.
    #[error("`{quantity}` is in {unit}, which the unit in the rule does not measure")]
    Dimension {
        /// The quantity.
        quantity: String,
        /// Its unit.
        unit: String,
    },
    /// Quantities of one group are not of the same runs.
    #[error("the samples of group `{0}` are not paired")]
    Unpaired(String),
    /// Something has no value, such as a share of nothing.
    #[error("{0} has no value")]
    Undefined(String),
    /// No test of this form is known here.
    #[error("no test for `{0}` is known")]
    Untested(&'static str),
    /// The rule cannot be read.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// Holds a claim against the measurements that are of it.
///
/// # Errors
/// Where they are not what the claim needs.
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
    let (holds, parts) = match claim.kind {
        Kind::Exact | Kind::Value => (agree(claim, &ours)?, Vec::new()),
        Kind::Order | Kind::Shape => {
            let rule = claim.rule().transpose()?;
            let rule = rule.ok_or(RuleError::Nothing)?;
            let parts = relation::judge(&rule, &of_claim)?;
            (parts.iter().all(|part| part.holds), parts)
        }
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

fn ours(measurement: &Measurement) -> Result<Ours, JudgeError> {
    let values: Vec<f64> = measurement.samples.iter().map(|s| s.value).collect();
    let missing = || JudgeError::Missing(measurement.quantity.clone());
    let estimate = Estimate::of(&values).ok_or_else(missing)?;
    Ok(Ours {
        quantity: measurement.quantity.clone(),
        at: measurement.at.clone(),
        unit: measurement.unit.clone(),
        value: estimate.mean,
        ci95: estimate.ci95,
        n: estimate.n,
        seed: measurement.samples.first().map_or(0, |sample| sample.seed),
    })
}

/// Whether each value of ours is as near to the paper's as the ledger wants.
fn agree(claim: &Claim, ours: &[Ours]) -> Result<bool, JudgeError> {
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
    let allowed = |(index, ours): (usize, &Ours)| claim.allows(index, ours.value);
    Ok(ours.iter().enumerate().all(allowed))
}

#[cfg(test)]
mod tests;
