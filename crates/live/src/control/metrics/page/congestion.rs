//! The samples of the congestion that copies mask.

use std::fmt;

use polypath_core::combine::DetectorStatistics;

use super::Page;
use crate::stats::Stats;

pub(super) fn encode(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(DetectorStatistics {
        windows,
        congested,
        dropouts,
        marked,
        dropped,
        unmarkable,
    }) = stats.congestion
    else {
        return Ok(());
    };
    let clear = windows.saturating_sub(congested).saturating_sub(dropouts);
    page.counter(
        "copy_windows_total",
        "Windows of the peer's packets, by what the losses of their copies show.",
    )
    .samples([
        (vec![("sign", "clear")], clear),
        (vec![("sign", "dropout")], dropouts),
        (vec![("sign", "congestion")], congested),
    ])?;
    page.counter(
        "congestion_signals_total",
        "Packets that were due for a congestion signal, by what happened to them.",
    )
    .samples([
        (vec![("signal", "mark")], marked),
        (vec![("signal", "drop")], dropped),
        (vec![("signal", "none")], unmarkable),
    ])
}
