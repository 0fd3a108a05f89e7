//! The combinations of the values of a `[sweep]` table.

use std::collections::BTreeSet;

use crate::locator::Source;
use crate::overrides::{Override, by_index};
use crate::problem::{Errors, Found, Problem};
use crate::tree::{self, Node, Origin, Value};

/// The key of the table at the top level of a file.
const KEY: &str = "sweep";
/// The maximum number of combinations.
const MAX_POINTS: usize = 100_000;

/// Keys that describe the file and not what is run.
const NOT_SWEPT: [&str; 4] = ["name", "schema", "sweep", "title"];

/// Returns every combination of the values in `[sweep]` as overrides in the order of the file; the
/// value of the last key changes fastest. Without a sweep it returns a single empty combination.
/// `overrides` apply to all combinations.
///
/// Wrong keys and values are reported when the file is read with these overrides, with their line
/// in `[sweep]`.
///
/// # Errors
/// Syntax errors of the file; values that are not a list or an empty one; equal values; keys that
/// are swept twice, also set by an override, or cannot be swept; too many combinations.
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
    // The parser returns tables in alphabetical order.
    axes.sort_by_key(|axis| axis.origin);
    let mut problems = Found::default();
    check_axes(&root, &axes, &source, &mut problems);
    check_overrides(&root, &axes, overrides, &source, &mut problems);
    let points = axes.iter().try_fold(1_usize, |product, axis| {
        product.checked_mul(axis.values.len())
    });
    if points.is_none_or(|points| points > MAX_POINTS) {
        let origin = root.entry(KEY).map_or(root.origin, |sweep| sweep.origin);
        let message = format!("the sweep has more than {MAX_POINTS} combinations");
        let location = source.location(origin);
        problems.push(|| Problem::new(location, message, "shorten its lists"));
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
    /// The origin of the list.
    origin: Origin,
}

/// A swept key without a list of values.
struct NoList {
    key: String,
    origin: Origin,
}

impl NoList {
    fn problem(self, source: &Source) -> Errors {
        let message = format!("`{}` is swept, but has no list of values", self.key);
        let remedy = "write [first, second, ...]";
        Problem::new(source.location(self.origin), message, remedy).into()
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

/// Reports keys that cannot be swept or are swept twice, and values that are listed twice.
fn check_axes(root: &Node, axes: &[Axis<'_>], source: &Source, problems: &mut Found) {
    let mut report = |origin, message: String, remedy| {
        problems.push(|| Problem::new(source.location(origin), message, remedy));
    };
    let mut before: Vec<SweptKey<'_>> = Vec::new();
    for axis in axes {
        let key = by_index(root, &axis.key);
        if NOT_SWEPT.iter().any(|fixed| is_within(&key, fixed)) {
            let message = format!("`{key}` is the same for all points of a sweep");
            report(axis.origin, message, "sweep a key of what is run");
        }
        let swept = SweptKey {
            written: &axis.key,
            by_index: key,
        };
        if let Some(message) = before.iter().find_map(|other| swept.overlap(other)) {
            report(axis.origin, message, "remove one");
        }
        before.push(swept);
        let mut seen = BTreeSet::new();
        for value in axis.values {
            if !seen.insert((value.value.type_name(), value.value.to_string())) {
                let message = format!("`{}` is listed twice", value.value);
                report(value.origin, message, "remove one");
            }
        }
    }
}

/// A swept key, as it is written and with list entries by index.
struct SweptKey<'a> {
    written: &'a str,
    by_index: String,
}

impl SweptKey<'_> {
    /// A message if both set one value: the later would replace the other.
    fn overlap(&self, other: &Self) -> Option<String> {
        let (key, other_key) = (self.written, other.written);
        if self.by_index == other.by_index {
            return Some(format!("`{key}` is swept twice"));
        }
        let nested = is_within(&self.by_index, &other.by_index)
            || is_within(&other.by_index, &self.by_index);
        nested.then(|| format!("`{key}` and `{other_key}` are swept, and one is part of the other"))
    }
}

/// Reports overrides of swept keys: one of the two would have no effect.
fn check_overrides(
    root: &Node,
    axes: &[Axis<'_>],
    overrides: &[Override],
    source: &Source,
    problems: &mut Found,
) {
    for (number, each) in overrides.iter().enumerate() {
        let location = source.location(Origin::Override(number));
        let set = by_index(root, each.key());
        let earlier = overrides[..number].iter();
        let mut same = earlier.filter(|other| by_index(root, other.key()) == set);
        if let Some(other) = same.next() {
            let message = format!(
                "`{}` is set twice: to `{}` here, and to `{}` by {}",
                each.key(),
                each.value(),
                other.value(),
                other.argument()
            );
            problems.push(|| Problem::new(location, message, "remove one of them"));
            continue;
        }
        if is_within(&set, KEY) {
            let message = "a sweep is part of the file";
            problems.push(|| Problem::new(location, message, "change it there"));
            continue;
        }
        let swept = |axis: &&Axis<'_>| {
            let key = by_index(root, &axis.key);
            is_within(&set, &key) || is_within(&key, &set)
        };
        if let Some(axis) = axes.iter().find(swept) {
            let at = source.location(axis.origin);
            let message = format!("`{}` is swept at {at}", axis.key);
            let remedy = "remove it from one of the two";
            problems.push(|| Problem::new(location, message, remedy));
        }
    }
}

/// Whether `key` is `table` or is in it.
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
