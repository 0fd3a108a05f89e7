//! A. Feng, W. Feng and G. Belford, "Packet Spacing: An Enabling Mechanism for Delivering
//! Multimedia Content in Computational Grids".

mod alternatives;
mod crowd;
mod damping;
mod fairness;
mod lab;
mod ns2;
mod packets;
mod parameters;
mod sensitivity;
mod single_sender;
mod survives;
mod sweep;
mod wan;
mod with_tcp;

use polypath_claims::Figure;

/// The figures of the paper.
pub(crate) const FIGURES: &[Figure] = &[
    wan::FIGURE,
    damping::DAMPING,
    damping::growth::FIGURE,
    single_sender::FIGURE,
    crowd::FIGURE,
    with_tcp::MEDIA,
    with_tcp::TCP,
    with_tcp::LARGE,
    survives::FIGURE,
    fairness::TOGETHER,
    fairness::late::FIGURE,
    fairness::with_tcp::FIGURE,
    packets::FIGURE,
];
