//! Figures and tables of papers, and their findings.

use polypath_report::plot::Plot;
use serde::Serialize;

use crate::measurement::Measurement;
use crate::study::{Pending, Study};

/// A figure or table of a paper, or several that come from the same runs.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name, such as `ppd.fig3`, with the paper before the first dot.
    pub id: &'static str,
    /// The title on one line.
    pub title: &'static str,
    /// The claims of the ledger that the figure answers.
    pub claims: &'static [&'static str],
    /// Makes the figure, or requests the jobs it needs.
    pub make: fn(&mut Study<'_>) -> Result<Findings, Pending>,
}

/// The findings of a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The plots, the paper's first.
    pub plots: Vec<Plot>,
    /// The tables, the paper's first.
    pub tables: Vec<FigureTable>,
    /// The measurements that judge the claims.
    pub measurements: Vec<Measurement>,
    /// The measurements in the lab, by which claims are judged a second time; empty without a lab.
    pub in_lab: Vec<Measurement>,
    /// The reason for which something was not measured in the lab, if it failed there.
    pub lab_failure: Option<String>,
    /// The reasons why claims differ, as far as they are known.
    pub reasons: Vec<ClaimRemark>,
    /// Qualifications of verdicts: what was fitted, and which of several interpretations is judged.
    pub caveats: Vec<ClaimRemark>,
    /// Parameters by name, with their value and source: stated in the paper, or chosen.
    pub parameters: Vec<[String; 2]>,
    /// Other remarks for the reader, in sentences.
    pub notes: Vec<String>,
}

/// The reason why a claim differs, with the evidence, or a qualification of its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRemark {
    /// The claim.
    pub claim: &'static str,
    /// The remark in sentences.
    pub text: String,
}

/// A table of a figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FigureTable {
    /// The name of its file, such as `sensitivity`.
    pub id: String,
    /// The title.
    pub title: String,
    /// The headings of the columns, with units.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// A figure that was made.
#[derive(Clone, Debug)]
pub struct MadeFigure<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// Its findings.
    pub findings: &'a Findings,
    /// The measurements as read back from their file.
    pub measurements: Vec<Measurement>,
    /// Those in the lab.
    pub in_lab: Vec<Measurement>,
}

/// A figure that could not be made.
#[derive(Clone, Copy, Debug)]
pub struct FailedFigure<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// The error of the job that failed.
    pub error: &'a str,
}

impl Figure {
    /// The paper.
    #[must_use]
    pub fn paper(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// The path of one of its files in the folder of the book, such as `ppd.fig3/fig3.csv`.
    #[must_use]
    pub fn file(&self, name: &str, extension: &str) -> String {
        format!("{}/{name}.{extension}", self.id)
    }
}
