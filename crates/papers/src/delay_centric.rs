//! P. Mantovani Antunes, G. de Souza Miguel, C. M. Pedroso and E. Parente Ribeiro, "On the stability of multiple
//! delay-centric multi-homed transmissions".

mod alone;
mod bed;
mod beside;
mod mechanism;
mod modes;
mod parameters;
mod pictures;
mod runs;
mod sweep;
mod variants;

use crate::figure::Figure;

/// Its figures.
pub const FIGURES: &[Figure] = &[
    alone::PURE_FIGURE,
    alone::GUARD_FIGURE,
    alone::PREDICTIVE_FIGURE,
    alone::PREDICTIVE_GUARD_FIGURE,
    beside::BACKGROUND_FIGURE,
    beside::TREND_FIGURE,
    variants::FIGURE,
];
