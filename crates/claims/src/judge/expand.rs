//! Expansion of a part to the names for which it has to hold.

use std::collections::BTreeSet;

use super::JudgeError;
use super::eval::Measured;
use crate::ledger::{Each, Expr, Part, Relation};

/// The relation of a part for each of the names for which it has to hold.
///
/// If none of its names is measured, each name stands for every measured `name.X` that exists for
/// all of them.
pub(super) fn expand(part: &Part, measured: &Measured<'_>) -> Result<Vec<Relation>, JudgeError> {
    let Some(relation) = &part.relation else {
        return Ok(Vec::new());
    };
    let (segment, values) = match &part.each {
        Each::Once => return children(relation, measured),
        Each::Listed { segment, names } => (segment, names.clone()),
        Each::Measured { segment, other } => {
            let mut values = candidates(relation, segment, measured);
            if *other {
                let own = own_names(relation, segment);
                values.retain(|value| !own.contains(value));
            }
            (segment, values.into_iter().collect())
        }
    };
    if values.is_empty() {
        let pattern = names(relation).join(", ");
        return Err(JudgeError::Missing(pattern));
    }
    let mut expanded = Vec::new();
    for value in values {
        let named = rename(relation, &|name| replace(name, segment, &value));
        expanded.extend(children(&named, measured)?);
    }
    Ok(expanded)
}

/// The names of the quantities in a relation.
pub(super) fn names(relation: &Relation) -> Vec<&str> {
    match relation {
        Relation::Compare { left, right, .. } | Relation::Near { left, right, .. } => {
            [names_in(left), names_in(right)].concat()
        }
        Relation::In { value, .. } => names_in(value),
        Relation::Monotone { curve, .. } | Relation::Falls { curve, .. } => vec![curve],
        Relation::Bimodal { of } => vec![of],
    }
}

/// The names of the quantities in an expression.
pub(super) fn names_in(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Number(_) => Vec::new(),
        Expr::Name(name) => vec![name],
        Expr::Binary(left, _, right) => [names_in(left), names_in(right)].concat(),
        Expr::Call(_, arguments) => arguments.iter().flat_map(names_in).collect(),
    }
}

/// The replacements of the segment that are measured for every name with it.
fn candidates(relation: &Relation, segment: &str, measured: &Measured<'_>) -> BTreeSet<String> {
    let patterns = names(relation).into_iter();
    let patterns = patterns.filter(|name| name.split('.').any(|part| part == segment));
    let fitting = |pattern: &str| -> BTreeSet<String> {
        let quantities = measured.0.iter().map(|m| m.quantity.as_str());
        quantities
            .filter_map(|quantity| fit(pattern, segment, quantity))
            .collect()
    };
    let all = patterns.map(fitting);
    all.reduce(|a, b| a.intersection(&b).cloned().collect())
        .unwrap_or_default()
}

/// The part of `name` at the segment's place in `pattern`, if all other parts are equal.
fn fit(pattern: &str, segment: &str, name: &str) -> Option<String> {
    let (wanted, found) = (pattern.split('.'), name.split('.'));
    if wanted.clone().count() != found.clone().count() {
        return None;
    }
    let mut value = None;
    for (wanted, found) in wanted.zip(found) {
        if wanted == segment {
            value = Some(found.to_owned());
        } else if wanted != found {
            return None;
        }
    }
    value
}

/// The replacements of the segment in the other names of the relation.
fn own_names(relation: &Relation, segment: &str) -> BTreeSet<String> {
    let all = names(relation);
    let has = |name: &&&str| name.split('.').any(|part| part == segment);
    let patterns = all.iter().filter(has);
    patterns
        .flat_map(|pattern| all.iter().filter_map(|name| fit(pattern, segment, name)))
        .filter(|value| value != segment)
        .collect()
}

/// The relation itself, or, if none of its names is measured, one for every `X` with a `name.X` for
/// all of them.
fn children(relation: &Relation, measured: &Measured<'_>) -> Result<Vec<Relation>, JudgeError> {
    let is_missing = |name: &str| measured.of(name).next().is_none();
    let missing: Vec<&str> = names(relation)
        .into_iter()
        .filter(|n| is_missing(n))
        .collect();
    let Some(first) = missing.first() else {
        return Ok(vec![relation.clone()]);
    };
    // If only some were missing, the others would be compared with a part of them.
    if missing.len() < names(relation).len() {
        return Err(JudgeError::Missing((*first).to_owned()));
    }
    let suffixes = |name: &str| -> BTreeSet<&str> {
        let quantities = measured.0.iter().map(|m| m.quantity.as_str());
        quantities
            .filter_map(|quantity| quantity.strip_prefix(name)?.strip_prefix('.'))
            .collect()
    };
    let all = missing.iter().map(|name| suffixes(name));
    let common = all.reduce(|a, b| a.intersection(&b).copied().collect());
    let common = common.unwrap_or_default();
    if common.is_empty() {
        return Err(JudgeError::Missing((*first).to_owned()));
    }
    let child = |suffix: &&str| {
        rename(relation, &|name| {
            if missing.contains(&name) {
                format!("{name}.{suffix}")
            } else {
                name.to_owned()
            }
        })
    };
    Ok(common.iter().map(child).collect())
}

fn replace(name: &str, segment: &str, value: &str) -> String {
    let parts = name.split('.');
    let parts: Vec<&str> = parts
        .map(|part| if part == segment { value } else { part })
        .collect();
    parts.join(".")
}

fn rename(relation: &Relation, f: &dyn Fn(&str) -> String) -> Relation {
    let mut renamed = relation.clone();
    match &mut renamed {
        Relation::Compare { left, right, .. } | Relation::Near { left, right, .. } => {
            rename_in(left, f);
            rename_in(right, f);
        }
        Relation::In { value, .. } => rename_in(value, f),
        Relation::Monotone { curve: name, .. }
        | Relation::Falls { curve: name, .. }
        | Relation::Bimodal { of: name } => *name = f(name),
    }
    renamed
}

fn rename_in(expr: &mut Expr, f: &dyn Fn(&str) -> String) {
    match expr {
        Expr::Number(_) => {}
        Expr::Name(name) => *name = f(name),
        Expr::Binary(left, _, right) => {
            rename_in(left, f);
            rename_in(right, f);
        }
        Expr::Call(_, arguments) => {
            for argument in arguments {
                rename_in(argument, f);
            }
        }
    }
}
