//! A. Feng, W. Feng and G. Belford, "Packet Spacing: An Enabling Mechanism for Delivering Multimedia Content in
//! Computational Grids".

mod alone;
mod alternatives;
mod crowd;
mod damping;
mod fairness;
mod merge;
mod ns2;
mod packets;
mod sensitivity;
mod steady;
mod survives;
mod sweep;
mod trace;
mod wan;
mod with_tcp;

use crate::figure::Figure;

/// Its figures.
pub const FIGURES: &[Figure] = &[
    wan::FIGURE,
    damping::DAMPING,
    damping::growth::FIGURE,
    alone::FIGURE,
    crowd::FIGURE,
    with_tcp::MEDIA,
    with_tcp::TCP,
    with_tcp::LARGE,
    survives::FIGURE,
    fairness::TOGETHER,
    fairness::late::FIGURE,
    fairness::beside_tcp::FIGURE,
    packets::FIGURE,
];
