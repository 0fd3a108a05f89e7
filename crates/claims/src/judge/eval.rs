//! Evaluation of expressions.

use polypath_report::statistics::quantile;

use super::JudgeError;
use crate::ledger::{Call, Expr, factor_of};
use crate::measurement::{Measurement, Position};

/// A number, or a curve as positions and values, by position.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Curve(Vec<(f64, f64)>),
}

/// The run that the jackknife leaves out: an index into the samples of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeftOut<'a> {
    pub(super) group: &'a str,
    pub(super) position: usize,
}

/// The measurements that are relevant for a part.
#[derive(Clone, Debug)]
pub(super) struct Measured<'a>(pub(super) Vec<&'a Measurement>);

impl<'a> Measured<'a> {
    /// The measurements of a quantity.
    pub(super) fn of<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'a Measurement> + 'b {
        let all = self.0.iter().copied();
        all.filter(move |measurement| measurement.quantity == name)
    }

    /// The value of `expr` in base units, without the run `out`.
    pub(super) fn value(&self, expr: &Expr, out: Option<LeftOut<'_>>) -> Result<Value, JudgeError> {
        match expr {
            Expr::Number(number) => Ok(Value::Number(number.value)),
            Expr::Name(name) => self.named(name, out),
            Expr::Binary(left, operation, right) => {
                let (left, right) = (self.value(left, out)?, self.value(right, out)?);
                combine(left, *operation, right)
            }
            Expr::Call(call, arguments) => {
                let values = arguments.iter().map(|argument| self.value(argument, out));
                apply(*call, &values.collect::<Result<Vec<_>, _>>()?)
            }
        }
    }

    fn named(&self, name: &str, out: Option<LeftOut<'_>>) -> Result<Value, JudgeError> {
        let mut curve = Vec::new();
        let mut number = None;
        for measurement in self.of(name) {
            let mean = mean(measurement, out)? * factor_of(&measurement.unit);
            match measurement.at.as_ref().map(Position::base) {
                None if number.replace(mean).is_some() => {
                    return Err(JudgeError::Twice(name.to_owned()));
                }
                None => {}
                Some(at) => curve.push((at, mean)),
            }
        }
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        if curve.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(JudgeError::Twice(name.to_owned()));
        }
        match number {
            Some(number) if curve.is_empty() => return Ok(Value::Number(number)),
            Some(_) => return Err(JudgeError::Form(name.to_owned())),
            None if curve.is_empty() => return Err(JudgeError::Missing(name.to_owned())),
            None => {}
        }
        Ok(Value::Curve(curve))
    }
}

impl Position {
    /// The position in its base unit.
    pub(super) fn base(&self) -> f64 {
        self.value * factor_of(&self.unit)
    }
}

impl Value {
    /// The numbers without positions.
    pub(super) fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Number(number) => vec![*number],
            Self::Curve(curve) => curve.iter().map(|(_, value)| *value).collect(),
        }
    }

    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Number(number) => Self::Number(f(number)),
            Self::Curve(curve) => Self::Curve(
                curve
                    .into_iter()
                    .map(|(at, value)| (at, f(value)))
                    .collect(),
            ),
        }
    }
}

fn mean(measurement: &Measurement, out: Option<LeftOut<'_>>) -> Result<f64, JudgeError> {
    let out = out.filter(|out| out.group == measurement.group);
    let skipped = out.map(|out| out.position);
    let samples = measurement.samples.iter().enumerate();
    let kept = samples.filter(|(position, _)| Some(*position) != skipped);
    let (mut sum, mut n) = (0.0, 0_u32);
    for (_, sample) in kept {
        sum += sample.value;
        n += 1;
    }
    if n == 0 {
        return Err(JudgeError::Missing(measurement.quantity.clone()));
    }
    Ok(sum / f64::from(n))
}

