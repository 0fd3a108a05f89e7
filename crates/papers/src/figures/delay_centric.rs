//! P. Mantovani Antunes, G. de Souza Miguel, C. M. Pedroso and E. Parente Ribeiro, "On the
//! stability of multiple delay-centric multi-homed transmissions".

mod homogeneous;
mod lab;
mod mixed_traffic;
mod modes;
mod parameters;
mod pictures;
mod sweep;
mod variants;

use polypath_claims::Figure;

/// The figures of the paper.
pub(crate) const FIGURES: &[Figure] = &[
    homogeneous::PURE_FIGURE,
    homogeneous::GUARD_FIGURE,
    homogeneous::PREDICTIVE_FIGURE,
    homogeneous::PREDICTIVE_GUARD_FIGURE,
    mixed_traffic::BACKGROUND_FIGURE,
    mixed_traffic::TREND_FIGURE,
    variants::FIGURE,
];
