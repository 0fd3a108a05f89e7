//! A network with its checks.

use polypath_batch::replica_seeds;
use polypath_scenario::Network;

use crate::ValidateError;
use crate::quantity::Quantity;

/// A network, the seeds of its runs, and the comparisons with references.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, starting with the suite: `ns2/spacing/...`.
    pub name: String,
    /// The network.
    pub network: Network,
    /// The seeds of its runs; a single one if nothing is random.
    pub seeds: Vec<u64>,
    /// The checks.
    pub checks: Vec<Check>,
}

/// A scenario file of the validation.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name, for errors.
    pub file: &'static str,
    /// Its content.
    pub text: &'static str,
}

/// A quantity with its reference and bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name, appended to that of its case.
    pub name: &'static str,
    /// The quantity measured in each run.
    pub quantity: Quantity,
    /// A factor for the quantity.
    pub factor: f64,
    /// The unit of the product and of the reference.
    pub unit: &'static str,
    /// The reference.
    pub reference: f64,
    /// The allowed deviation of the mean over the runs.
    pub tolerance: Tolerance,
}

/// A bound on the deviation from a reference: the larger of a share of it and a fixed deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The share of the reference.
    pub relative: f64,
    /// The fixed deviation, in the unit of the reference.
    pub absolute: f64,
}

impl Case {
    /// A case from the text of a network and overrides, `runs` times.
    ///
    /// # Errors
    /// If the file or an override is wrong.
    pub fn new(
        name: String,
        scenario: Scenario,
        sets: &[String],
        runs: u32,
    ) -> Result<Self, ValidateError> {
        let read = |set: &String| {
            let bad = |error| ValidateError::Data(format!("{name}: `{set}`: {error}"));
            set.parse().map_err(bad)
        };
        let overrides = sets.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let network = Network::parse(scenario.text, scenario.file, &overrides)?;
        Ok(Self {
            seeds: replica_seeds(network.seed, runs),
            name,
            network,
            checks: Vec::new(),
        })
    }

    /// The case with one more check.
    #[must_use]
    pub fn with(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }
}

impl Check {
    /// A check of a quantity in its own unit.
    #[must_use]
    pub fn new(name: &'static str, quantity: Quantity, reference: f64, bound: Tolerance) -> Self {
        Self {
            name,
            unit: quantity.kind.unit(),
            quantity,
            factor: 1.0,
            reference,
            tolerance: bound,
        }
    }
}

impl Tolerance {
    /// A share of the reference alone.
    #[must_use]
    pub const fn share(relative: f64) -> Self {
        Self {
            relative,
            absolute: 0.0,
        }
    }

    /// The share, but at least this deviation.
    #[must_use]
    pub const fn at_least(self, absolute: f64) -> Self {
        Self { absolute, ..self }
    }

    /// The allowed deviation from `reference`.
    #[must_use]
    pub fn of(self, reference: f64) -> f64 {
        (self.relative * reference.abs()).max(self.absolute)
    }
}
