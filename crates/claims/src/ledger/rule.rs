//! Rules: relations between measured quantities.
//!
//! A rule has one or more parts, separated by `;`. A part is a relation: a comparison (`a < 0.7 *
//! b`, `delay < 10 ms`), a relative difference (`a ~ b within 0.1`, a share of `b`), a range (`a in
//! [760, 840] kb/s`), or a form of a curve (`monotone(a over load)`, `monotone(a over load,
//! falling)`, `monotone(a over load above .75)`, `a falls over time`, `bimodal(a)`). Qualifiers
//! follow: `for each s` and `for every other s` replace the segment `s` of a name, as in
//! `transfer.s`, by each measured one; `for s in a, b` lists the replacements; `at load >= .9`
//! restricts the coordinate. `at the end`, and other words after `at` or `for`, only describe. A
//! part without a relation is a remark.

use std::str::FromStr;

use super::grammar::parse;
use super::units::Dimension;

/// A rule; each of its parts has to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The parts, remarks among them.
    pub parts: Vec<Part>,
}

/// A part of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The text.
    pub text: String,
    /// The relation; `None` for a remark.
    pub relation: Option<Relation>,
    /// The names for which it has to hold.
    pub each: Each,
    /// The positions at which it has to hold.
    pub scope: Option<Scope>,
}

/// A relation.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// `left OP right`.
    Compare {
        /// The left side.
        left: Expr,
        /// The comparison.
        comparison: Comparison,
        /// The right side.
        right: Expr,
    },
    /// `left ~ right within share`: the difference is at most that share of the right side.
    Near {
        /// The left side.
        left: Expr,
        /// The right side.
        right: Expr,
        /// The maximum difference, as a share of the right side.
        within: f64,
    },
    /// `value in [low, high]`.
    In {
        /// The value.
        value: Expr,
        /// The lower bound.
        low: Quantity,
        /// The upper bound.
        high: Quantity,
    },
    /// The curve rises, or falls, with each step of its coordinate.
    Monotone {
        /// The name of the curve.
        curve: String,
        /// The name of the coordinate.
        over: String,
        /// Whether it has to fall.
        falling: bool,
        /// The position above which this has to hold, if not everywhere.
        above: Option<Quantity>,
    },
    /// The regression line through the curve falls.
    Falls {
        /// The name of the curve.
        curve: String,
        /// The name of the coordinate.
        over: String,
    },
    /// The samples have two modes.
    Bimodal {
        /// The name of the quantity.
        of: String,
    },
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Significantly less.
    Less,
    /// Not significantly more.
    AtMost,
    /// Significantly more.
    Greater,
    /// Not significantly less.
    AtLeast,
    /// Equal.
    Equal,
}

/// An expression: a number, or one number for each position of a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(Quantity),
    /// A measured quantity.
    Name(String),
    /// A binary operation, one of `+ - * / >`.
    Binary(Box<Expr>, char, Box<Expr>),
    /// A function call.
    Call(Call, Vec<Expr>),
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The absolute value of each.
    Abs,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
    /// The median.
    Median,
    /// The mean.
    Mean,
    /// The position of the maximum on its coordinate.
    Argmax,
    /// Pearson's correlation of two, position by position.
    Correlation,
    /// The length of each sequence of positions at which the argument is true.
    RunLength,
}

/// A number in its base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The value.
    pub value: f64,
    /// The dimension of its unit; `None` without a unit.
    pub dimension: Option<Dimension>,
}

/// The names for which a part has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Each {
    /// Only the names as written.
    Once,
    /// The segment is replaced by each measured name, or, if `other`, by each measured name that
    /// the part does not contain.
    Measured {
        /// The segment.
        segment: String,
        /// Whether it is `every other`.
        other: bool,
    },
    /// The segment is replaced by each of these names.
    Listed {
        /// The segment.
        segment: String,
        /// The names.
        names: Vec<String>,
    },
}

/// The positions of a coordinate at which a part has to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The name of the coordinate.
    pub coordinate: String,
    /// The comparison of the position with the bound.
    pub comparison: Comparison,
    /// The bound.
    pub bound: Quantity,
}

/// An error in a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A character without meaning.
    #[error("`{found}` has no meaning in `{part}`")]
    Character {
        /// The character.
        found: char,
        /// The part that contains it.
        part: String,
    },
    /// A syntax error.
    #[error("expected {expected} {} of `{part}`", before(rest))]
    Unexpected {
        /// The expected syntax.
        expected: &'static str,
        /// The text at that place.
        rest: String,
        /// The part that contains it.
        part: String,
    },
    /// An unknown function.
    #[error("there is no function `{0}`")]
    Function(String),
    /// A rule without a relation.
    #[error("it states no relation")]
    Nothing,
}

/// The place of an error, by the text that follows it.
fn before(rest: &str) -> String {
    match rest {
        "" => "at the end".to_owned(),
        rest => format!("before `{rest}`"),
    }
}

impl RuleError {
    /// A correct example.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Function(_) => {
                "there are abs, argmax, correlation, max, mean, median, min and run_length"
            }
            _ => "such as \"a.x < 0.5 * a.y; monotone(b over load, falling)\"",
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let parts = text.split(';').map(parse).collect::<Result<Vec<_>, _>>()?;
        if parts.iter().all(|part| part.relation.is_none()) {
            return Err(RuleError::Nothing);
        }
        Ok(Self { parts })
    }
}
