//! The combinations of values that a `[sweep]` asks for.

use std::collections::BTreeSet;

use super::locator::Source;
use super::overrides::{Override, by_position};
use super::problem::{Errors, Problem};
use super::tree::{self, Node, Origin, Value};

/// The key of the table at the top of a file.
const KEY: &str = "sweep";
/// The greatest number of combinations.
const MOST_POINTS: usize = 100_000;

/// Keys that say what a file is, and not what is run.
const NOT_SWEPT: [&str; 4] = ["name", "schema", "sweep", "title"];

/// Every combination of the values in `[sweep]`, as overrides in the order of the file, the values of the last key
/// changing fastest; a single empty one without a sweep. `overrides` are those that are set in all of them.
///
/// What is wrong with a key or a value shows when the file is read with these overrides, with the line in `[sweep]`.
///
/// # Errors
/// Syntax errors of the file; what is no list, or an empty one; equal values; keys that are swept twice, set by an
/// override, too, or not to be swept; too many combinations.
pub fn grid(
    text: &str,
    file_name: &str,
    overrides: &[Override],
) -> Result<Vec<Vec<Override>>, Errors> {
    let source = Source::new(file_name, overrides);
    let root = tree::parse(text, &source)?;
    let mut axes = Vec::new();
    if let Some(sweep) = root.entry(KEY) {
        collect(String::new(), sweep, &mut axes).map_err(|wrong| wrong.problem(&source))?;
    }
    // The parser gives tables in the order of the alphabet.
    axes.sort_by_key(|axis| axis.origin);
    let mut problems = Vec::new();
    check_axes(&root, &axes, &source, &mut problems);
    check_overrides(&root, &axes, overrides, &source, &mut problems);
    let points = axes.iter().try_fold(1_usize, |product, axis| {
        product.checked_mul(axis.values.len())
    });
    if points.is_none_or(|points| points > MOST_POINTS) {
        let origin = root.entry(KEY).map_or(root.origin, |sweep| sweep.origin);
        let message = format!("the sweep has more than {MOST_POINTS} combinations");
        let place = source.place(origin);
        problems.push(Problem::new(place, message, "shorten its lists"));
    }
    if problems.is_empty() {
        return Ok(combinations(&axes));
    }
    Err(Errors::new(problems))
}

/// A key with its values.
struct Axis<'a> {
    key: String,
    values: &'a [Node],
    /// Where the list stands.
    origin: Origin,
}

/// What is no list of values.
struct NoList {
    key: String,
    origin: Origin,
}

impl NoList {
    fn problem(self, source: &Source) -> Errors {
        let message = format!("`{}` is to be swept, but has no list of values", self.key);
        let remedy = "write [first, second, ...]";
        Problem::new(source.place(self.origin), message, remedy).into()
    }
}

/// The lists in a node, each with its dotted key.
fn collect<'a>(key: String, node: &'a Node, axes: &mut Vec<Axis<'a>>) -> Result<(), NoList> {
    let origin = node.origin;
    match &node.value {
        Value::Array(values) if !values.is_empty() => {
            axes.push(Axis {
                key,
                values,
                origin,
            });
            Ok(())
        }
        Value::Table(entries) => entries.iter().try_for_each(|entry| {
            let inner = match key.as_str() {
                "" => entry.key.clone(),
                outer => format!("{outer}.{}", entry.key),
            };
            collect(inner, &entry.node, axes)
        }),
        _ => Err(NoList { key, origin }),
    }
}

/// Reports keys that are not to be swept, or twice, and values that are listed twice.
fn check_axes(root: &Node, axes: &[Axis<'_>], source: &Source, problems: &mut Vec<Problem>) {
    let mut report = |origin, message: String, remedy| {
        problems.push(Problem::new(source.place(origin), message, remedy));
    };
    let mut before: Vec<(&str, String)> = Vec::new();
    for axis in axes {
        let key = by_position(root, &axis.key);
        if NOT_SWEPT.iter().any(|fixed| is_within(&key, fixed)) {
            let message = format!("`{key}` is the same for all points of a sweep");
            report(axis.origin, message, "sweep a key of what is run");
        }
        let shared = |(other, place): &(&str, String)| overlap((&axis.key, &key), (other, place));
        if let Some(message) = before.iter().find_map(shared) {
            report(axis.origin, message, "remove one");
        }
        before.push((&axis.key, key));
        let mut seen = BTreeSet::new();
        for value in axis.values {
            if !seen.insert((value.value.type_name(), value.value.to_string())) {
                let message = format!("`{}` is listed twice", value.value);
                report(value.origin, message, "remove one");
            }
        }
    }
}

/// What is wrong with two axes, each by its key as it is written and by position, that set one value: the later would
/// take the place of the other.
fn overlap((key, place): (&str, &str), (other, other_place): (&str, &str)) -> Option<String> {
    if place == other_place {
        return Some(format!("`{key}` is swept twice"));
    }
    let nested = is_within(place, other_place) || is_within(other_place, place);
    nested.then(|| format!("`{key}` and `{other}` are swept, and one is part of the other"))
}

/// Reports overrides of what is swept: one of the two would be lost.
fn check_overrides(
    root: &Node,
    axes: &[Axis<'_>],
    overrides: &[Override],
    source: &Source,
    problems: &mut Vec<Problem>,
) {
    for (number, each) in overrides.iter().enumerate() {
        let place = source.place(Origin::Override(number));
        let set = by_position(root, each.key());
        if is_within(&set, KEY) {
            let message = "a sweep is part of the file";
            problems.push(Problem::new(place, message, "change it there"));
            continue;
        }
        let swept = |axis: &&Axis<'_>| {
            let key = by_position(root, &axis.key);
            is_within(&set, &key) || is_within(&key, &set)
        };
        if let Some(axis) = axes.iter().find(swept) {
            let at = source.place(axis.origin);
            let message = format!("`{}` is swept at {at}", axis.key);
            let remedy = "remove it from one of the two";
            problems.push(Problem::new(place, message, remedy));
        }
    }
}

/// Whether `key` is `table`, or lies in it.
fn is_within(key: &str, table: &str) -> bool {
    let rest = key.strip_prefix(table);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn combinations(axes: &[Axis<'_>]) -> Vec<Vec<Override>> {
    let mut points = vec![Vec::new()];
    for Axis { key, values, .. } in axes {
        points = points
            .iter()
            .flat_map(|point| {
                values.iter().map(move |value| {
                    let mut point: Vec<Override> = point.clone();
                    point.push(Override::new(key, value.clone()));
                    point
                })
            })
            .collect();
    }
    points
}

#[cfg(test)]
mod tests;
