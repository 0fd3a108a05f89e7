//! Papers.

use serde::Serialize;

use crate::figure::Figure;

/// A paper with its figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Paper {
    /// The short name with which its claims begin, such as `ppd`.
    pub id: &'static str,
    /// The title.
    pub title: &'static str,
    /// The authors.
    pub authors: &'static str,
    /// The figures and tables.
    #[serde(skip)]
    pub figures: &'static [Figure],
}
