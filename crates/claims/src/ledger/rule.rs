//! Rules: relations between measured quantities.
//!
//! A rule is one or more parts, divided by `;`. A part is a relation: a comparison (`a < 0.7 * b`, `delay < 10 ms`), a
//! likeness (`a ~ b within 0.1`, a share of `b`), a range (`a in [760, 840] kb/s`), or a form of a curve (`monotone(a
//! over load)`, `monotone(a over load, falling)`, `monotone(a over load above .75)`, `a falls over time`,
//! `bimodal(a)`). What follows says for which it has to hold: `for each s` and `for every other s` let the segment `s`
//! of a name, as in `transfer.s`, be whatever is measured, `for s in a, b` lists it, `at load >= .9` bounds the
//! coordinate; `at the end`, and other words after `at` or `for`, say what the quantity is. A part without any relation is
//! a remark.

use std::str::FromStr;

use super::grammar::parse;
use super::units::Dimension;

/// Parts, each of which has to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The parts, remarks among them.
    pub parts: Vec<Part>,
}

/// A part of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// As it is written.
    pub text: String,
    /// What has to hold; nothing of a remark.
    pub relation: Option<Relation>,
    /// For which names it has to.
    pub each: Each,
    /// Where on the coordinate it has to.
    pub scope: Option<Scope>,
}

/// A relation.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// `left OP right`.
    Compare {
        /// What stands on the left.
        left: Expr,
        /// How they compare.
        comparison: Comparison,
        /// What stands on the right.
        right: Expr,
    },
    /// `left ~ right within share`: the distance is no more than that share of the right one.
    Near {
        /// What stands on the left.
        left: Expr,
        /// What it is to be like.
        right: Expr,
        /// The greatest distance, as a share of it.
        within: f64,
    },
    /// `value in [low, high]`.
    In {
        /// What has to be there.
        value: Expr,
        /// The lower bound.
        low: Quantity,
        /// The upper bound.
        high: Quantity,
    },
    /// The curve nowhere turns: with each step of its coordinate it rises, or falls.
    Monotone {
        /// The name of the curve.
        curve: String,
        /// The coordinate over which it is one.
        over: String,
        /// Whether it falls.
        falling: bool,
        /// Where it begins, if not at its first position.
        above: Option<Quantity>,
    },
    /// The curve falls by and large: a straight line through it does.
    Falls {
        /// The name of the curve.
        curve: String,
        /// The coordinate over which it is one.
        over: String,
    },
    /// The samples have two modes.
    Bimodal {
        /// The name of the quantity.
        of: String,
    },
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Less, proven.
    Less,
    /// Not proven to be more.
    AtMost,
    /// More, proven.
    Greater,
    /// Not proven to be less.
    AtLeast,
    /// Equal.
    Equal,
}

/// A number that follows from what is measured, or one for each position of a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(Quantity),
    /// A measured quantity.
    Name(String),
    /// The second operation on the other two: one of `+ - * / >`.
    Binary(Box<Expr>, char, Box<Expr>),
    /// A function.
    Call(Call, Vec<Expr>),
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The absolute value of each.
    Abs,
    /// The greatest.
    Max,
    /// The least.
    Min,
    /// The median.
    Median,
    /// The mean.
    Mean,
    /// The position of the greatest on its coordinate.
    Argmax,
    /// Pearson's correlation of two, position by position.
    Correlation,
    /// How long each run of positions is where something is true.
    RunLength,
}

/// A number, in the base of its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// How much.
    pub value: f64,
    /// What its unit measures; nothing of a bare number.
    pub dimension: Option<Dimension>,
}

/// For which names a part has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Each {
    /// As it is written.
    Once,
    /// With the segment of this name replaced by each that is measured; by those alone that do not stand in the part
    /// by their own name, if `other`.
    Measured {
        /// The segment.
        segment: String,
        /// Whether it is `every other`.
        other: bool,
    },
    /// With the segment replaced by each of these.
    Listed {
        /// The segment.
        segment: String,
        /// What takes its place.
        names: Vec<String>,
    },
}

/// Where a part has to hold: at the positions of a coordinate that compare so.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The coordinate, as it is called there.
    pub coordinate: String,
    /// How they compare.
    pub comparison: Comparison,
    /// With what.
    pub bound: Quantity,
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A character that means nothing.
    #[error("`{found}` has no meaning in `{part}`")]
    Character {
        /// The character.
        found: char,
        /// The part where it stands.
        part: String,
    },
    /// Something else was expected.
    #[error("expected {expected} {} of `{part}`", before(rest))]
    Unexpected {
        /// What.
        expected: &'static str,
        /// What stands there.
        rest: String,
        /// The part where it stands.
        part: String,
    },
    /// There is no such function.
    #[error("there is no function `{0}`")]
    Function(String),
    /// It has no relation.
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
    /// What would be right.
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
