//! S. Tullimas, T. Nguyen, R. Edgecombe and S. Cheung, "Multimedia Streaming Using Multiple TCP Connections".

mod course;
mod fig4;
mod fig5;
mod harm;
mod internet;
mod losses;
mod parameters;
mod reduction;
mod runs;
mod sensitivity;
mod setting;
mod stops;
mod striping;

use crate::figure::Figure;

/// Its figures.
pub const FIGURES: &[Figure] = &[
    reduction::FIGURE,
    fig4::FIGURE,
    fig5::FIGURE,
    internet::FIG_6,
    internet::FIG_7,
    internet::FIG_8,
    stops::FIGURE,
    striping::FIGURE,
    sensitivity::FIGURE,
    harm::FIGURE,
];
