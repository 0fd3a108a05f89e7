//! Y. Zhang, J. Chapin and V. W. S. Chan, "Failure of TCP Congestion Control under Diversity Routing".

mod bound;
mod cure;
mod latecomer;
mod lockout;
mod operating;
mod overflow;
mod readings;
mod red;
mod run;
mod setting;
mod single_flow;
mod totals;
mod unfair;
mod variants;

use crate::figure::Figure;

/// Its figures.
pub const FIGURES: &[Figure] = &[
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
];
