//! A verdict.

use polypath_report::statistics::Estimate;
use serde::Serialize;

use crate::case::{Case, Check};

/// A quantity beside its reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name of the case and of the check.
    pub name: String,
    /// The unit of all figures; 1 for shares.
    pub unit: &'static str,
    /// The mean over the runs.
    pub ours: f64,
    /// Half of its 95 % interval (Student's t); none of a single run.
    pub ci95: Option<f64>,
    /// What it is held against.
    pub reference: f64,
    /// The greatest distance from the reference that is allowed.
    pub bound: f64,
    /// Whether it is that near.
    pub holds: bool,
    /// How many runs.
    pub runs: usize,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
}

impl Row {
    /// The verdict over what the runs of a case gave; none of no runs.
    pub(crate) fn of(case: &Case, check: &Check, values: &[f64]) -> Option<Self> {
        let ours = Estimate::of(values)?;
        let bound = check.tolerance.of(check.reference);
        Some(Self {
            name: format!("{}/{}", case.name, check.name),
            unit: check.unit,
            ours: ours.mean,
            ci95: ours.ci95,
            reference: check.reference,
            bound,
            // What is no number is not near anything.
            holds: (ours.mean - check.reference).abs() <= bound,
            runs: ours.n,
            seeds: case.seeds.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{Kind, Quantity};
    use crate::{Scope, Tolerance, cases};

    fn holds(values: &[f64], reference: f64, bound: Tolerance) -> bool {
        let case = &cases(Scope::Reduced).unwrap()[0];
        let check = Check::new("test", Quantity::new(Kind::Drops, ""), reference, bound);
        Row::of(case, &check, values).unwrap().holds
    }

    #[test]
    fn a_mean_holds_within_the_bound_and_not_beyond() {
        let bound = Tolerance::share(0.1);
        assert!(holds(&[1.0, 1.19], 1.0, bound));
        assert!(!holds(&[1.0, 1.21], 1.0, bound));
        assert!(!holds(&[0.89], 1.0, bound));
        assert!(!holds(&[f64::NAN], 1.0, bound));
        assert!(holds(&[0.89], 1.0, bound.at_least(0.2)));
    }
}
