//! Queries of a JSON schema that is derived from a type.

use serde_json::Value as Json;

use crate::notation::{self, Notation};
use crate::tree::{Entry, Node, Origin, Value};

/// A schema with its definitions and notations.
#[derive(Clone, Copy)]
pub(crate) struct Schemas<'a> {
    root: &'a Json,
    notations: &'static [Notation],
}

/// A key whose value selects one of several tables.
pub(crate) struct Tag<'a> {
    pub(crate) key: &'a str,
    pub(crate) schemas: Vec<TaggedSchema<'a>>,
}

/// The schema of the tables with this value of the tag.
pub(crate) struct TaggedSchema<'a> {
    pub(crate) word: &'a str,
    pub(crate) schema: &'a Json,
}

/// The maximum depth of nested stand-ins; it bounds those of recursive types.
const DEPTH: usize = 16;

/// The text at a key of a schema; empty without one.
pub(crate) fn text_of<'a>(schema: &'a Json, key: &str) -> &'a str {
    schema.get(key).and_then(Json::as_str).unwrap_or("")
}

/// The name of the definition that a schema refers to.
fn definition_name(schema: &Json) -> Option<&str> {
    text_of(schema, "$ref").strip_prefix("#/$defs/")
}

/// The maximum of a text with a notation, as a text, where a key has its own.
pub(crate) fn maximum_text(schema: &Json) -> Option<&str> {
    schema.get("x-maximum").and_then(Json::as_str)
}

