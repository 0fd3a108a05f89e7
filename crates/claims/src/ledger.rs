//! Ledgers: the claims of the papers in one TOML file, those of this project in another.

mod check;
mod grammar;
mod rule;
mod units;

use polypath_document::{Document, Errors, read_checked};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use rule::{Call, Comparison, Each, Expr, Part, Quantity, Relation, Rule, RuleError, Scope};
pub use units::Dimension;
pub(crate) use units::{dimension_of, factor_of};

/// The ledger of the papers' claims.
pub const CLAIMS: &str = include_str!("../claims.toml");

/// The ledger of this project's own claims.
pub const OWN_CLAIMS: &str = include_str!("../own.toml");

/// The word before the first dot of this project's own claims, in place of a paper.
pub const OWN: &str = "own";

/// All claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// The claims, in the order of the file.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// One checkable statement of a paper, or of this project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The name, such as `ppd.fig3.order`, with the paper or `own` before the first dot.
    pub id: String,
    /// The place in the paper, or in the documentation.
    #[serde(rename = "where")]
    pub place: String,
    /// The kind of statement.
    pub kind: Kind,
    /// The statement.
    #[serde(rename = "says")]
    pub statement: String,
    /// The paper's values, or the stated bounds; empty for claims with a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value: Vec<f64>,
    /// The unit of all values, or that of each after commas.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The allowed deviation from each value, as a share of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub tol: Option<f64>,
    /// The allowed range for each value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Vec<[f64; 2]>>,
    /// The relations that have to hold, separated by `;`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Remarks, such as what the paper leaves open.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The kind of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An identity.
    Exact,
    /// A measured number.
    Value,
    /// A relation between measured quantities.
    Order,
    /// A form of a curve.
    Shape,
    /// An upper bound on each mean.
    Most,
    /// A lower bound on each mean.
    Least,
}

impl Document for Ledger {}

impl Ledger {
    /// Reads a ledger from the text of a file.
    ///
    /// # Errors
    /// All problems at once, each with its line and a remedy; a rule with a syntax error is one.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, Errors> {
        read_checked(text, file_name, &[], check::check).map(|(ledger, _)| ledger)
    }

    /// The built-in ledgers as one: the claims of the papers, then this project's own.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse); a test parses both.
    pub fn built_in() -> Result<Self, Errors> {
        let mut all = Self::parse(CLAIMS, "claims.toml")?;
        all.claims
            .extend(Self::parse(OWN_CLAIMS, "own.toml")?.claims);
        Ok(all)
    }

    /// The claim of this name.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.id == id)
    }

    /// The value `index` of a claim, such as a point of the paper's figure.
    #[must_use]
    pub fn value(&self, id: &str, index: usize) -> Option<f64> {
        self.find(id)?.value.get(index).copied()
    }
}

impl Kind {
    /// Whether a claim of this kind is judged by its values, without a rule.
    #[must_use]
    pub const fn has_values(self) -> bool {
        !matches!(self, Self::Order | Self::Shape)
    }

    /// The word in the ledger.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Value => "value",
            Self::Order => "order",
            Self::Shape => "shape",
            Self::Most => "most",
            Self::Least => "least",
        }
    }
}

impl Claim {
    /// The paper, or [`OWN`].
    #[must_use]
    pub fn paper(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    /// Whether this project states it itself.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.paper() == OWN
    }

    /// The unit of each value.
    #[must_use]
    pub fn units(&self) -> Vec<&str> {
        let units: Vec<&str> = self.unit.split(',').map(str::trim).collect();
        match units[..] {
            [unit] => vec![unit; self.value.len()],
            _ => units,
        }
    }

    /// The allowed range for value `index`, with an infinite end where the claim bounds one side
    /// only; `None` if there is no such value.
    #[must_use]
    pub fn range(&self, index: usize) -> Option<[f64; 2]> {
        let value = *self.value.get(index)?;
        match self.kind {
            Kind::Most => return Some([f64::NEG_INFINITY, value]),
            Kind::Least => return Some([value, f64::INFINITY]),
            _ => {}
        }
        let deviation = self.tol.unwrap_or(0.0) * value.abs();
        let bounds = self.bounds.as_ref().and_then(|bounds| bounds.get(index));
        Some(
            bounds
                .copied()
                .unwrap_or([value - deviation, value + deviation]),
        )
    }

    /// Whether `ours` is in the allowed range for value `index`.
    #[must_use]
    pub fn allows(&self, index: usize, ours: f64) -> bool {
        let range = self.range(index);
        range.is_some_and(|[low, high]| (low..=high).contains(&ours))
    }

    /// The rule, if there is one.
    ///
    /// # Errors
    /// If it cannot be parsed. The rules of a ledger from [`Ledger::parse`] can.
    pub fn rule(&self) -> Option<Result<Rule, RuleError>> {
        self.rule.as_deref().map(str::parse)
    }
}

#[cfg(test)]
mod tests;
