//! The five papers that polypath implements: the figures that reproduce theirs, and the simulations
//! behind them. The same for the promises of its own policies ([`OWN`]).
//!
//! A [`Figure`](polypath_claims::Figure) is a function from a [`Study`](polypath_claims::Study) to
//! [`Findings`](polypath_claims::Findings). The folder `jobs` has the simulations, the folder
//! `figures` the functions that request them, draw their results and name the measurements that the
//! ledger's rules use.

mod figures;
mod jobs;

use polypath_claims::Paper;
use polypath_claims::ledger;

use crate::figures::{delay_centric, diversity, multitcp, own, ppd, psp};
pub use crate::jobs::{LAB_SOURCES, SOURCES};

/// The papers and their figures.
pub const PAPERS: [Paper; 5] = [
    Paper {
        id: "ppd",
        title: "A Simulation Study of Packet Path Diversity for TCP File Transfer and Media Transport on the Internet",
        authors: "E. Steinbach, Y. Liang and B. Girod",
        figures: ppd::FIGURES,
    },
    Paper {
        id: "multitcp",
        title: "Multimedia Streaming Using Multiple TCP Connections",
        authors: "S. Tullimas, T. Nguyen, R. Edgecombe and S. Cheung",
        figures: multitcp::FIGURES,
    },
    Paper {
        id: "diversity",
        title: "Failure of TCP Congestion Control under Diversity Routing",
        authors: "Y. Zhang, J. Chapin and V. W. S. Chan",
        figures: diversity::FIGURES,
    },
    Paper {
        id: "delay_centric",
        title: "On the stability of multiple delay-centric multi-homed transmissions",
        authors: "P. Mantovani Antunes, G. de Souza Miguel, C. M. Pedroso and E. Parente Ribeiro",
        figures: delay_centric::FIGURES,
    },
    Paper {
        id: "psp",
        title: "Packet Spacing: An Enabling Mechanism for Delivering Multimedia Content in Computational Grids",
        authors: "A. Feng, W. Feng and G. Belford, LACSI Symposium 2001",
        figures: psp::FIGURES,
    },
];

/// This project's own policies with the figures that answer its own claims, in the place of a paper.
pub const OWN: Paper = Paper {
    id: ledger::OWN,
    title: "polypath's own claims: the policies in-time and delay-growth",
    authors: "The promises of docs/in-time.md and docs/stability.md",
    figures: own::FIGURES,
};

/// The papers, then [`OWN`].
#[must_use]
pub fn chapters() -> Vec<Paper> {
    PAPERS.into_iter().chain([OWN]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use polypath_claims::Figure;
    use polypath_claims::ledger::Ledger;

    use super::*;

    fn figures() -> impl Iterator<Item = &'static Figure> {
        chapters().into_iter().flat_map(|paper| paper.figures)
    }

    #[test]
    fn every_claim_is_answered_by_one_figure() {
        let ledger = Ledger::built_in().unwrap();
        let papers: BTreeSet<&str> = chapters().iter().map(|paper| paper.id).collect();
        let claims = ledger.claims.iter();
        let claims = claims.filter(|claim| papers.contains(claim.paper()));
        let mut wanted: Vec<&str> = claims.map(|claim| claim.id.as_str()).collect();
        let mut answered: Vec<&str> = figures()
            .flat_map(|figure| figure.claims)
            .copied()
            .collect();
        wanted.sort_unstable();
        answered.sort_unstable();
        assert_eq!(answered, wanted);
    }

    #[test]
    fn every_figure_is_of_its_paper_and_in_the_guide() {
        let guide = include_str!("../../../docs/reproduce.md");
        for paper in chapters() {
            for figure in paper.figures {
                assert_eq!(figure.paper(), paper.id);
                assert!(guide.contains(&format!("`{}`", figure.id)), "{}", figure.id);
            }
        }
        let names: BTreeSet<&str> = figures().map(|figure| figure.id).collect();
        assert_eq!(names.len(), figures().count(), "no two of one name");
    }
}
