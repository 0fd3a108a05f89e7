//! Tests of relations.

use super::eval::{LeftOut, Measured, Value, argmax, point};
use super::expand::{expand, names, names_in};
use super::interval::{Interval, interval};
use super::modes::bimodal;
use super::units::{check_coordinates, check_dimensions, unit_of};
use super::{JudgeError, PartJudgement, Test};
use crate::ledger::{Call, Comparison, Expr, Part, Quantity, Relation, Rule, Scope};
use crate::measurement::{Measurement, Position};

/// Judges every part that is not a remark.
pub(super) fn judge(
    rule: &Rule,
    measured: &[&Measurement],
) -> Result<Vec<PartJudgement>, JudgeError> {
    let parts = rule.parts.iter().filter(|part| part.relation.is_some());
    parts.map(|part| judge_part(part, measured)).collect()
}

fn judge_part(part: &Part, all: &[&Measurement]) -> Result<PartJudgement, JudgeError> {
    let within = |measurement: &&&Measurement| {
        let scope = part.scope.as_ref().zip(measurement.at.as_ref());
        scope.is_none_or(|(scope, at)| scope.holds(at))
    };
    let all = over_its_coordinate(part, all);
    let measured = Measured(all.iter().filter(within).copied().collect());
    let mut tests = Vec::new();
    for relation in expand(part, &measured)? {
        check_coordinates(&relation, part.scope.as_ref(), &all)?;
        check_dimensions(&relation, &measured)?;
        tests.extend(test(&relation, &measured)?);
    }
    Ok(PartJudgement {
        part: part.text.clone(),
        holds: !tests.is_empty() && tests.iter().all(|test| test.holds),
        tests,
    })
}

/// The measurements without those of the part's curve over other coordinates.
fn over_its_coordinate<'a>(part: &Part, all: &[&'a Measurement]) -> Vec<&'a Measurement> {
    let (Some(Relation::Monotone { curve, over, .. } | Relation::Falls { curve, over }), all) =
        (&part.relation, all.to_vec())
    else {
        return all.to_vec();
    };
    let is_over = |m: &Measurement| m.at.as_ref().is_some_and(|at| at.coordinate == *over);
    let of_curve = |m: &Measurement| m.quantity == *curve;
    if !all.iter().any(|m| of_curve(m) && is_over(m)) {
        return all;
    }
    let kept = all.into_iter().filter(|m| !of_curve(m) || is_over(m));
    kept.collect()
}

impl Scope {
    fn holds(&self, at: &Position) -> bool {
        let (at, bound) = (at.base(), self.bound.value);
        match self.comparison {
            Comparison::Less => at < bound,
            Comparison::AtMost => at <= bound,
            Comparison::Greater => at > bound,
            Comparison::AtLeast => at >= bound,
            Comparison::Equal => (at - bound).abs() < 1e-9,
        }
    }
}

fn bare(value: f64) -> Expr {
    Expr::Number(Quantity {
        value,
        dimension: None,
    })
}

fn test(relation: &Relation, measured: &Measured<'_>) -> Result<Vec<Test>, JudgeError> {
    match relation {
        Relation::Compare {
            left,
            comparison,
            right,
        } => compare(left, *comparison, right, measured),
        Relation::Near {
            left,
            right,
            within,
        } => {
            let share = bare(*within);
            let allowed = product(share, Expr::Call(Call::Abs, vec![right.clone()]));
            let distance = difference(left.clone(), right.clone());
            let distance = Expr::Call(Call::Abs, vec![distance]);
            at_means(relation, &[difference(allowed, distance)], measured)
        }
        Relation::In { value, low, high } => {
            let above = difference(value.clone(), Expr::Number(*low));
            let below = difference(Expr::Number(*high), value.clone());
            at_means(relation, &[above, below], measured)
        }
        Relation::Monotone {
            curve,
            falling,
            above,
            ..
        } => monotone(curve, *falling, above.map(|above| above.value), measured),
        Relation::Falls { curve, .. } => falls(curve, measured).map(|test| vec![test]),
        Relation::Bimodal { of } => bimodal(of, measured).map(|test| vec![test]),
    }
}

