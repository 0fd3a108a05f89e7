//! `--set KEY=VALUE`: values that replace those of the file.

use std::fmt;
use std::str::FromStr;

use crate::locator::Source;
use crate::problem::{Found, Problem, suggestion};
use crate::tree::{Entry, Node, Origin, Value, parse_override};

/// A value that replaces that of the file: `transfer.count=5`, `path.path1.background=light`.
///
/// A list entry is selected by its `name`, if it has one, or by its index, from 0. The value is
/// read as TOML, or else as a string, so that `background=off` needs no quotes.
#[derive(Clone, Debug)]
pub struct Override {
    key: String,
    value: OverrideValue,
}

/// The value of an override, by its source.
#[derive(Clone, Debug)]
enum OverrideValue {
    /// From the command line, with its argument.
    Text { value: String, argument: String },
    /// From a file, with its position.
    Node(Node),
}

/// An argument that is not an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an override; write KEY=VALUE, for example transfer.count=5")]
pub struct ParseOverrideError(String);

impl FromStr for Override {
    type Err = ParseOverrideError;

    fn from_str(text: &str) -> Result<Self, ParseOverrideError> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                key: key.trim().to_owned(),
                value: OverrideValue::Text {
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
            OverrideValue::Text { value, .. } => write!(f, "{key}={value}"),
            OverrideValue::Node(node) => write!(f, "{key}={}", node.value),
        }
    }
}

impl Override {
    /// An override by an argument other than `--set`, which messages name: `--seconds 5`.
    #[must_use]
    pub fn from_argument(argument: &str, key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: OverrideValue::Text {
                value: value.to_owned(),
                argument: argument.to_owned(),
            },
        }
    }

    pub(crate) fn new(key: &str, value: Node) -> Self {
        Self {
            key: key.to_owned(),
            value: OverrideValue::Node(value),
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
            OverrideValue::Text { value, .. } => value.clone(),
            OverrideValue::Node(node) => node.value.to_string(),
        }
    }

    /// Its name in messages; empty for one from the file.
    #[must_use]
    pub fn argument(&self) -> &str {
        match &self.value {
            OverrideValue::Text { argument, .. } => argument,
            OverrideValue::Node(_) => "",
        }
    }
}

/// `key` with list entries by index instead of name, as far as the document contains them, so that
/// a value has one key only.
pub(crate) fn by_index(root: &Node, key: &str) -> String {
    let mut at = Some(root);
    let parts = key.split('.').map(|part| {
        let index = match at.map(|node| &node.value) {
            Some(Value::Array(items)) => index_of(items, part),
            _ => None,
        };
        at = at.and_then(|node| match &node.value {
            Value::Array(items) => index.map(|n| &items[n]),
            _ => node.entry(part),
        });
        index.map_or(part.to_owned(), |n| n.to_string())
    });
    parts.collect::<Vec<String>>().join(".")
}

/// Applies the overrides in order; those whose key cannot be set become problems.
pub(crate) fn apply(
    root: &mut Node,
    source: &Source,
    overrides: &[Override],
    problems: &mut Found,
) {
    for (number, each) in overrides.iter().enumerate() {
        let value = match &each.value {
            OverrideValue::Text { value, .. } => parse_override(value, number),
            OverrideValue::Node(node) => Ok(node.clone()),
        };
        let origin = match &each.value {
            OverrideValue::Text { .. } => Origin::Override(number),
            OverrideValue::Node(node) => node.origin,
        };
        let value = value.map_err(|message| Refusal {
            message,
            remedy: String::new(),
        });
        if let Err(refusal) = value.and_then(|value| put(root, &each.key, value)) {
            let location = source.location(origin);
            problems.push(|| Problem::new(location, refusal.message, refusal.remedy));
        }
    }
}

/// The reason why an override cannot be applied, with the remedy.
struct Refusal {
    message: String,
    remedy: String,
}

/// Puts a value at a dotted key, and creates missing tables.
fn put(node: &mut Node, key: &str, value: Node) -> Result<(), Refusal> {
    let origin = value.origin;
    let mut at = node;
    for part in key.split('.') {
        at = match &mut at.value {
            Value::Table(entries) => entry(entries, part, origin),
            Value::Array(items) => item(items, part)?,
            _ => {
                let message = format!("`{part}` cannot be set in a value that is not a table");
                return Err(Refusal {
                    message,
                    remedy: "shorten the key".to_owned(),
                });
            }
        };
    }
    *at = value;
    Ok(())
}

/// The entry of a list with this index, from 0, or else with this name.
fn item<'a>(items: &'a mut [Node], part: &str) -> Result<&'a mut Node, Refusal> {
    if let Some(index) = index_of(items, part) {
        return Ok(&mut items[index]);
    }
    let words = items.iter().filter_map(name).map(str::to_owned);
    let numbers = (0..items.len()).map(|n| n.to_string());
    let known: Vec<String> = words.chain(numbers).collect();
    let message = format!("no list entry `{part}` (they count from 0)");
    let remedy = suggestion(part, known.iter().map(String::as_str));
    Err(Refusal { message, remedy })
}

fn index_of(items: &[Node], part: &str) -> Option<usize> {
    let index = part.parse().ok().filter(|n| *n < items.len());
    index.or_else(|| items.iter().position(|item| name(item) == Some(part)))
}

fn name(item: &Node) -> Option<&str> {
    match &item.entry("name")?.value {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// The value of a key; a new empty table where it is missing.
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
