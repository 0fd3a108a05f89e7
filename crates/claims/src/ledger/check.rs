//! Checks of claims that no schema expresses.

use std::collections::BTreeSet;

use polypath_document::Problems;

use super::{Claim, Kind, Ledger};

pub(super) fn check(ledger: &Ledger, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (claim, number) in ledger.claims.iter().zip(0..) {
        let key = format!("claim.{number}");
        if !seen.insert(&claim.id) {
            let message = format!("there are two claims `{}`", claim.id);
            problems.report(&format!("{key}.id"), message, "give each a different name");
        }
        if claim.kind.has_values() {
            check_values(&key, claim, problems);
        } else {
            check_rule(&key, claim, problems);
        }
    }
}

fn check_values(key: &str, claim: &Claim, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    let of = &claim.id;
    if claim.value.is_empty() {
        let message = format!("`{of}` has no value");
        problems.report(&at("value"), message, "add it: value = [1.0]");
    }
    if claim.value.iter().any(|value| !value.is_finite()) {
        let message = format!("a value of `{of}` is not a finite number");
        problems.report(&at("value"), message, "give finite numbers");
    }
    let (values, units) = (claim.value.len(), claim.units().len());
    if claim.unit.is_empty() || units != values {
        let message = format!("`{of}` has {values} values and the unit `{}`", claim.unit);
        let remedy = "give one unit for all values, or one for each, separated by commas";
        problems.report_among(&[&at("unit"), &at("value")], message, remedy);
    }
    match (&claim.tol, &claim.bounds) {
        (tol, bounds) if matches!(claim.kind, Kind::Most | Kind::Least) => {
            for (leaf, is_set) in [("tol", tol.is_some()), ("bounds", bounds.is_some())] {
                if is_set {
                    let message =
                        format!("`{leaf}` has no effect on `{of}`, whose values are bounds");
                    problems.report(&at(leaf), message, "remove it, or let `kind` be \"value\"");
                }
            }
        }
        (Some(_), None) => {}
        (None, Some(bounds)) => check_bounds(&at("bounds"), bounds, values, problems),
        _ => {
            let message = format!("`{of}` needs either `tol` or `bounds`");
            let remedy = "give the allowed deviation from the paper's values in one of these ways";
            problems.report_among(&[&at("tol"), &at("bounds"), &at("value")], message, remedy);
        }
    }
    if claim.rule.is_some() {
        let message = format!("`{of}` is judged by its values and has a rule");
        let remedy = "remove the rule, or move it to another claim of kind \"order\" or \"shape\"";
        problems.report(&at("rule"), message, remedy);
    }
}

fn check_bounds(key: &str, bounds: &[[f64; 2]], values: usize, problems: &mut Problems) {
    if bounds.len() != values {
        let message = format!("there are {} bounds for {values} values", bounds.len());
        problems.report(
            key,
            message,
            "give a lower and an upper bound for each value",
        );
    }
    // The comparison also rejects NaN.
    if let Some([low, high]) = bounds
        .iter()
        .find(|[low, high]| !matches!(low.partial_cmp(high), Some(order) if order.is_le()))
    {
        let message = format!("the range from {low} to {high} is empty");
        problems.report(key, message, "the lower bound comes first");
    }
}

fn check_rule(key: &str, claim: &Claim, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    match claim.rule() {
        None => {
            let message = format!("`{}` has no rule", claim.id);
            let remedy = "add it, such as rule = \"a < b\", or let `kind` be \"value\"";
            problems.report_among(&[&at("rule"), &at("kind")], message, remedy);
        }
        Some(Err(error)) => {
            let message = format!("the rule of `{}`: {error}", claim.id);
            problems.report(&at("rule"), message, error.remedy());
        }
        Some(Ok(_)) => {}
    }
    let unused = [
        ("value", !claim.value.is_empty()),
        ("tol", claim.tol.is_some()),
        ("bounds", claim.bounds.is_some()),
    ];
    for (leaf, is_set) in unused {
        if is_set {
            let message = format!("`{leaf}` has no effect on a claim with a rule");
            let remedy = "remove it, or let `kind` be \"value\" or \"exact\" and remove the rule";
            problems.report(&at(leaf), message, remedy);
        }
    }
}