fn compare(
    left: &Expr,
    comparison: Comparison,
    right: &Expr,
    measured: &Measured<'_>,
) -> Result<Vec<Test>, JudgeError> {
    if let (Expr::Call(Call::Argmax, curve), Comparison::Greater, Expr::Number(bound)) =
        (left, comparison, right)
    {
        return greatest_beyond(curve, bound.value, measured).map(|test| vec![test]);
    }
    let margin = match comparison {
        Comparison::Less | Comparison::AtMost => difference(right.clone(), left.clone()),
        _ => difference(left.clone(), right.clone()),
    };
    let label = [names_in(left), names_in(right)].concat().join(", ");
    let unit = unit_of(&margin, measured);
    let judged = each_position(&margin, measured)?.into_iter();
    let test = |(at, margin): (Option<f64>, Interval)| {
        let holds = match comparison {
            Comparison::Less | Comparison::Greater => margin.is_positive(),
            Comparison::AtMost | Comparison::AtLeast => margin.is_not_negative(1),
            Comparison::Equal => margin.value.abs() <= margin.ci95().unwrap_or(0.0),
        };
        Test::new(labelled(&label, at), holds, margin, unit)
    };
    Ok(judged.map(test).collect())
}

/// Tests whether the means of expressions are not negative.
fn at_means(
    relation: &Relation,
    margins: &[Expr],
    measured: &Measured<'_>,
) -> Result<Vec<Test>, JudgeError> {
    let label = names(relation).join(", ");
    let mut tests = Vec::new();
    for margin in margins {
        let unit = unit_of(margin, measured);
        for (at, margin) in each_position(margin, measured)? {
            let holds = margin.value >= 0.0;
            tests.push(Test::new(labelled(&label, at), holds, margin, unit));
        }
    }
    Ok(tests)
}

/// Tests whether the maximum value of a curve is beyond `bound`: it is significantly greater than
/// each value up to the bound, at a level that accounts for its selection as the maximum.
fn greatest_beyond(
    arguments: &[Expr],
    bound: f64,
    measured: &Measured<'_>,
) -> Result<Test, JudgeError> {
    let [Expr::Name(name)] = arguments else {
        return Err(JudgeError::Untested("argmax of an expression"));
    };
    let value = measured.value(&Expr::Name(name.clone()), None)?;
    let form = || JudgeError::Form(name.clone());
    let best = argmax(&value).ok_or_else(form)?;
    let Value::Curve(points) = value else {
        return Err(form());
    };
    let label = format!("{name}, greatest at {best}");
    let beyond = points.iter().filter(|(at, _)| *at > bound).count();
    let mut least: Option<Interval> = None;
    for (at, _) in points.iter().filter(|(at, _)| *at <= bound) {
        let margin = step(name, [*at, best], 1.0, measured)?;
        if least.is_none_or(|least| margin.least(beyond) < least.least(beyond)) {
            least = Some(margin);
        }
    }
    let margin = least.ok_or_else(form)?;
    let unit = unit_of(&Expr::Name(name.clone()), measured);
    let holds = best > bound && margin.least(beyond) > 0.0;
    Ok(Test::new(label, holds, margin, unit))
}

