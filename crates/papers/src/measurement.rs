//! What a figure measures, by the names that the ledger's rules use.

use serde::{Deserialize, Serialize};

/// A quantity of a claim: a number, or one for each position of a coordinate, with the runs that it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The claim that is judged by it.
    pub claim: String,
    /// Its name in the claim's rule, such as `transfer.ppd1`; of a claim with values the order in which quantities are
    /// measured is that of the values.
    pub quantity: String,
    /// Where it is measured, for a quantity that is a curve, such as the load; nothing for a single number.
    pub at: Option<f64>,
    /// Its unit, as the ledger writes it.
    pub unit: String,
    /// Quantities of one group come from the same runs: their samples are paired by position.
    pub group: String,
    /// A value from each run.
    pub samples: Vec<Sample>,
}

/// A value from one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The seed of the run.
    pub seed: u64,
    /// What it gave.
    pub value: f64,
}

impl Measurement {
    /// A quantity that follows from no random run.
    #[must_use]
    pub fn exact(claim: &str, quantity: &str, unit: &str, value: f64) -> Self {
        Self::of(claim, quantity, unit, "exact", &[Sample { seed: 0, value }])
    }

    /// A quantity from runs.
    #[must_use]
    pub fn of(claim: &str, quantity: &str, unit: &str, group: &str, samples: &[Sample]) -> Self {
        Self {
            claim: claim.to_owned(),
            quantity: quantity.to_owned(),
            at: None,
            unit: unit.to_owned(),
            group: group.to_owned(),
            samples: samples.to_vec(),
        }
    }

    /// The same at a position of its coordinate.
    #[must_use]
    pub fn at(self, at: f64) -> Self {
        Self {
            at: Some(at),
            ..self
        }
    }
}
