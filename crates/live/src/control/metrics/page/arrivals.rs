//! The samples of the peer's packets as they arrive.

use std::fmt;

use super::Page;
use crate::stats::Stats;

pub(super) fn encode(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let arrivals = stats.arrivals;
    page.counter(
        "packets_arrived_total",
        "Packets of the peer that arrived, each once.",
    )
    .sample(&[], arrivals.packets)?;
    page.gauge(
        "packets_missing",
        "Packets of the peer that have not arrived yet, though newer ones have.",
    )
    .sample(&[], arrivals.missing as f64)?;
    page.counter(
        "packets_reordered_total",
        "Packets of the peer that arrived after a newer one.",
    )
    .sample(&[], arrivals.reordered)?;
    page.gauge(
        "jitter_seconds",
        "Interarrival jitter of the peer's packets (RFC 3550).",
    )
    .sample(&[], arrivals.jitter_ms / 1e3)
}
