//! Examples of valid values, for messages about values of the wrong type.

use serde_json::Value as Json;

use crate::schema::{Schemas, least};
use crate::tree::Value;

/// The maximum depth of nested examples; it bounds those of recursive types.
const DEPTH: usize = 4;

/// The maximum length of an example in bytes; a longer one hides the message.
const MAX_LINE: usize = 80;

/// A line of TOML with a valid value of the key `name`, whose schema is `property` and whose value
/// is `found`; `None` if no such value is short and not empty.
pub(crate) fn example_line(
    schemas: Schemas<'_>,
    name: &str,
    property: &Json,
    found: &Value,
) -> Option<String> {
    let value = of_word(schemas, property, found, DEPTH)
        .or_else(|| literal(property.get("default")?))
        .or_else(|| sample(schemas, property, DEPTH))?;
    let line = format!("{name} = {value}");
    (line.len() <= MAX_LINE).then_some(line)
}

/// The line of [`example_line`] for a text that is the tag of a table; `None` if it is not.
pub(crate) fn tagged_line(
    schemas: Schemas<'_>,
    name: &str,
    property: &Json,
    found: &Value,
) -> Option<String> {
    let value = of_word(schemas, property, found, DEPTH)?;
    Some(format!("{name} = {value}"))
}

/// The table that a text names by its tag, or a list of it.
fn of_word(schemas: Schemas<'_>, schema: &Json, found: &Value, depth: usize) -> Option<String> {
    let Value::Text(text) = found else {
        return None;
    };
    let depth = depth.checked_sub(1)?;
    let schema = schemas.resolve(schema);
    if let Some(items) = schema.get("items") {
        return list(&[of_word(schemas, items, found, depth)?]);
    }
    let alternatives = Schemas::alternatives(schema)?;
    if let Some(tag) = schemas.tag(&alternatives) {
        let is_known = tag.schemas.iter().any(|tagged| tagged.word == text);
        return is_known.then(|| format!("{{ {} = {text:?} }}", tag.key));
    }
    let mut alternatives = alternatives.into_iter();
    alternatives.find_map(|each| of_word(schemas, each, found, depth))
}

/// A value of a schema as TOML, without what is empty.
fn literal(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::Bool(_) | Json::Number(_) => Some(value.to_string()),
        Json::String(text) => (!text.is_empty()).then(|| format!("{text:?}")),
        Json::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(literal).collect();
            items.and_then(|items| list(&items))
        }
        Json::Object(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| Some(format!("{key} = {}", literal(value)?)));
            entries
                .collect::<Option<Vec<String>>>()
                .and_then(|entries| table(&entries))
        }
    }
}

/// A value that the schema admits, as TOML; `None` for texts of any content.
fn sample(schemas: Schemas<'_>, schema: &Json, depth: usize) -> Option<String> {
    if let Some(example) = first_example(schema) {
        return literal(example);
    }
    if let Some(notation) = schemas.notation(schema) {
        return Some(format!("{:?}", notation.example));
    }
    if let Some(word) = schemas
        .words(schema)
        .and_then(|words| words.first().copied())
    {
        return Some(format!("{word:?}"));
    }
    let schema = schemas.resolve(schema);
    if let Some(example) = first_example(schema) {
        return literal(example);
    }
    let depth = depth.checked_sub(1)?;
    if let Some(alternatives) = Schemas::alternatives(schema) {
        return sample(schemas, alternatives.first()?, depth);
    }
    match Schemas::types(schema).first().copied()? {
        "integer" | "number" => match least(schema) {
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            _ => None,
        },
        "boolean" => Some("true".to_owned()),
        "array" => list(&[sample(schemas, schema.get("items")?, depth)?]),
        "object" => {
            let required = schemas.required(schema).into_iter();
            let entries = required.map(|key| {
                let value = sample(schemas, &schema["properties"][key], depth)?;
                Some(format!("{key} = {value}"))
            });
            entries
                .collect::<Option<Vec<String>>>()
                .and_then(|entries| table(&entries))
        }
        _ => None,
    }
}

fn first_example(schema: &Json) -> Option<&Json> {
    schema.get("examples")?.get(0)
}

fn list(items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| format!("[{}]", items.join(", ")))
}

fn table(entries: &[String]) -> Option<String> {
    (!entries.is_empty()).then(|| format!("{{ {} }}", entries.join(", ")))
}
