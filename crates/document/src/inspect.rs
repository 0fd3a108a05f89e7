//! Inspection of a tree against the JSON schema of the wanted type.
//!
//! It covers the part of JSON schema that derived schemas use: types, properties, required keys,
//! items, ranges, constants, and alternatives by type, by tag or by required keys.

use serde_json::Value as Json;

use crate::example::{example_line, tagged_line};
use crate::locator::Source;
use crate::notation::Notation;
use crate::problem::{Found, Problem, mistyped, nearest, one_of, suggestion};
use crate::schema::{Schemas, Tag, greatest, maximum_text, text_of, toml_type};
use crate::tree::{Entry, Node, Origin, Value};

/// Reports what the schema does not admit, and returns the tree with stand-ins for it.
pub(crate) fn inspect(
    schemas: Schemas<'_>,
    root: &Node,
    source: &Source,
    problems: &mut Found,
) -> Node {
    let mut inspector = Inspector {
        schemas,
        source,
        problems,
    };
    let key = Key {
        name: DOCUMENT,
        property: schemas.root(),
    };
    inspector.visit(key, schemas.root(), root)
}

/// The name of the root in messages.
const DOCUMENT: &str = "the document";

struct Inspector<'a> {
    schemas: Schemas<'a>,
    source: &'a Source,
    problems: &'a mut Found,
}

/// The reason why a value is not admitted, with the remedy.
struct Refusal {
    message: String,
    remedy: String,
    /// The position of the mistake; by default that of the value.
    origin: Option<Origin>,
}

/// A key with its name in messages.
#[derive(Clone, Copy)]
struct Key<'a> {
    name: &'a str,
    /// The schema of its value, not yet resolved to one of several alternatives.
    property: &'a Json,
}

impl Key<'_> {
    /// Checks a text that has a notation.
    fn check_text(self, notation: &Notation, text: &str) -> Result<(), Refusal> {
        let checked = (notation.check)(text, maximum_text(self.property));
        checked.map_err(|error| Refusal::new(format!("`{}`: {error}", self.name), String::new()))
    }
}

impl Refusal {
    fn new(message: String, remedy: String) -> Self {
        let origin = None;
        Self {
            message,
            remedy,
            origin,
        }
    }
}

impl<'a> Inspector<'a> {
    /// Returns the node, a value of `key` or of its list, with stand-ins for what the schema does
    /// not admit.
    fn visit(&mut self, key: Key<'_>, schema: &'a Json, node: &Node) -> Node {
        self.examine(key, schema, node).unwrap_or_else(|refusal| {
            let origin = refusal.origin.unwrap_or(node.origin);
            self.problems.push(|| {
                let location = self.source.location(origin);
                Problem::new(location, refusal.message, refusal.remedy)
            });
            self.schemas.stand_in(schema)
        })
    }

    fn examine(&mut self, key: Key<'_>, schema: &'a Json, node: &Node) -> Result<Node, Refusal> {
        let name = key.name;
        if let Some(notation) = self.schemas.notation(schema) {
            return match &node.value {
                Value::Text(text) => key.check_text(notation, text).map(|()| node.clone()),
                _ => Err(self.wrong_type(key, schema, node)),
            };
        }
        let schema = self.schemas.resolve(schema);
        if let Some(words) = self.schemas.words(schema) {
            return check_word(name, &words, node);
        }
        if let Some(alternatives) = Schemas::alternatives(schema) {
            if let Some(words) = self.words_among(&alternatives, node) {
                return check_word(name, &words, node).map_err(|refusal| {
                    let line = tagged_line(self.schemas, name, key.property, &node.value);
                    let remedy = line.map(|line| format!("it is a table, as in `{line}`"));
                    Refusal {
                        remedy: remedy.unwrap_or(refusal.remedy),
                        ..refusal
                    }
                });
            }
            let chosen = self.choose(key, schema, &alternatives, node)?;
            return self.examine(key, chosen, node);
        }
        if !self.schemas.admits(schema, &node.value) {
            return Err(self.wrong_type(key, schema, node));
        }
        match &node.value {
            Value::Integer(number) => check_range(name, schema, *number as f64, node),
            Value::Float(number) => check_range(name, schema, *number, node),
            Value::Array(items) => Ok(self.visit_items(key, schema, items, node)),
            Value::Table(entries) => Ok(self.visit_entries(name, schema, entries, node)),
            _ => Ok(node.clone()),
        }
    }

