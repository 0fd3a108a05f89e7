//! A network with what is demanded of it.

use polypath_batch::replica_seeds;
use polypath_scenario::Network;

use crate::ValidateError;
use crate::quantity::Quantity;

/// A network, how often it is run, and what is held against a reference.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, which says the suite first: `ns2/spacing/...`.
    pub name: String,
    /// What is run.
    pub network: Network,
    /// The seeds of its runs; a single one where nothing is random.
    pub seeds: Vec<u64>,
    /// What is demanded.
    pub checks: Vec<Check>,
}

/// A quantity with its reference and bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What it is called behind the name of its case.
    pub name: &'static str,
    /// What is taken from each run.
    pub quantity: Quantity,
    /// By what that is multiplied.
    pub factor: f64,
    /// The unit of the product and of the reference.
    pub unit: &'static str,
    /// The reference.
    pub reference: f64,
    /// How far the mean over the runs may be from it.
    pub tolerance: Tolerance,
}

/// A bound on the distance from a reference: the greater of a share of it and of a fixed distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The share of the reference.
    pub relative: f64,
    /// The fixed distance, in the unit of the reference.
    pub absolute: f64,
}

impl Case {
    /// A case from the text of a network and overrides, `runs` times.
    ///
    /// # Errors
    /// Where the file or an override is wrong.
    pub fn new(
        name: String,
        (file, text): (&str, &str),
        sets: &[String],
        runs: u32,
    ) -> Result<Self, ValidateError> {
        let read = |set: &String| {
            let bad = |error| ValidateError::Data(format!("{name}: `{set}`: {error}"));
            set.parse().map_err(bad)
        };
        let overrides = sets.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let network = Network::parse(text, file, &overrides)?;
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

    /// The share, but no less than a distance.
    #[must_use]
    pub const fn at_least(self, absolute: f64) -> Self {
        Self { absolute, ..self }
    }

    /// The distance that is allowed from `reference`.
    #[must_use]
    pub fn of(self, reference: f64) -> f64 {
        (self.relative * reference.abs()).max(self.absolute)
    }
}
