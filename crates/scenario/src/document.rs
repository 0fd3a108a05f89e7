//! Reading TOML documents whole: every problem at once, each with its place and the remedy.
//!
//! A document is parsed into a tree that knows where each value stands; `--set` overrides are applied to the
//! tree; the tree is inspected against the JSON schema of the wanted type, which finds unknown keys, missing
//! keys, wrong types and values out of range; then it is deserialised and handed to the caller's own checks.
//! What the inspection refuses is replaced by a stand-in, so that one mistake does not hide the next; what
//! the caller's checks say about a stand-in is dropped.

mod deserialize;
mod grid;
mod inspect;
mod locator;
mod notation;
mod overrides;
mod problem;
mod schema;
mod tree;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

pub use grid::grid;
pub use locator::Locator;
pub use overrides::{Override, ParseOverrideError};
pub(crate) use problem::Spot;
pub use problem::{Errors, Place, Problem, Problems, nearest};

/// The keys at the top of a TOML text, as far as it can be read.
#[must_use]
pub fn top_level_keys(text: &str) -> Vec<String> {
    let (table, _) = toml::de::DeTable::parse_recoverable(text);
    let keys = table.get_ref().keys();
    keys.map(|key| key.get_ref().to_string()).collect()
}

/// The string at these keys, one in the table of the other, of a TOML text, as far as it can be read.
#[must_use]
pub fn string_at(text: &str, keys: &[&str]) -> Option<String> {
    let (document, _) = toml::de::DeTable::parse_recoverable(text);
    let (last, tables) = keys.split_last()?;
    let mut table = document.get_ref();
    for key in tables {
        table = table.get(*key)?.get_ref().as_table()?;
    }
    Some(table.get(*last)?.get_ref().as_str()?.to_owned())
}

/// Reads `text`, with the overrides applied, as a `T`; the locator finds the lines of its keys.
///
/// # Errors
/// All syntax errors; or else all unknown and missing keys, wrong types and values out of range.
pub fn read<T: DeserializeOwned + JsonSchema>(
    text: &str,
    file_name: &str,
    overrides: &[Override],
) -> Result<(T, Locator), Errors> {
    read_checked(text, file_name, overrides, |_: &T, _| {})
}

/// Reads like [`read`], and lets `check` add the problems that no schema can state.
///
/// `check` runs on a document with problems, too: what was refused is replaced by valid stand-ins.
///
/// # Errors
/// As [`read`], with the problems that `check` reports.
pub fn read_checked<T: DeserializeOwned + JsonSchema>(
    text: &str,
    file_name: &str,
    overrides: &[Override],
    check: impl FnOnce(&T, &mut Problems),
) -> Result<(T, Locator), Errors> {
    read_completed(text, file_name, overrides, |value, problems| {
        check(value, problems);
    })
}

/// Runs checks of a value that a program sets after the reading; what they report of the key of `argument`, alone or
/// among others, is blamed on it.
///
/// # Errors
/// What they report.
pub(crate) fn check_argument(
    argument: Override,
    check: impl FnOnce(&mut Problems),
) -> Result<(), Errors> {
    let arguments = [argument];
    let source = locator::Source::new("", &arguments);
    let mut root = tree::Node::empty();
    let mut found = Vec::new();
    overrides::apply(&mut root, &source, &arguments, &mut found);
    let mut problems = Problems::new(Locator::new(source, &root), found);
    check(&mut problems);
    problems.finish().map(drop)
}

/// The schema of a type. It says the same of every document, and to derive it and to drop it takes longer than to read a
/// small one: each is made once, and stays.
fn schema_of<T: JsonSchema>() -> &'static Json {
    static SCHEMAS: Mutex<BTreeMap<Cow<'static, str>, &'static Json>> = Mutex::new(BTreeMap::new());
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || -> &'static Json { Box::leak(Box::new(schemars::schema_for!(T).to_value())) };
    schemas.entry(T::schema_id()).or_insert_with(make)
}

/// Reads like [`read_checked`], and lets `complete` add what stands in other files.
///
/// # Errors
/// As [`read_checked`].
pub(crate) fn read_completed<T: DeserializeOwned + JsonSchema>(
    text: &str,
    file_name: &str,
    overrides: &[Override],
    complete: impl FnOnce(&mut T, &mut Problems),
) -> Result<(T, Locator), Errors> {
    let source = locator::Source::new(file_name, overrides);
    let mut found = Vec::new();
    let mut root = tree::parse(text, &source)?;
    overrides::apply(&mut root, &source, overrides, &mut found);
    let root = inspect::inspect(schema_of::<T>(), &root, &source, &mut found);
    let mut problems = Problems::new(Locator::new(source, &root), found);
    match deserialize::from_node(&root) {
        Ok(mut value) => {
            complete(&mut value, &mut problems);
            problems.finish().map(|locator| (value, locator))
        }
        Err(failure) => {
            problems.report_failure(failure.origin, failure.message);
            Err(problems.into_errors())
        }
    }
}
