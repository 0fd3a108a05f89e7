//! The cases, suite by suite.

mod fq_codel;
mod linux;
mod ns2;
mod random_loss;
mod single_flow;
mod spacing;
mod theory;

use serde::de::DeserializeOwned;

use crate::{Case, Tolerance, ValidateError};

/// The extent of a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Full,
    /// Fewer cases, seeds and seconds within the same bounds, for every run of the tests.
    Reduced,
}

/// ns-2: goodput.
const GOODPUT: Tolerance = Tolerance::share(0.03);
/// ns-2: the mean queue under RED.
const QUEUE: Tolerance = Tolerance::share(0.03);
/// ns-2: drops, retransmissions and losses.
const DROPS: Tolerance = Tolerance::share(0.10);

impl Scope {
    /// `full` in the full form, `reduced` in the other.
    const fn pick<T: Copy>(self, full: T, reduced: T) -> T {
        match self {
            Self::Full => full,
            Self::Reduced => reduced,
        }
    }
}

/// All cases, in the order in which they are reported.
///
/// # Errors
/// If a scenario or a reference file of the validation is invalid.
pub fn cases(scope: Scope) -> Result<Vec<Case>, ValidateError> {
    let suites = [
        theory::cases(scope)?,
        fq_codel::cases(scope)?,
        linux::cases(scope)?,
        single_flow::cases(scope)?,
        random_loss::cases(scope)?,
        spacing::cases(scope)?,
        ns2::cases(scope)?,
    ];
    Ok(suites.into_iter().flatten().collect())
}

/// The rows of a file of references.
fn read<T: DeserializeOwned>(file: &'static str, text: &str) -> Result<Vec<T>, ValidateError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Result<Vec<T>, csv::Error> = reader.deserialize().collect();
    rows.map_err(|source| ValidateError::Reference { file, source })
}

/// A variant of TCP by its name in ns-2, as scenarios write it.
fn variant(ns2: &str) -> String {
    match ns2 {
        "Sack1" => "sack".to_owned(),
        other => other.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case that the reduced form leaves out still reads, and no two are called alike.
    #[test]
    fn every_case_reads_and_has_a_name_of_its_own() {
        for scope in [Scope::Full, Scope::Reduced] {
            let cases = cases(scope).unwrap_or_else(|error| panic!("{error}"));
            let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
            assert!(cases.iter().all(|case| !case.checks.is_empty()));
        }
        let of = |prefix: &str| {
            let cases = cases(Scope::Full).unwrap();
            cases
                .iter()
                .filter(|case| case.name.starts_with(prefix))
                .count()
        };
        assert_eq!(of("ns2/single-flow/"), 24);
        assert_eq!(of("ns2/random-loss/"), 20);
        assert_eq!(of("ns2/spacing/"), 247);
    }
}
