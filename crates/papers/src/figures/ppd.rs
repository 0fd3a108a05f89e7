//! E. Steinbach, Y. Liang and B. Girod, "A Simulation Study of Packet Path Diversity for TCP File
//! Transfer and Media Transport on the Internet".

mod curves;
mod fig10;
mod fig3;
mod fig4;
mod fig5;
mod fig8;
mod fig9;
mod harm;
mod loads;
mod overhead;
mod pairs;
mod parameters;
mod plan;
mod playout;
mod sensitivity;
mod tables;
mod threshold;

use polypath_claims::Figure;

/// The figures and tables of the paper.
pub(crate) const FIGURES: &[Figure] = &[
    Figure {
        id: "ppd.overhead",
        title: "Overhead of the schemes on the wire",
        claims: &[
            "ppd.overhead.acks",
            "ppd.overhead.duplicates",
            "ppd.overhead.probes",
        ],
        make: overhead::overhead,
    },
    Figure {
        id: "ppd.eq1",
        title: "Delta T on idle paths",
        claims: &["ppd.delta_t.analytic"],
        make: pairs::eq1,
    },
    Figure {
        id: "ppd.table1",
        title: "Delta T over the load, 10 Mbit/s, and the threshold",
        claims: &[
            "ppd.delta_t.table1",
            "ppd.delta_t.falls_with_load",
            "ppd.delta_t.fewer_switches",
        ],
        make: tables::table1,
    },
    Figure {
        id: "ppd.table2",
        title: "Delta T over the load, 1 Mbit/s",
        claims: &["ppd.delta_t.table2"],
        make: tables::table2,
    },
    Figure {
        id: "ppd.fig3",
        title: "Transfer time over the load, equally loaded paths",
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
        make: fig4::fig4,
    },
    Figure {
        id: "ppd.fig5",
        title: "Playable size over time at loads of .94",
        claims: &["ppd.fig5.prebuffer", "ppd.fig5.probes_near_bound"],
        make: fig5::fig5,
    },
    Figure {
        id: "ppd.fig6",
        title: "Playable size over time at loads of .94 and .85",
        claims: &["ppd.fig6.unbalanced_is_faster"],
        make: fig5::fig6,
    },
    Figure {
        id: "ppd.fig8",
        title: "Transfer time over the load, 20 Mbit/s shared",
        claims: &["ppd.fig8.shared_fast_link"],
        make: fig8::fig8,
    },
    Figure {
        id: "ppd.fig9",
        title: "Transfer time over the load, 15 Mbit/s shared",
        claims: &["ppd.fig9.shared_bottleneck"],
        make: fig9::fig9,
    },
    Figure {
        id: "ppd.fig10",
        title: "Estimated and actual delays of data packets",
        claims: &["ppd.fig10.virtual_delay"],
        make: fig10::fig10,
    },
    Figure {
        id: "ppd.sensitivity",
        title: "Sensitivity of the ratios of Fig. 3 to what the paper leaves open",
        claims: &[],
        make: sensitivity::sensitivity,
    },
];
