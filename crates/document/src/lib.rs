//! Reads TOML documents whole: every problem at once, each with its position and a remedy.
//!
//! 1. A document is parsed into a tree whose values know their positions, and `--set` overrides are
//!    applied to it.
//! 2. The tree is inspected against the JSON schema of the wanted type. That finds unknown keys,
//!    missing keys, wrong types and values out of range. Each refused value is replaced by a valid
//!    stand-in, so that one mistake does not hide the next.
//! 3. The tree is deserialised and passed to the caller's own checks. What they report of a
//!    stand-in is dropped.
//!
//! [`mod@file`] reads the files, and [`FileKind`] is their kind, so that each command can name a
//! file of another kind. [`create_draft`] creates the files that replace others.

mod deserialize;
mod draft;
mod effect;
mod example;
#[cfg(unix)]
pub mod file;
mod grid;
mod inspect;
mod kind;
mod limits;
mod locator;
mod notation;
mod overrides;
mod problem;
mod schema;
mod shell;
mod tree;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

pub use draft::{PUBLIC_MODE, create_draft};
pub use effect::UsedPolicies;
pub use grid::grid;
pub use kind::{FileKind, PRESHARED_KEY_HEADING, WrongKind, check_kind, kinds_of};
pub use limits::{
    MAX_DURATION, MAX_RATE, MAX_SIZE, at_least, at_most, at_most_a_day, check_classes,
    check_spacing, last_part,
};
pub use locator::Locator;
pub use notation::{Notation, check_notation};
pub use overrides::{Override, ParseOverrideError};
pub use problem::{Errors, FilePosition, Location, NamedFile, Problem, Problems, nearest};
pub use shell::{quoted, shell_word};

/// A type that a whole document describes.
pub trait Document: DeserializeOwned + JsonSchema {
    /// The text notations of its values, besides those of rates, sizes and durations.
    const NOTATIONS: &'static [Notation] = &[];
}

/// The string at a path of nested keys in a TOML text, as far as it can be parsed.
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

/// Whether a TOML text has a key at its top level, as far as it can be parsed.
#[must_use]
pub fn has_key(text: &str, key: &str) -> bool {
    let (document, _) = toml::de::DeTable::parse_recoverable(text);
    document.get_ref().contains_key(key)
}

/// Checks that a text is TOML.
///
/// # Errors
/// All syntax errors.
pub fn check_syntax(text: &str, file_name: &str) -> Result<(), Errors> {
    tree::parse(text, &locator::Source::new(file_name, &[])).map(|_| ())
}

/// Checks that a text has at most one of several keys at its top level.
///
/// # Errors
/// All syntax errors, or else each of the keys after the first, with its line and the remedy.
pub fn check_exclusive(
    text: &str,
    file_name: &str,
    keys: &[&str],
    remedy: &str,
) -> Result<(), Errors> {
    let source = locator::Source::new(file_name, &[]);
    let root = tree::parse(text, &source)?;
    let entries = keys.iter().filter_map(|key| Some((key, root.entry(key)?)));
    let mut found = problem::Found::default();
    let mut in_order: Vec<_> = entries.collect();
    in_order.sort_by_key(|(_, node)| node.origin);
    let Some(((first, _), others)) = in_order.split_first() else {
        return Ok(());
    };
    for (key, node) in others {
        let message = format!("`{key}` excludes `{first}`");
        found.push(|| Problem::new(source.location(node.origin), message, remedy));
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Errors::new(found))
}

/// Reads `text`, with the overrides applied, as a `T`; the locator finds the lines of its keys.
///
/// # Errors
/// All syntax errors, or else all unknown and missing keys, wrong types and values out of range.
pub fn read<T: Document>(
    text: &str,
    file_name: &str,
    overrides: &[Override],
) -> Result<(T, Locator), Errors> {
    read_checked(text, file_name, overrides, |_: &T, _| {})
}

/// Reads like [`read`]; `check` adds the problems that no schema can state.
///
/// `check` also runs on a document with problems: refused values are replaced by valid stand-ins.
///
/// # Errors
/// Those of [`read`], and the problems that `check` reports.
pub fn read_checked<T: Document>(
    text: &str,
    file_name: &str,
    overrides: &[Override],
    check: impl FnOnce(&T, &mut Problems),
) -> Result<(T, Locator), Errors> {
    read_completed(text, file_name, overrides, |value, problems| {
        check(value, problems);
    })
}

/// Reads like [`read_checked`]; `complete` may also fill in the contents of other files.
///
/// # Errors
/// As [`read_checked`].
pub fn read_completed<T: Document>(
    text: &str,
    file_name: &str,
    overrides: &[Override],
    complete: impl FnOnce(&mut T, &mut Problems),
) -> Result<(T, Locator), Errors> {
    let source = locator::Source::new(file_name, overrides);
    let mut found = problem::Found::default();
    let mut root = tree::parse(text, &source)?;
    overrides::apply(&mut root, &source, overrides, &mut found);
    let schemas = schema::Schemas::new(schema_of::<T>(), T::NOTATIONS);
    let root = inspect::inspect(schemas, &root, &source, &mut found);
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

/// Checks a value that a program sets after reading the document; problems with the key of
/// `argument` are reported at the argument.
///
/// # Errors
/// The problems that `check` reports.
pub fn check_argument(argument: Override, check: impl FnOnce(&mut Problems)) -> Result<(), Errors> {
    let arguments = [argument];
    let source = locator::Source::new("", &arguments);
    let mut root = tree::Node::empty();
    let mut found = problem::Found::default();
    overrides::apply(&mut root, &source, &arguments, &mut found);
    let mut problems = Problems::new(Locator::new(source, &root), found);
    check(&mut problems);
    problems.finish().map(drop)
}

/// The schema of a type, derived once and kept: deriving and dropping it takes longer than reading
/// a small document.
fn schema_of<T: JsonSchema>() -> &'static Json {
    static SCHEMAS: Mutex<BTreeMap<Cow<'static, str>, &'static Json>> = Mutex::new(BTreeMap::new());
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || -> &'static Json { Box::leak(Box::new(schemars::schema_for!(T).to_value())) };
    schemas.entry(T::schema_id()).or_insert_with(make)
}
