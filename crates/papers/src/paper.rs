//! The papers.

use serde::Serialize;

use crate::figure::Figure;
use crate::{ppd, psp};

/// A paper, and what is made of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Paper {
    /// Its short name, with which its claims begin, such as `ppd`.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Who wrote it.
    pub authors: &'static str,
    /// Its figures and tables.
    #[serde(skip)]
    pub figures: &'static [Figure],
}

/// All papers whose figures are made.
pub const PAPERS: [Paper; 2] = [
    Paper {
        id: "ppd",
        title: "A Simulation Study of Packet Path Diversity for TCP File Transfer and Media Transport on the Internet",
        authors: "E. Steinbach, Y. Liang and B. Girod",
        figures: ppd::FIGURES,
    },
    Paper {
        id: "psp",
        title: "Packet Spacing: An Enabling Mechanism for Delivering Multimedia Content in Computational Grids",
        authors: "A. Feng, W. Feng and G. Belford, LACSI Symposium 2001",
        figures: psp::FIGURES,
    },
];
