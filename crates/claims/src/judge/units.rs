//! Checks of the units and coordinates in a rule.

use super::JudgeError;
use super::eval::Measured;
use super::expand::names;
use crate::ledger::{Call, Dimension, Expr, Relation, Scope, dimension_of};
use crate::measurement::Measurement;

/// Rejects a rule whose coordinate differs from that of a curve.
pub(super) fn check_coordinates(
    relation: &Relation,
    scope: Option<&Scope>,
    all: &[&Measurement],
) -> Result<(), JudgeError> {
    let over = match relation {
        Relation::Monotone { over, .. } | Relation::Falls { over, .. } => Some(over),
        _ => scope.map(|scope| &scope.coordinate),
    };
    let Some(over) = over else {
        return Ok(());
    };
    for name in names(relation) {
        let mut positions = all.iter().filter(|m| m.quantity == name);
        let other = positions.find_map(|m| m.at.as_ref().filter(|at| at.coordinate != *over));
        if let Some(other) = other {
            return Err(JudgeError::Coordinate {
                quantity: name.to_owned(),
                ours: other.coordinate.clone(),
                wanted: over.clone(),
            });
        }
    }
    Ok(())
}

/// Rejects a comparison of a number and a quantity with different dimensions.
pub(super) fn check_dimensions(
    relation: &Relation,
    measured: &Measured<'_>,
) -> Result<(), JudgeError> {
    let (wanted, argmax) = match relation {
        Relation::Compare { left, right, .. } | Relation::Near { left, right, .. } => (
            dimension_in(left).or(dimension_in(right)),
            matches!(left, Expr::Call(Call::Argmax, _)),
        ),
        Relation::In { low, .. } => (low.dimension, false),
        Relation::Monotone { above, .. } => (above.and_then(|above| above.dimension), true),
        Relation::Falls { .. } | Relation::Bimodal { .. } => (None, false),
    };
    let Some(wanted) = wanted else {
        return Ok(());
    };
    for measurement in names(relation).iter().flat_map(|name| measured.of(name)) {
        let unit = match &measurement.at {
            Some(at) if argmax => &at.unit,
            _ => &measurement.unit,
        };
        if dimension_of(unit) != Some(wanted) {
            return Err(JudgeError::Dimension {
                quantity: measurement.quantity.clone(),
                unit: unit.clone(),
            });
        }
    }
    Ok(())
}

/// The dimension of the first number with a unit.
fn dimension_in(expr: &Expr) -> Option<Dimension> {
    match expr {
        Expr::Number(number) => number.dimension,
        Expr::Name(_) => None,
        Expr::Binary(left, _, right) => dimension_in(left).or(dimension_in(right)),
        Expr::Call(_, arguments) => arguments.iter().find_map(dimension_in),
    }
}

/// The base unit of an expression: s, b/s, or empty for others.
pub(super) fn unit_of(expr: &Expr, measured: &Measured<'_>) -> &'static str {
    let of = |expr: &Expr| unit_of(expr, measured);
    match expr {
        Expr::Number(number) => base_unit(number.dimension),
        Expr::Name(name) => {
            let unit = measured.of(name).next().map(|m| dimension_of(&m.unit));
            base_unit(unit.flatten())
        }
        Expr::Binary(left, '+' | '-', right) => match of(left) {
            "" => of(right),
            known => known,
        },
        Expr::Binary(left, '*', right) if matches!(**left, Expr::Number(_)) => of(right),
        Expr::Binary(..) | Expr::Call(Call::Argmax | Call::Correlation | Call::RunLength, _) => "",
        Expr::Call(_, arguments) => arguments.first().map_or("", of),
    }
}

fn base_unit(dimension: Option<Dimension>) -> &'static str {
    match dimension {
        Some(Dimension::Time) => "s",
        Some(Dimension::Rate) => "b/s",
        None => "",
    }
}
