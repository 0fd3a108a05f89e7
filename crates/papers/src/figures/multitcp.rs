//! S. Tullimas, T. Nguyen, R. Edgecombe and S. Cheung, "Multimedia Streaming Using Multiple TCP
//! Connections".

mod fig4;
mod fig5;
mod harm;
mod internet;
mod reduction;
mod runs;
mod sensitivity;
mod spikes;
mod stops;
mod striping;

use polypath_claims::Figure;

/// The figures of the paper.
pub(crate) const FIGURES: &[Figure] = &[
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
    spikes::FIGURE,
];
