//! E. Steinbach, Y. Liang and B. Girod, "A Simulation Study of Packet Path Diversity for TCP File Transfer and Media
//! Transport on the Internet".

mod calibration;
mod curves;
mod fig3;
mod harm;
mod idle;
mod plan;
mod setting;
mod transfers;

use crate::figure::Figure;

/// Its figures and tables.
pub const FIGURES: &[Figure] = &[
    Figure {
        id: "ppd.fig3",
        title: "Transfer time over the load, both paths alike",
        claims: &[
            "ppd.fig3.order",
            "ppd.fig3.at_95",
            "ppd.fig3.rises_with_load",
        ],
        make: fig3::fig3,
    },
    Figure {
        id: "ppd.fig4",
        title: "Transfer time over the load, path 2 with 20 % less",
        claims: &[
            "ppd.fig4.probes_win_unbalanced",
            "ppd.fig4.duplicates_win_most",
        ],
        make: fig3::fig4,
    },
];
