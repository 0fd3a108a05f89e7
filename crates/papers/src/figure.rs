//! Figures and tables of the papers, and what comes of them.

use polypath_report::plot::Plot;
use serde::Serialize;

use crate::measurement::Measurement;
use crate::study::{Pending, Study};

/// A figure or table of a paper, or several that come from the same runs.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name, such as `ppd.fig3`; what stands before the first dot is the paper.
    pub id: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// The claims of the ledger that it answers.
    pub claims: &'static [&'static str],
    /// Makes it, or asks for what it is made of.
    pub make: fn(&mut Study<'_>) -> Result<Findings, Pending>,
}

/// What comes of a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The pictures, the paper's first.
    pub plots: Vec<Plot>,
    /// The tables, the paper's first; sensitivities among them.
    pub sheets: Vec<Sheet>,
    /// What the claims are judged by.
    pub measurements: Vec<Measurement>,
    /// Why claims differ, as far as it is known.
    pub reasons: Vec<Reason>,
    /// What qualifies the verdict of claims, whichever it is: what was fitted, and which of several readings is judged.
    pub caveats: Vec<Reason>,
    /// Parameters by their names, with their source: stated in the paper, or chosen.
    pub parameters: Vec<[String; 2]>,
    /// What a reader should know besides, in sentences.
    pub notes: Vec<String>,
}

/// What is to be said of a claim: why it differs, with the evidence, or what qualifies its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The claim.
    pub claim: &'static str,
    /// It in words.
    pub text: String,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sheet {
    /// Its name in files, such as `sensitivity`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The heads of its columns, with units.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    /// The paper to which it belongs.
    #[must_use]
    pub fn paper(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// The path of a file of its own in the folder of the book, such as `ppd.fig3/fig3.csv`.
    #[must_use]
    pub fn file(&self, name: &str, extension: &str) -> String {
        format!("{}/{name}.{extension}", self.id)
    }
}
