//! The samples of the peer's copies and fragments: the congestion that they mask, and the packets
//! that fragments restore.

use std::fmt;

use polypath_core::combine::DetectorStatistics;
use polypath_core::fragment::FragmentStatistics;

use super::Page;
use crate::stats::Stats;

pub(super) fn encode(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    detected(page, stats)?;
    restored(page, stats)
}

fn restored(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(FragmentStatistics {
        restored,
        incomplete,
    }) = stats.fragments
    else {
        return Ok(());
    };
    page.counter(
        "fragmented_packets_total",
        "Packets of the peer that came in fragments, by whether enough of them arrived.",
    )
    .samples([
        (vec![("state", "restored")], restored),
        (vec![("state", "incomplete")], incomplete),
    ])
}

fn detected(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
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