    fn wrong_type(&self, key: Key<'_>, schema: &'a Json, node: &Node) -> Refusal {
        let Key { name, property } = key;
        let inner = self.schemas.resolve(schema);
        let wanted = self.schemas.wanted(inner);
        let found = toml_type(node.value.type_name());
        let is_list = Schemas::types(inner).contains(&"array");
        if is_list && is_missing_list(node) {
            let message = format!("the file has no `{name}`, of which an entry could be set");
            return Refusal::new(message, "add it to the file".to_owned());
        }
        let message = format!("`{name}` is {found}, where {wanted} is wanted");
        let is_of_tables = inner.get("items").is_some_and(|items| {
            let items = self.schemas.resolve(items);
            Schemas::types(items).contains(&"object")
        });
        if is_of_tables && matches!(node.value, Value::Table(_)) {
            // The name may be one of several in the header.
            let remedy = "write the header of each entry in double brackets, `[[` and `]]`";
            return Refusal::new(message, remedy.to_owned());
        }
        let mut remedy = description(inner);
        if name != DOCUMENT
            && let Some(line) = example_line(self.schemas, name, property, &node.value)
        {
            let separator = if remedy.is_empty() { "" } else { "; " };
            let start = remedy.trim_end_matches('.');
            remedy = format!("{start}{separator}for example `{line}`");
        }
        Refusal::new(message, remedy)
    }

    /// The words of the alternatives for a text, if they are all words.
    fn words_among(&self, alternatives: &[&'a Json], node: &Node) -> Option<Vec<&'a str>> {
        let admitting = |each: &&&'a Json| self.schemas.admits(each, &node.value);
        let fitting = alternatives.iter().filter(admitting);
        let words: Option<Vec<_>> = fitting.map(|each| self.schemas.words(each)).collect();
        words
            .map(|words| words.concat())
            .filter(|words| !words.is_empty())
    }

    /// Selects the intended alternative by the node's type, then its tag, then its required keys.
    fn choose(
        &self,
        key: Key<'_>,
        schema: &'a Json,
        alternatives: &[&'a Json],
        node: &Node,
    ) -> Result<&'a Json, Refusal> {
        let admitting = |each: &&&'a Json| self.schemas.admits(each, &node.value);
        let fitting: Vec<&'a Json> = alternatives.iter().filter(admitting).copied().collect();
        if let Some(Tag { key: tag, schemas }) = self.schemas.tag(&fitting) {
            let known = schemas.iter().map(|tagged| tagged.word);
            let Some(given) = node.entry(tag) else {
                let message = missing(tag, key.name);
                return Err(Refusal::new(message, one_of(known)));
            };
            let refuse = |message, remedy| Refusal {
                message,
                remedy,
                origin: Some(given.origin),
            };
            let Value::Text(text) = &given.value else {
                let found = toml_type(given.value.type_name());
                let message = format!("`{tag}` is {found}, where a string is wanted");
                return Err(refuse(message, one_of(known)));
            };
            let chosen = schemas.iter().find(|tagged| tagged.word == text);
            let chosen = chosen.map(|tagged| tagged.schema);
            let unknown = || refuse(format!("unknown {tag} `{text}`"), suggestion(text, known));
            return chosen.ok_or_else(unknown);
        }
        let whole = |each: &&&'a Json| {
            let required = self.schemas.required(each);
            required.iter().all(|key| node.entry(key).is_some())
        };
        let chosen = fitting.iter().find(whole).or(fitting.first());
        chosen
            .copied()
            .ok_or_else(|| self.wrong_type(key, schema, node))
    }

    fn visit_items(&mut self, key: Key<'_>, schema: &'a Json, items: &[Node], node: &Node) -> Node {
        let Some(inner) = schema.get("items") else {
            return node.clone();
        };
        let visited = items.iter().map(|item| self.visit(key, inner, item));
        Node {
            origin: node.origin,
            value: Value::Array(visited.collect()),
        }
    }

    fn visit_entries(
        &mut self,
        name: &str,
        schema: &'a Json,
        entries: &[Entry],
        node: &Node,
    ) -> Node {
        let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
        let mut unknown = Vec::new();
        // The parser returns tables in alphabetical order, and the first problems are kept.
        let mut in_order: Vec<&Entry> = entries.iter().collect();
        in_order.sort_by_key(|entry| entry.origin);
        for entry in in_order {
            if let Some((name, inner)) = self.property(schema, entry, entries) {
                let property = inner;
                let visited = self.visit(Key { name, property }, inner, &entry.node);
                kept.push(Entry::new(name, entry.origin, visited));
            } else if schema.get("additionalProperties") != Some(&Json::Bool(false)) {
                kept.push(entry.clone());
            } else {
                unknown.push(entry.key.as_str());
            }
        }
        for key in self.schemas.required(schema) {
            if kept.iter().any(|entry| entry.key == key) {
                continue;
            }
            let inner = &schema["properties"][key];
            self.problems.push(|| {
                let mistyped = mistyped(key, unknown.iter().copied());
                let remedy = mistyped.map_or_else(
                    || sentence(inner).unwrap_or_default(),
                    |word| format!("is `{word}` meant to be it?"),
                );
                let location = self.source.location(node.origin);
                // An unknown key next to a missing one may be the missing one, badly misspelt.
                let follows = !unknown.is_empty();
                Problem {
                    follows,
                    ..Problem::new(location, missing(key, name), remedy)
                }
            });
            let stand_in = self.schemas.stand_in(inner);
            kept.push(Entry::new(key, stand_in.origin, stand_in));
        }
        Node {
            origin: node.origin,
            value: Value::Table(kept),
        }
    }

    /// The key of the property that an entry is meant to be, with its schema; reports an unknown
    /// key.
    fn property<'k>(
        &mut self,
        schema: &'a Json,
        entry: &'k Entry,
        entries: &[Entry],
    ) -> Option<(&'k str, &'a Json)>
    where
        'a: 'k,
    {
        let properties = schema.get("properties").and_then(Json::as_object);
        if let Some(inner) = properties.and_then(|known| known.get(&entry.key)) {
            return Some((&entry.key, inner));
        }
        match schema.get("additionalProperties") {
            Some(Json::Bool(false)) => {}
            Some(inner @ Json::Object(_)) => return Some((&entry.key, inner)),
            _ => return None,
        }
        let known = properties.into_iter().flatten();
        let names = known.clone().map(|(key, _)| key.as_str());
        let is_counted_only = self.problems.is_full();
        let meant = (!is_counted_only).then(|| nearest(&entry.key, names.clone()));
        let meant = meant.flatten();
        self.problems.push(|| {
            let location = self.source.location(entry.origin);
            let message = format!("unknown key `{}`", entry.key);
            let table = self.schemas.table_with(schema, &entry.key);
            let remedy = match table.filter(|_| meant.is_none()) {
                Some(table) => format!("it is a key of `{table}`"),
                None => suggestion(&entry.key, names),
            };
            Problem::new(location, message, remedy)
        });
        let meant = meant?;
        let taken = entries.iter().any(|other| other.key == meant);
        let (key, inner) = known.into_iter().find(|(key, _)| *key == meant)?;
        (!taken).then_some((key, inner))
    }
}

