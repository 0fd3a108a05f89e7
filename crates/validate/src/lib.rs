//! The simulator compared with theory and ns-2 2.35.
//!
//! A *case* is a network of `validation/scenarios` with overrides, run once for each of its seeds
//! as `polypath sim` would run it. Each of its *checks* measures a quantity in every run and
//! compares its mean with a reference. The *suites* define the cases: theory, TCP against PFTK, and
//! the runs of ns-2, whose results are in `validation/reference`. [`validate`] runs cases on
//! several threads and returns a [`Comparison`] for each check. The seeds and their order do not
//! depend on the threads, so the results do not either.
//!
//! The [`Scope`] selects all of it, or a part with fewer seeds within the same bounds.

mod case;
mod comparison;
mod pftk;
mod quantity;
mod run;
mod suite;
mod table;

pub use case::{Case, Check, Scenario, Tolerance};
pub use comparison::Comparison;
pub use pftk::pftk;
pub use quantity::{Kind, Quantity};
pub use run::validate;
pub use suite::{Scope, cases};
pub use table::{json, render};

/// The validation could not run.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// A scenario of the validation is wrong.
    #[error("{0}")]
    Scenario(#[from] polypath_document::Errors),
    /// An override or a quantity cannot be read.
    #[error("validation: {0}")]
    Data(String),
    /// A file of references cannot be read.
    #[error("{file}: {source}")]
    Reference {
        /// Its name.
        file: &'static str,
        /// The cause.
        source: csv::Error,
    },
    /// A run ended before its end.
    #[error("{case}: {source}")]
    Run {
        /// The case.
        case: String,
        /// The cause.
        source: polypath_sim::RunError,
    },
}
