//! The simulator beside theory and ns-2 2.35.
//!
//! A *case* is a network of `validation/scenarios` with overrides, run once for each of its seeds as
//! `polypath sim` would run it; its *checks* each take a quantity from every run and hold its mean against a
//! reference. The *suites* make the cases: theory, TCP beside PFTK, and the runs of ns-2, whose figures lie in
//! `validation/reference`. [`validate`] runs cases on several threads and gives a [`Row`] for each check; the seeds and
//! their order do not depend on the threads, so that the rows do not either.
//!
//! The [`Scope`] says how much is run: all of it, or a part with fewer seeds within the same bounds.

mod case;
mod pftk;
mod quantity;
mod row;
mod run;
mod suite;
mod table;

pub use case::{Case, Check, Tolerance};
pub use pftk::pftk;
pub use quantity::{Kind, Quantity};
pub use row::Row;
pub use run::validate;
pub use suite::{Scope, cases};
pub use table::{json, render};

/// Why nothing could be validated.
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
        /// Why.
        source: csv::Error,
    },
    /// A run ended before its end.
    #[error("{case}: {source}")]
    Run {
        /// The case.
        case: String,
        /// Why.
        source: polypath_sim::RunError,
    },
}
