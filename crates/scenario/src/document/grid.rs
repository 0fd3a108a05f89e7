//! The combinations of values that a `[sweep]` asks for.

use super::locator::Source;
use super::overrides::Override;
use super::problem::{Errors, Problem};
use super::tree::{self, Node, Origin, Value};

/// The key of the table at the top of a file.
const KEY: &str = "sweep";
/// The greatest number of combinations.
const MOST_POINTS: usize = 100_000;

/// Every combination of the values in `[sweep]`, as overrides in the order of the file, the values of the last key
/// changing fastest; a single empty one without a sweep.
///
/// What is wrong with a key or a value shows when the file is read with these overrides, with the line in `[sweep]`.
///
/// # Errors
/// Syntax errors of the file; what is no list, or an empty one; too many combinations.
pub fn grid(text: &str, file_name: &str) -> Result<Vec<Vec<Override>>, Errors> {
    let source = Source::new(file_name, &[]);
    let root = tree::parse(text, &source)?;
    let mut axes = Vec::new();
    if let Some(sweep) = root.entry(KEY) {
        collect(String::new(), sweep, &source, &mut axes)?;
    }
    // The parser gives tables in the order of the alphabet.
    axes.sort_by_key(|axis| axis.origin);
    let points = axes.iter().try_fold(1_usize, |product, axis| {
        product.checked_mul(axis.values.len())
    });
    if points.is_some_and(|points| points <= MOST_POINTS) {
        return Ok(combinations(&axes));
    }
    let origin = root.entry(KEY).map_or(root.origin, |sweep| sweep.origin);
    let message = format!("the sweep has more than {MOST_POINTS} combinations");
    Err(Problem::new(source.place(origin), message, "shorten its lists").into())
}

/// A key with its values.
struct Axis<'a> {
    key: String,
    values: &'a [Node],
    /// Where the list stands.
    origin: Origin,
}

/// The lists in a node, each with its dotted key.
fn collect<'a>(
    key: String,
    node: &'a Node,
    source: &Source,
    axes: &mut Vec<Axis<'a>>,
) -> Result<(), Errors> {
    match &node.value {
        Value::Array(values) if !values.is_empty() => {
            axes.push(Axis {
                key,
                values,
                origin: node.origin,
            });
            Ok(())
        }
        Value::Table(entries) => entries.iter().try_for_each(|entry| {
            let inner = match key.as_str() {
                "" => entry.key.clone(),
                outer => format!("{outer}.{}", entry.key),
            };
            collect(inner, &entry.node, source, axes)
        }),
        _ => {
            let message = format!("`{key}` is to be swept, but has no list of values");
            let remedy = "write [first, second, ...]";
            Err(Problem::new(source.place(node.origin), message, remedy).into())
        }
    }
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
        let points = grid(text, "x.toml").unwrap();
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
            let errors = grid(text, "x.toml").unwrap_err().to_string();
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
        let errors = grid(&text, "x.toml").unwrap_err().to_string();
        assert!(errors.contains("more than 100000"), "{errors}");
    }
}
