//! `--set KEY=VALUE`: values that take the place of the file's.

use std::fmt;
use std::str::FromStr;

use super::locator::Source;
use super::problem::{Problem, suggestion};
use super::tree::{Entry, Node, Origin, Value, parse_override};

/// A value that takes the place of the file's: `transfer.count=5`, `path.path1.background=light`.
///
/// An entry of a list goes by its `name`, where it has one, or by its position, counted from 0.
/// The value is read as TOML, or else as a string, so that `background=off` needs no quotes.
#[derive(Clone, Debug)]
pub struct Override {
    key: String,
    value: Given,
}

/// A value as it was given.
#[derive(Clone, Debug)]
enum Given {
    /// On the command line, with the argument that gave it.
    Text { value: String, argument: String },
    /// In a file, where it has its line.
    Node(Node),
}

/// Why an override could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an override; write KEY=VALUE, for example transfer.count=5")]
pub struct ParseOverrideError(String);

impl FromStr for Override {
    type Err = ParseOverrideError;

    fn from_str(text: &str) -> Result<Self, ParseOverrideError> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                key: key.trim().to_owned(),
                value: Given::Text {
                    value: value.trim().to_owned(),
                    argument: format!("--set {text}"),
                },
            }),
            _ => Err(ParseOverrideError(text.to_owned())),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.value {
            Given::Text { value, .. } => write!(f, "{key}={value}"),
            Given::Node(node) => write!(f, "{key}={}", node.value),
        }
    }
}

impl Override {
    /// What another argument than `--set` says: messages name `argument`, such as `--seconds 5`.
    #[must_use]
    pub fn of_argument(argument: &str, key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: Given::Text {
                value: value.to_owned(),
                argument: argument.to_owned(),
            },
        }
    }

    pub(super) fn new(key: &str, value: Node) -> Self {
        Self {
            key: key.to_owned(),
            value: Given::Node(value),
        }
    }

    /// The key, such as `transfer.count`.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value as text.
    #[must_use]
    pub fn value(&self) -> String {
        match &self.value {
            Given::Text { value, .. } => value.clone(),
            Given::Node(node) => node.value.to_string(),
        }
    }

    /// What messages call it; nothing for one that stands in the file.
    #[must_use]
    pub fn argument(&self) -> &str {
        match &self.value {
            Given::Text { argument, .. } => argument,
            Given::Node(_) => "",
        }
    }
}

/// `key` with positions in the place of the names of list entries, as far as the document has them, so that equal
/// places have equal keys.
pub(super) fn by_position(root: &Node, key: &str) -> String {
    let mut at = Some(root);
    let parts = key.split('.').map(|part| {
        let position = match at.map(|node| &node.value) {
            Some(Value::Array(items)) => position(items, part),
            _ => None,
        };
        at = at.and_then(|node| match &node.value {
            Value::Array(items) => position.map(|n| &items[n]),
            _ => node.entry(part),
        });
        position.map_or(part.to_owned(), |n| n.to_string())
    });
    parts.collect::<Vec<String>>().join(".")
}

/// Applies the overrides in their order; those that fit nowhere become problems.
pub(super) fn apply(
    root: &mut Node,
    source: &Source,
    overrides: &[Override],
    problems: &mut Vec<Problem>,
) {
    for (number, each) in overrides.iter().enumerate() {
        let value = match &each.value {
            Given::Text { value, .. } => parse_override(value, number),
            Given::Node(node) => Ok(node.clone()),
        };
        let origin = match &each.value {
            Given::Text { .. } => Origin::Override(number),
            Given::Node(node) => node.origin,
        };
        let value = value.map_err(|message| (message, String::new()));
        if let Err((message, remedy)) = value.and_then(|value| put(root, &each.key, value)) {
            let place = source.place(origin);
            problems.push(Problem::new(place, message, remedy));
        }
    }
}

/// Puts a value at a dotted key, making the tables on the way; the error is message and remedy.
fn put(node: &mut Node, key: &str, value: Node) -> Result<(), (String, String)> {
    let origin = value.origin;
    let mut at = node;
    for part in key.split('.') {
        at = match &mut at.value {
            Value::Table(entries) => entry(entries, part, origin),
            Value::Array(items) => item(items, part)?,
            _ => {
                let message = format!("`{part}` cannot be set in a value that is not a table");
                return Err((message, "shorten the key".to_owned()));
            }
        };
    }
    *at = value;
    Ok(())
}

/// The entry of a list with this position, counted from 0, or else with this name; the error is message and
/// remedy.
fn item<'a>(items: &'a mut [Node], part: &str) -> Result<&'a mut Node, (String, String)> {
    if let Some(position) = position(items, part) {
        return Ok(&mut items[position]);
    }
    let words = items.iter().filter_map(name).map(str::to_owned);
    let numbers = (0..items.len()).map(|n| n.to_string());
    let known: Vec<String> = words.chain(numbers).collect();
    let message = format!("no list entry `{part}` (they count from 0)");
    Err((message, suggestion(part, known.iter().map(String::as_str))))
}

fn position(items: &[Node], part: &str) -> Option<usize> {
    let position = part.parse().ok().filter(|n| *n < items.len());
    position.or_else(|| items.iter().position(|item| name(item) == Some(part)))
}

fn name(item: &Node) -> Option<&str> {
    match &item.entry("name")?.value {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// The value of a key, a new empty table if there is none.
fn entry<'a>(entries: &'a mut Vec<Entry>, key: &str, origin: Origin) -> &'a mut Node {
    let index = entries.iter().position(|entry| entry.key == key);
    let index = index.unwrap_or_else(|| {
        entries.push(Entry {
            key: key.to_owned(),
            origin,
            node: Node {
                origin,
                value: Value::Table(Vec::new()),
            },
        });
        entries.len() - 1
    });
    &mut entries[index].node
}
