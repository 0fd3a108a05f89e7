//! Y. Zhang, J. Chapin and V. W. S. Chan, "Failure of TCP Congestion Control under Diversity
//! Routing".

mod bound;
mod cure;
mod load;
mod lockout;
mod operating;
mod overflow;
mod parameters;
mod readings;
mod red;
mod single_flow;
mod tcp;
mod totals;
mod unfair;
mod variants;

use polypath_claims::Figure;

/// The figures of the paper.
pub(crate) const FIGURES: &[Figure] = &[
    bound::FIGURE,
    single_flow::FIGURE,
    totals::SINGLE,
    totals::SEVERAL,
    overflow::FIGURE,
    unfair::FIGURE,
    lockout::FIGURE,
    variants::FIGURE,
    red::FIGURE,
    operating::FIGURE,
    cure::FIGURE,
    tcp::FIGURE,
];