/// The TOML name of a JSON schema type, with its article.
pub(crate) fn toml_type(type_name: &str) -> &'static str {
    match type_name {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        _ => "nothing",
    }
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(root: &'a Json, notations: &'static [Notation]) -> Self {
        Self { root, notations }
    }

    /// The schema of the whole document.
    pub(crate) fn root(self) -> &'a Json {
        self.root
    }

    /// The schema itself, or the definition that it refers to.
    pub(crate) fn resolve(self, schema: &'a Json) -> &'a Json {
        let definition = self.definition(schema);
        definition.map_or(schema, |inner| self.resolve(inner))
    }

    /// The notation of the texts that the schema admits, if they have one.
    pub(crate) fn notation(self, schema: &'a Json) -> Option<&'static Notation> {
        notation::find(self.notations, definition_name(schema)?)
    }

    fn definition(self, schema: &'a Json) -> Option<&'a Json> {
        self.root.get("$defs")?.get(definition_name(schema)?)
    }

    /// The alternatives of which a value must match one, if there are any.
    pub(crate) fn alternatives(schema: &'a Json) -> Option<Vec<&'a Json>> {
        let list = schema.get("anyOf").or(schema.get("oneOf"))?;
        list.as_array().map(|list| list.iter().collect())
    }

    /// The words that the schema admits, if it admits nothing else.
    pub(crate) fn words(self, schema: &'a Json) -> Option<Vec<&'a str>> {
        let schema = self.resolve(schema);
        if let Some(word) = schema.get("const") {
            return word.as_str().map(|word| vec![word]);
        }
        if let Some(list) = schema.get("enum").and_then(Json::as_array) {
            return list.iter().map(Json::as_str).collect();
        }
        let inner: Option<Vec<_>> = Self::alternatives(schema)?
            .into_iter()
            .map(|each| self.words(each))
            .collect();
        inner.map(|words| words.concat())
    }

    /// The types of a schema without references; empty if it admits all.
    pub(crate) fn types(schema: &'a Json) -> Vec<&'a str> {
        match schema.get("type") {
            Some(Json::String(one)) => vec![one],
            Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the schema admits values of this type.
    pub(crate) fn admits(self, schema: &'a Json, value: &Value) -> bool {
        let schema = self.resolve(schema);
        if let Some(alternatives) = Self::alternatives(schema) {
            return alternatives.iter().any(|each| self.admits(each, value));
        }
        let types = Self::types(schema);
        let found = value.type_name();
        types.is_empty()
            || types.contains(&found)
            || (found == "integer" && types.contains(&"number"))
    }

    /// The TOML names of the types that the schema admits.
    pub(crate) fn wanted(self, schema: &'a Json) -> String {
        let types = self.all_types(schema).into_iter();
        let mut names: Vec<&str> = types
            .filter(|name| *name != "null")
            .map(toml_type)
            .collect();
        names.dedup();
        names.join(" or ")
    }

    /// The types of the schema or of its alternatives.
    fn all_types(self, schema: &'a Json) -> Vec<&'a str> {
        let schema = self.resolve(schema);
        match Self::alternatives(schema) {
            Some(list) => list
                .into_iter()
                .flat_map(|each| self.all_types(each))
                .collect(),
            None => Self::types(schema),
        }
    }

    /// The key of the only table, or list of tables, within `schema` that has a key `inner`.
    pub(crate) fn table_with(self, schema: &'a Json, inner: &str) -> Option<&'a str> {
        let properties = schema.get("properties")?.as_object()?;
        let with_inner = |(_, each): &(&String, &'a Json)| self.has_key(each, inner, DEPTH);
        let mut found = properties.iter().filter(with_inner);
        let (key, _) = found.next()?;
        found.next().is_none().then_some(key.as_str())
    }

    /// Whether the tables that the schema admits, alone or in a list, may have this key.
    fn has_key(self, schema: &'a Json, key: &str, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let schema = self.resolve(schema);
        if let Some(alternatives) = Self::alternatives(schema) {
            return (alternatives.into_iter()).any(|each| self.has_key(each, key, depth));
        }
        if let Some(items) = schema.get("items") {
            return self.has_key(items, key, depth);
        }
        let properties = schema.get("properties");
        properties.is_some_and(|known| known.get(key).is_some())
    }

    /// The keys that a table must have.
    pub(crate) fn required(self, schema: &'a Json) -> Vec<&'a str> {
        let list = self
            .resolve(schema)
            .get("required")
            .and_then(Json::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect()
    }

    /// The tag of several tables: the key whose value differs between them.
    pub(crate) fn tag(self, alternatives: &[&'a Json]) -> Option<Tag<'a>> {
        let properties = |each: &&'a Json| self.resolve(each).get("properties")?.as_object();
        let first = alternatives.first().and_then(properties)?;
        if alternatives.len() < 2 {
            return None;
        }
        first.keys().find_map(|key| {
            let word = |each: &&'a Json| {
                let word = properties(each)?.get(key)?.get("const")?.as_str()?;
                Some(TaggedSchema { word, schema: each })
            };
            let tagged: Option<Vec<_>> = alternatives.iter().map(word).collect();
            tagged.map(|schemas| Tag { key, schemas })
        })
    }

    /// A value that the schema admits.
    pub(crate) fn stand_in(self, schema: &'a Json) -> Node {
        self.example(schema, DEPTH)
    }

    fn example(self, schema: &'a Json, depth: usize) -> Node {
        let text = |text: &str| Value::Text(text.to_owned());
        let value = if let Some(notation) = self.notation(schema) {
            text(notation.example)
        } else if let Some(word) = self.words(schema).and_then(|words| words.first().copied()) {
            text(word)
        } else {
            let schema = self.resolve(schema);
            if let Some(first) = Self::alternatives(schema).and_then(|list| list.first().copied()) {
                return self.example(first, depth.saturating_sub(1));
            }
            match Self::types(schema).first().copied() {
                Some("integer" | "number") => least(schema),
                Some("boolean") => Value::Boolean(false),
                Some("array") => Value::Array(Vec::new()),
                Some("object") => self.example_table(schema, depth),
                _ => text("stand-in"),
            }
        };
        Node {
            origin: Origin::StandIn,
            value,
        }
    }

    fn example_table(self, schema: &'a Json, depth: usize) -> Value {
        let required = self.required(schema);
        let keys = required.into_iter().filter(|_| depth > 0);
        let entry = |key: &str| {
            let inner = self.example(&schema["properties"][key], depth - 1);
            Entry::new(key, Origin::StandIn, inner)
        };
        Value::Table(keys.map(entry).collect())
    }
}

/// The least number of at least 1 that the schema admits, or the greatest below 1.
pub(crate) fn least(schema: &Json) -> Value {
    let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
    let number = bound("minimum").unwrap_or(0.0).max(1.0);
    let number = number.min(greatest(schema).unwrap_or(number));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, and no derived schema has a least integer that large"
    )]
    match Schemas::types(schema).first().copied() {
        Some("integer") => Value::Integer(number as i64),
        _ => Value::Float(number),
    }
}

/// The largest number that the schema admits: its maximum, or that of the integer's width.
pub(crate) fn greatest(schema: &Json) -> Option<f64> {
    let width = match text_of(schema, "format") {
        "uint32" => Some(f64::from(u32::MAX)),
        "int32" => Some(f64::from(i32::MAX)),
        _ => None,
    };
    schema.get("maximum").and_then(Json::as_f64).or(width)
}
