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
    let mut keys = BTreeSet::new();
    for axis in axes {
        let key = by_position(root, &axis.key);
        if NOT_SWEPT.contains(&key.as_str()) {
            let message = format!("`{key}` is the same for all points of a sweep");
            report(axis.origin, message, "sweep a key of what is run");
        }
        if !keys.insert(key) {
            let message = format!("`{}` is swept twice", axis.key);
            report(axis.origin, message, "remove one");
        }
        let mut seen = BTreeSet::new();
        for value in axis.values {
            if !seen.insert((value.value.type_name(), value.value.to_string())) {
                let message = format!("`{}` is listed twice", value.value);
                report(value.origin, message, "remove one");
            }
        }
    }
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
        let swept = |axis: &&Axis<'_>| is_within(&set, &by_position(root, &axis.key));
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
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let points = grid(text, "x.toml", &[]).unwrap();
        let words = |point: &Vec<Override>| {
            let words: Vec<String> = point.iter().map(ToString::to_string).collect();
            words.join(" ")
        };
        points.iter().map(words).collect()
    }

    #[test]
    fn a_grid_has_every_combination_in_order() {
        assert_eq!(shown("name = \"x\""), [""]);
        let text = "[sweep]\ntcp.variant = [\"reno\", \"sack\"]\n\"flow.0.count\" = [1, 2]";
        assert_eq!(
            shown(text),
            [
                "tcp.variant=reno flow.0.count=1",
                "tcp.variant=reno flow.0.count=2",
                "tcp.variant=sack flow.0.count=1",
                "tcp.variant=sack flow.0.count=2",
            ]
        );
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        for text in ["\n[sweep]\nseed = 1", "\n[sweep]\nseed = []"] {
            let errors = grid(text, "x.toml", &[]).unwrap_err().to_string();
            assert!(
                errors.starts_with("x.toml:3:8: `seed` is to be swept"),
                "{errors}"
            );
        }
    }

    #[test]
    fn too_many_combinations_are_refused() {
        let axis = "[0,1,2,3,4,5,6,7,8,9,10]";
        let text = format!("[sweep]\na={axis}\nb={axis}\nc={axis}\nd={axis}\ne={axis}");
        let errors = grid(&text, "x.toml", &[]).unwrap_err().to_string();
        assert!(errors.contains("more than 100000"), "{errors}");
    }

    #[test]
    fn what_says_nothing_new_or_is_set_elsewhere_too_is_refused() {
        let file = "flow = [{ name = \"f\" }]\n[sweep]\n";
        for (sweep, set, wanted) in [
            (
                "name = [\"a\", \"b\"]",
                None,
                "x.toml:3:8: `name` is the same for all points",
            ),
            (
                "seed = [1, 2, 1]",
                None,
                "x.toml:3:15: `1` is listed twice; remove one",
            ),
            (
                "flow.f.count = [1]\n\"flow.0.count\" = [2]",
                None,
                "x.toml:4:18: `flow.0.count` is swept twice",
            ),
            (
                "flow.f.count = [1, 2]",
                Some("flow.0.count=3"),
                "--set flow.0.count=3: `flow.f.count` is swept at x.toml:3:16; remove",
            ),
            (
                "seed = [1]",
                Some("sweep.seed=[1]"),
                "--set sweep.seed=[1]: a sweep is part",
            ),
        ] {
            let overrides: Vec<Override> = set.iter().map(|set| set.parse().unwrap()).collect();
            let text = format!("{file}{sweep}\n");
            let errors = grid(&text, "x.toml", &overrides).unwrap_err().to_string();
            assert!(errors.starts_with(wanted), "{errors}\nwithout {wanted}");
        }
        let beside = [
            "flow.f.counts=1".parse().unwrap(),
            "seeds=2".parse().unwrap(),
        ];
        let text = format!("{file}flow.f.count = [1, 2]\nseed = [1, 1.0, \"1\"]");
        assert_eq!(
            grid(&text, "x.toml", &beside).map(|points| points.len()),
            Ok(6)
        );
    }
}
