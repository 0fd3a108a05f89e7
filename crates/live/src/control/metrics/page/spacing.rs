//! The samples of the spacing of packets.

use std::fmt;

use super::Page;
use crate::stats::Stats;

pub(super) fn encode(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(spacing) = stats.spacing else {
        return Ok(());
    };
    page.gauge(
        "spacing_seconds",
        "Time from the start of a packet to that of the next.",
    )
    .sample(&[], spacing.spacing_us / 1e6)?;
    let rate = spacing.rate_bit_per_s;
    page.gauge(
        "spacing_rate_bytes_per_second",
        "Rate of packets of applications that the spacing permits.",
    )
    .samples(rate.map(|rate| (vec![], rate as f64 / 8.0)))?;
    page.gauge(
        "spacing_waiting_packets",
        "Packets that wait for their time.",
    )
    .sample(&[], spacing.waiting as f64)?;
    page.gauge(
        "spacing_wait_seconds",
        "Time for which the oldest packet has waited.",
    )
    .sample(&[], spacing.wait_ms / 1e3)
}
