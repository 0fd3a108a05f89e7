//! The samples of paths with a ceiling or quota.

use std::fmt;

use super::Page;
use crate::stats::{PathStats, UsageStats};

pub(super) fn encode(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    let limited = || {
        let usage = |path: &'_ PathStats| path.usage;
        paths
            .iter()
            .filter_map(move |path| Some((&*path.name, usage(path)?)))
    };
    let bytes = |of: fn(&UsageStats) -> Option<u64>| {
        let samples =
            limited().filter_map(|(name, usage)| Some((vec![("path", name)], of(&usage)? as f64)));
        samples.collect::<Vec<_>>()
    };
    page.gauge(
        "path_used_bytes",
        "Bytes of the quota that are used, in both directions.",
    )
    .samples(bytes(|usage| usage.used_bytes))?;
    page.gauge("path_quota_bytes", "The quota of the path.")
        .samples(bytes(|usage| usage.quota_bytes))?;
    let closed = limited().flat_map(|(name, usage)| {
        let by = [("node", usage.closed), ("peer", usage.closed_by_peer)];
        by.map(|(by, is_closed)| {
            let labels = vec![("path", name), ("by", by)];
            (labels, f64::from(u8::from(is_closed)))
        })
    });
    page.gauge(
        "path_closed",
        "Whether the path carries nothing because a quota is used up.",
    )
    .samples(closed)
}