/// Tests whether no step of a curve is significantly in the wrong direction, and its ends
/// significantly in the right one.
fn monotone(
    name: &str,
    falling: bool,
    above: Option<f64>,
    measured: &Measured<'_>,
) -> Result<Vec<Test>, JudgeError> {
    let Value::Curve(points) = measured.value(&Expr::Name(name.to_owned()), None)? else {
        return Err(JudgeError::Form(name.to_owned()));
    };
    let positions = points.iter().map(|(at, _)| *at);
    let positions: Vec<f64> = positions
        .filter(|at| above.is_none_or(|above| *at > above))
        .collect();
    let [first, .., last] = positions[..] else {
        return Err(JudgeError::Form(name.to_owned()));
    };
    let sign = if falling { -1.0 } else { 1.0 };
    let label = |[from, to]: [f64; 2]| format!("{name} from {from} to {to}");
    let ends = step(name, [first, last], sign, measured)?;
    let unit = unit_of(&Expr::Name(name.to_owned()), measured);
    let label_of_ends = label([first, last]);
    let mut tests = vec![Test::new(label_of_ends, ends.is_positive(), ends, unit)];
    let steps = positions.len() - 1;
    for pair in positions.windows(2) {
        let pair = [pair[0], pair[1]];
        let margin = step(name, pair, sign, measured)?;
        let holds = margin.is_not_negative(steps);
        tests.push(Test::new(label(pair), holds, margin, unit));
    }
    Ok(tests)
}

/// Tests whether the regression line through a curve falls significantly.
fn falls(name: &str, measured: &Measured<'_>) -> Result<Test, JudgeError> {
    let curve = Expr::Name(name.to_owned());
    let fall = interval(measured, &[name], |out| {
        let Value::Curve(points) = measured.value(&curve, out)? else {
            return Err(JudgeError::Form(name.to_owned()));
        };
        slope(&points)
            .map(|slope| -slope)
            .ok_or_else(|| JudgeError::Form(name.to_owned()))
    })?;
    let label = format!("fall of {name} per unit of its coordinate");
    Ok(Test::new(label, fall.is_positive(), fall, ""))
}

/// The slope of the least-squares line.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
    let (x, y) = (x / n, y / n);
    let squares: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let both: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (squares > 0.0).then(|| both / squares)
}

/// The rise of a curve from one position to another, times `sign`.
fn step(
    name: &str,
    [from, to]: [f64; 2],
    sign: f64,
    measured: &Measured<'_>,
) -> Result<Interval, JudgeError> {
    let curve = Expr::Name(name.to_owned());
    interval(measured, &[name], |out| {
        let value = measured.value(&curve, out)?;
        let [from, to] = [from, to].map(|at| position(&value, at));
        let rise = to.zip(from).map(|(to, from)| sign * (to - from));
        rise.ok_or_else(|| JudgeError::Form(name.to_owned()))
    })
}

/// The interval of an expression at each of its positions.
fn each_position(
    expr: &Expr,
    measured: &Measured<'_>,
) -> Result<Vec<(Option<f64>, Interval)>, JudgeError> {
    let positions: Vec<Option<f64>> = match measured.value(expr, None)? {
        Value::Number(_) => vec![None],
        Value::Curve(points) => points.iter().map(|(at, _)| Some(*at)).collect(),
    };
    let names = names_in(expr);
    let of = |at: Option<f64>| {
        let value = |out: Option<LeftOut<'_>>| match (measured.value(expr, out)?, at) {
            (Value::Number(number), None) => Ok(number),
            (value, Some(at)) => {
                position(&value, at).ok_or_else(|| JudgeError::Form(names.join(", ")))
            }
            _ => Err(JudgeError::Form(names.join(", "))),
        };
        Ok((at, interval(measured, &names, value)?))
    };
    positions.into_iter().map(of).collect()
}

fn position(value: &Value, at: f64) -> Option<f64> {
    match value {
        Value::Number(_) => None,
        Value::Curve(points) => point(points, at),
    }
}

fn labelled(label: &str, at: Option<f64>) -> String {
    at.map_or_else(|| label.to_owned(), |at| format!("{label} at {at}"))
}

fn difference(left: Expr, right: Expr) -> Expr {
    Expr::Binary(Box::new(left), '-', Box::new(right))
}

fn product(left: Expr, right: Expr) -> Expr {
    Expr::Binary(Box::new(left), '*', Box::new(right))
}

impl Test {
    fn new(of: String, holds: bool, margin: Interval, unit: &'static str) -> Self {
        Self {
            of,
            unit,
            holds,
            margin: margin.value,
            ci95: margin.ci95(),
        }
    }
}
