//! A TOML document as a tree whose values know their positions.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::locator::Source;
use crate::problem::{Errors, Found, Problem};

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The file, at a line and column, both from 1.
    File { line: usize, column: usize },
    /// The `--set` argument of this index.
    Override(usize),
    /// A stand-in for a refused or missing value.
    StandIn,
}

/// A value with its origin.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) origin: Origin,
    pub(crate) value: Value,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The origin of the key itself.
    pub(crate) origin: Origin,
    pub(crate) node: Node,
}

/// The message of the TOML parser for a key that its table has already.
const DUPLICATE: &str = "duplicate key";

/// Parses a whole document.
///
/// # Errors
/// All syntax errors.
pub(crate) fn parse(text: &str, source: &Source) -> Result<Node, Errors> {
    let lines = Lines::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut problems: Found = errors
        .iter()
        .map(|error| {
            let span = error.span().unwrap_or(0..0);
            let location = source.location(lines.origin(&span));
            let start = span.start;
            match text.get(span).filter(|_| error.message() == DUPLICATE) {
                Some(key) => {
                    let message = format!("`{key}` is defined twice");
                    Problem::new(location, message, remedy_of_duplicate(&text[..start]))
                }
                None => Problem::new(location, error.message(), ""),
            }
        })
        .collect();
    let mut locate = |span: Range<usize>| lines.origin(&span);
    let mut refuse = |origin, message: String| {
        problems.push(|| Problem::new(source.location(origin), message, ""));
    };
    let root = Node {
        origin: Origin::File { line: 1, column: 1 },
        value: table_of(table.get_ref(), &mut locate, &mut refuse),
    };
    if problems.is_empty() {
        return Ok(root);
    }
    Err(Errors::new(problems))
}

/// The remedy for a key defined twice, the second time after the text `before`.
fn remedy_of_duplicate(before: &str) -> &'static str {
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.trim_start().starts_with('[') {
        "write each header in double brackets, `[[` and `]]`, if it is a list, or remove one of the two"
    } else {
        "remove one of the two"
    }
}

/// Reads the value of an override as TOML, or else as a string.
///
/// # Errors
/// A message for users, for TOML with values out of range.
pub(crate) fn parse_override(text: &str, number: usize) -> Result<Node, String> {
    let origin = Origin::Override(number);
    let Ok(value) = DeValue::parse(text) else {
        let value = Value::Text(text.to_owned());
        return Ok(Node { origin, value });
    };
    let mut refused = None;
    let node = node_of(&value, &mut |_| origin, &mut |_, message| {
        refused.get_or_insert(message);
    });
    refused.map_or(Ok(node), Err)
}

type Locate<'a> = &'a mut dyn FnMut(Range<usize>) -> Origin;
type Refuse<'a> = &'a mut dyn FnMut(Origin, String);

fn node_of(value: &Spanned<DeValue<'_>>, locate: Locate<'_>, refuse: Refuse<'_>) -> Node {
    let origin = locate(value.span());
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix());
            Value::Integer(number.unwrap_or_else(|_| {
                refuse(origin, format!("the integer {integer} is out of range"));
                0
            }))
        }
        DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(boolean) => Value::Boolean(*boolean),
        DeValue::Datetime(datetime) => Value::Datetime(datetime.to_string()),
        DeValue::Array(array) => {
            Value::Array(array.iter().map(|v| node_of(v, locate, refuse)).collect())
        }
        DeValue::Table(table) => table_of(table, locate, refuse),
    };
    Node { origin, value }
}

fn table_of(table: &DeTable<'_>, locate: Locate<'_>, refuse: Refuse<'_>) -> Value {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| Entry {
        key: AsRef::<str>::as_ref(key.get_ref()).to_owned(),
        origin: locate(key.span()),
        node: node_of(value, locate, refuse),
    };
    Value::Table(table.iter().map(entry).collect())
}

/// The offsets of the lines of a text.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after).collect(),
        }
    }

    fn origin(&self, span: &Range<usize>) -> Origin {
        let line = self
            .starts
            .partition_point(|start| *start <= span.start)
            .max(1);
        let start = self.starts[line - 1];
        let before = self.text.get(start..span.start).unwrap_or("");
        Origin::File {
            line,
            column: before.chars().count() + 1,
        }
    }
}

impl Entry {
    pub(crate) fn new(key: &str, origin: Origin, node: Node) -> Self {
        Self {
            key: key.to_owned(),
            origin,
            node,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) | Value::Datetime(text) => f.write_str(text),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Boolean(boolean) => write!(f, "{boolean}"),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| item.value.to_string()).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Table(entries) => {
                let entry = |entry: &Entry| format!("{} = {}", entry.key, entry.node.value);
                let entries: Vec<String> = entries.iter().map(entry).collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

impl Value {
    /// The name of the type in a JSON schema.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Text(_) | Value::Datetime(_) => "string",
            Value::Integer(_) => "integer",
            Value::Float(_) => "number",
            Value::Boolean(_) => "boolean",
            Value::Array(_) => "array",
            Value::Table(_) => "object",
        }
    }
}

impl Node {
    /// The table of an empty file.
    pub(crate) const fn empty() -> Self {
        Self {
            origin: Origin::File { line: 1, column: 1 },
            value: Value::Table(Vec::new()),
        }
    }

    /// The value of a key, if this is a table that contains it.
    pub(crate) fn entry(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => {
                let found = entries.iter().find(|entry| entry.key == key);
                found.map(|entry| &entry.node)
            }
            _ => None,
        }
    }
}
