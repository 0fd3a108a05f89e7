//! The samples of the limits of paths.

use std::fmt;

use super::Page;
use crate::stats::{PathStats, UsageStats};

pub(super) fn encode(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    let bytes = |of: fn(&UsageStats) -> Option<u64>| {
        let limited = paths
            .iter()
            .filter_map(|path| Some((&*path.name, of(&path.usage?)?)));
        let samples = limited.map(|(name, value)| (vec![("path", name)], value as f64));
        samples.collect::<Vec<_>>()
    };
    page.gauge(
        "path_used_bytes",
        "Bytes of the quota that are used, in both directions.",
    )
    .samples(bytes(|usage| usage.used_bytes))?;
    page.gauge("path_quota_bytes", "The quota of the path.")
        .samples(bytes(|usage| usage.quota_bytes))?;
    page.gauge(
        "path_ceiling_bytes_per_second",
        "The most that this node sends on the path.",
    )
    .samples(bytes(|usage| usage.ceiling_bit_per_s.map(|rate| rate / 8)))?;
    let closed = paths.iter().flat_map(|path| {
        let usage = path.usage.unwrap_or_default();
        let by = [("node", usage.closed), ("peer", usage.closed_by_peer)];
        by.map(|(by, is_closed)| {
            let labels = vec![("path", &*path.name), ("by", by)];
            (labels, f64::from(u8::from(is_closed)))
        })
    });
    page.gauge(
        "path_closed",
        "Whether the path carries nothing because a quota is used up.",
    )
    .samples(closed)
}