fn combine(left: Value, operation: char, right: Value) -> Result<Value, JudgeError> {
    let f = |a: f64, b: f64| match operation {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' => a / b,
        _ => f64::from(u8::from(a > b)),
    };
    let combined = match (left, right) {
        (Value::Number(a), right) => right.map(|b| f(a, b)),
        (left, Value::Number(b)) => left.map(|a| f(a, b)),
        (Value::Curve(left), Value::Curve(right)) => {
            if !same_positions(&left, &right) {
                return Err(JudgeError::Positions);
            }
            let both = |(at, a, b)| (at, f(a, b));
            Value::Curve(pairs(&left, &right).map(both).collect())
        }
    };
    let numbers = combined.numbers();
    if numbers.is_empty() || numbers.iter().any(|number| !number.is_finite()) {
        return Err(JudgeError::Undefined(format!("one side of `{operation}`")));
    }
    Ok(combined)
}

fn apply(call: Call, arguments: &[Value]) -> Result<Value, JudgeError> {
    let undefined = || JudgeError::Undefined(format!("{call:?}"));
    let [first, rest @ ..] = arguments else {
        return Err(undefined());
    };
    if call == Call::Abs {
        return Ok(first.clone().map(f64::abs));
    }
    let numbers = first.numbers();
    let number = match call {
        Call::Max => numbers.iter().copied().reduce(f64::max),
        Call::Min => numbers.iter().copied().reduce(f64::min),
        Call::Median => quantile(&numbers, 0.5),
        Call::Mean => Some(numbers.iter().sum::<f64>() / numbers.len() as f64),
        Call::Argmax => argmax(first),
        Call::Correlation => match rest {
            [second] => correlation(first, second)?,
            _ => None,
        },
        Call::RunLength => return Ok(Value::Curve(run_lengths(&numbers))),
        Call::Abs => None,
    };
    let number = number.filter(|number| number.is_finite());
    number.map(Value::Number).ok_or_else(undefined)
}

/// The value of a curve at one of its positions.
pub(super) fn point(curve: &[(f64, f64)], at: f64) -> Option<f64> {
    let found = curve.binary_search_by(|(other, _)| other.total_cmp(&at));
    found.ok().map(|index| curve[index].1)
}

fn same_positions(x: &[(f64, f64)], y: &[(f64, f64)]) -> bool {
    let at = |curve: &[(f64, f64)]| curve.iter().map(|(at, _)| at.to_bits()).collect::<Vec<_>>();
    at(x) == at(y)
}

/// The common positions of two curves with both values.
fn pairs(x: &[(f64, f64)], y: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64, f64)> {
    x.iter()
        .filter_map(|(at, x)| Some((*at, *x, point(y, *at)?)))
}

/// The position of the maximum value; the first of equal ones.
pub(super) fn argmax(value: &Value) -> Option<f64> {
    let Value::Curve(curve) = value else {
        return None;
    };
    let greater = |best: (f64, f64), next: (f64, f64)| if next.1 > best.1 { next } else { best };
    curve.iter().copied().reduce(greater).map(|(at, _)| at)
}

/// Pearson's correlation of two curves; `None` if one of them is constant.
///
/// # Errors
/// If their positions differ.
fn correlation(x: &Value, y: &Value) -> Result<Option<f64>, JudgeError> {
    let (Value::Curve(x), Value::Curve(y)) = (x, y) else {
        return Ok(None);
    };
    if !same_positions(x, y) {
        return Err(JudgeError::Positions);
    }
    let pairs: Vec<(f64, f64)> = pairs(x, y).map(|(_, x, y)| (x, y)).collect();
    let n = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
    let (x, y) = (x / n, y / n);
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let both = sum(&|p| (p.0 - x) * (p.1 - y));
    let squares = sum(&|p| (p.0 - x).powi(2)) * sum(&|p| (p.1 - y).powi(2));
    Ok((squares > 0.0).then(|| both / squares.sqrt()))
}

/// The lengths of the sequences of non-zero numbers, by index; a single 0 if there is none.
fn run_lengths(numbers: &[f64]) -> Vec<(f64, f64)> {
    let runs = numbers.split(|number| *number == 0.0);
    let lengths = runs.map(|run| run.len() as f64).filter(|len| *len > 0.0);
    let lengths: Vec<(f64, f64)> = lengths
        .enumerate()
        .map(|(n, len)| (n as f64, len))
        .collect();
    if lengths.is_empty() {
        return vec![(0.0, 0.0)];
    }
    lengths
}
