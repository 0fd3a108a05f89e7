//! The samples of what a policy measures by itself.

use std::fmt;

use super::Page;
use crate::stats::Stats;

pub(super) fn encode(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let samples = stats.paths.iter().flat_map(|path| {
        let kinds = path.measured.map(|measured| {
            [
                ("smoothed", measured.rtt_ms),
                ("short", measured.short_average_ms),
                ("long", measured.long_average_ms),
            ]
        });
        kinds.into_iter().flatten().map(|(average, in_ms)| {
            let labels = vec![("path", &*path.name), ("average", average)];
            (labels, in_ms / 1e3)
        })
    });
    page.gauge(
        "policy_rtt_seconds",
        "Round-trip time of a path as the policy measures it by itself, by the kind of its average.",
    )
    .samples(samples)?;
    let flows = stats.paths.iter();
    let flows = flows.filter_map(|path| Some((vec![("path", &*path.name)], path.flows?)));
    page.gauge(
        "policy_flows",
        "Flows on a path that have sent lately, where each chooses its path by itself.",
    )
    .samples(flows)?;
    page.gauge(
        "policy_guard_time",
        "1 while a guard time of the policy runs, else 0.",
    )
    .sample(&[], u32::from(stats.policy.guard.is_some()))
}
