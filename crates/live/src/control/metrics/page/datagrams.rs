//! The samples of the datagrams of each path.

use std::fmt;

use super::Page;
use crate::stats::{PathStats, Volume};

pub(super) fn encode(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    volumes(page, paths)?;
    outcomes(page, paths)
}

fn volumes(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    let directions = |path: &PathStats| [("sent", path.sent), ("received", path.received)];
    let both = |of: fn(Volume) -> u64| {
        paths.iter().flat_map(move |path| {
            let sample = move |(direction, volume)| {
                (
                    vec![("path", &*path.name), ("direction", direction)],
                    of(volume),
                )
            };
            directions(path).map(sample)
        })
    };
    page.counter("path_datagrams_total", "Datagrams of a path, of all kinds.")
        .samples(both(|volume| volume.packets))?;
    page.counter(
        "path_bytes_total",
        "Bytes of these on the wire, IP headers included.",
    )
    .samples(both(|volume| volume.bytes))
}

fn outcomes(page: &mut Page<'_>, paths: &[PathStats]) -> fmt::Result {
    let each = |of: fn(&PathStats) -> u64| {
        paths
            .iter()
            .map(move |path| (vec![("path", &*path.name)], of(path)))
    };
    page.counter(
        "path_authentic_datagrams_total",
        "Datagrams received that are authentic and not replayed.",
    )
    .samples(each(|path| path.authentic))?;
    page.counter(
        "path_marked_datagrams_total",
        "Datagrams received with the mark of a congested link (CE).",
    )
    .samples(each(|path| path.marked))?;
    page.counter(
        "path_unsent_datagrams_total",
        "Datagrams that the kernel did not send.",
    )
    .samples(each(|path| path.unsent))?;
    page.counter(
        "path_too_long_datagrams_total",
        "Of these, datagrams that exceed the MTU of the interface.",
    )
    .samples(each(|path| path.too_long))?;
    page.counter(
        "path_kernel_dropped_datagrams_total",
        "Datagrams that the kernel dropped before they were read.",
    )
    .samples(each(|path| path.kernel_dropped))?;
    page.counter(
        "path_unaddressed_datagrams_total",
        "Datagrams not sent because the peer's address was not known yet.",
    )
    .samples(each(|path| path.unaddressed))
}