/// Whether `--set` has made a table of a list that the file does not have: `class.0.name=voice`.
fn is_missing_list(node: &Node) -> bool {
    let is_index = |entry: &Entry| entry.key.parse::<usize>().is_ok();
    let Value::Table(entries) = &node.value else {
        return false;
    };
    matches!(node.origin, Origin::Override(_)) && entries.iter().all(is_index)
}

fn missing(key: &str, name: &str) -> String {
    match name {
        DOCUMENT => format!("missing key `{key}` in {DOCUMENT}"),
        _ => format!("missing key `{key}` in `{name}`"),
    }
}

/// The first paragraph of the description of a schema, on one line.
fn description(schema: &Json) -> String {
    let paragraph = text_of(schema, "description").split("\n\n").next();
    let words = paragraph.unwrap_or_default().split_whitespace();
    words.collect::<Vec<&str>>().join(" ")
}

/// The first clause of the description of a schema, with a lower-case initial.
fn sentence(schema: &Json) -> Option<String> {
    let text = description(schema);
    let ends = text.match_indices(['.', ';']).find(|(at, _)| {
        let behind = text[at + 1..].chars().next();
        behind.is_none_or(char::is_whitespace)
    });
    let clause = &text[..ends?.0];
    let first = clause.chars().next()?;
    Some(first.to_lowercase().chain(clause.chars().skip(1)).collect())
}

fn check_word(name: &str, words: &[&str], node: &Node) -> Result<Node, Refusal> {
    let known = words.iter().copied();
    match &node.value {
        Value::Text(text) if words.contains(&text.as_str()) => Ok(node.clone()),
        Value::Text(text) => {
            let message = format!("`{text}` is not valid for `{name}`");
            Err(Refusal::new(message, suggestion(text, known)))
        }
        other => {
            let found = toml_type(other.type_name());
            let message = format!("`{name}` is {found}, where a string is wanted");
            Err(Refusal::new(message, one_of(known)))
        }
    }
}

fn check_range(name: &str, schema: &Json, number: f64, node: &Node) -> Result<Node, Refusal> {
    let least = schema.get("minimum").and_then(Json::as_f64);
    let refuse = |limit: String| {
        Err(Refusal::new(
            format!("`{name}` is {number}, but must be {limit}"),
            description(schema),
        ))
    };
    if !number.is_finite() {
        return refuse("a finite number".to_owned());
    }
    match (least, greatest(schema)) {
        (Some(least), _) if number < least => refuse(format!("at least {least}")),
        (_, Some(most)) if number > most => refuse(format!("at most {most}")),
        _ => Ok(node.clone()),
    }
}
