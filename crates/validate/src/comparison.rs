//! The comparison of a quantity with its reference.

use polypath_report::statistics::Estimate;
use serde::Serialize;

use crate::case::{Case, Check};

/// The mean of a quantity, its reference, and whether it is within the bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The name of the case and of the check.
    pub name: String,
    /// The unit of all figures; 1 for shares.
    pub unit: &'static str,
    /// The mean over the runs.
    pub ours: f64,
    /// Half of its 95 % interval (Student's t); `None` for a single run.
    pub ci95: Option<f64>,
    /// The reference.
    pub reference: f64,
    /// The largest allowed deviation from the reference.
    pub bound: f64,
    /// Whether the deviation is within the bound.
    pub holds: bool,
    /// The number of runs.
    pub runs: usize,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
}

impl Comparison {
    /// The comparison for the values of a case's runs; `None` without runs.
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
            // NaN is never within the bound.
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
        Comparison::of(case, &check, values).unwrap().holds
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
