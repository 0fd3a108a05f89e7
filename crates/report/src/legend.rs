//! The meaning of the columns of the tables, for `--help` and the page.

use std::fmt::Write as _;

/// The meaning and unit of each column: of the table of schemes, then of the table of paths.
pub const LEGEND: [(&str, &str); 17] = [
    (
        "scheme",
        "tcp: plain TCP on the first path; ppd-tcp1: ACKs on every path; ppd-tcp2: everything on every path; \
         ppd-tcp3: ACKs on every path, data on the best",
    ),
    (
        "transfer",
        "seconds from the request to the last byte, mean +- half of the 95 % interval (Student's t)",
    ),
    (
        "minus tcp",
        "seconds minus those of plain TCP in the same round, mean of the pairs: below 0 is faster",
    ),
    (
        "timed out",
        "transfers that were not complete at transfer.timeout; the means count them with the timeout",
    ),
    (
        "pre-buffer",
        "seconds that playout must wait so that it never stalls, at the rate that ends with the file",
    ),
    (
        "overhead",
        "kB that both ends sent on all paths beyond the hosts' packets; in brackets bytes sent per byte \
         of these packets",
    ),
    (
        "duplicates discarded",
        "copies that arrived after the first",
    ),
    ("path switches", "path changes of the server's data"),
    (
        "harm",
        "background bytes delivered, over those delivered next to plain TCP: below 1, other users lost",
    ),
    (
        "intact",
        "whether every received file equals the sent one, by SHA-256",
    ),
    (
        "direction",
        "to client: data of the transfers; to server: their ACKs",
    ),
    ("frames, bytes", "sent by the scheme, kB with all headers"),
    (
        "lost",
        "% of these frames that did not arrive, including those in flight at the end",
    ),
    (
        "delay p50",
        "one-way delay in ms that half of the frames did not exceed",
    ),
    ("p95", "ms that 95 % of them did not exceed"),
    ("p99", "ms that 99 % of them did not exceed"),
    (
        "load",
        "% of the capacity of the path's own links (without shared ones) that all traffic used, background included",
    ),
];

/// The meaning and unit of each column of the tables of a media stream, those of a lab last.
pub const MEDIA_LEGEND: [(&str, &str); 17] = [
    (
        "at",
        "% of the packets that took longer than this deadline, or are lost",
    ),
    (
        "p50, p99, p99.9",
        "one-way delay in ms that this share of the delivered packets did not exceed",
    ),
    ("lost", "% of the packets that were never delivered"),
    ("longest gap", "ms, the longest time without a delivery"),
    (
        "reordered",
        "% of the delivered packets that a later one overtook",
    ),
    (
        "direction, kind",
        "the frames of all runs by direction, and by kind as in event streams",
    ),
    ("frames", "the number of these frames"),
    (
        "bytes over payload",
        "their bytes with all headers, over the bytes of the stream",
    ),
    (
        "us a packet",
        "processor time of the nodes or programs over packets delivered; - for a transport of the \
         kernel",
    ),
    (
        "dropped",
        "packets that the kernel dropped at full queues, before the emulated network",
    ),
    (
        "refused",
        "packets that left the emulated network, and that the kernel refused",
    ),
    (
        "path, share",
        "% of the bytes with all headers that are on this path",
    ),
    (
        "seed, groups",
        "the seed of the run, and the number of groups of policies: those of a group ran at once",
    ),
    (
        "lateness p99",
        "ms of lateness that 99 % of the packets in the emulated links did not exceed",
    ),
    (
        "at most",
        "ms, the bound on lateness p99 beyond which the run is invalid",
    ),
    ("longest", "ms, the longest lateness"),
    (
        "counts",
        "whether the machine was fast enough for the run to count",
    ),
];

/// The legends as lines for a terminal.
#[must_use]
pub fn lines() -> String {
    let mut text = String::new();
    for (title, legend) in [
        ("Columns of the report on transfers:", &LEGEND[..]),
        (
            "\nColumns of the report on a media stream:",
            &MEDIA_LEGEND[..],
        ),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{title}");
        for (column, meaning) in legend {
            let _ = writeln!(text, "  {column:<21} {meaning}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{PATH_COLUMNS, SCHEME_COLUMNS};

    #[test]
    fn every_column_is_explained() {
        let legend = lines();
        for column in SCHEME_COLUMNS.iter().chain(&PATH_COLUMNS) {
            // The unit follows the last line feed, if there is one.
            let words = column.replace('\n', " ");
            let mut names = LEGEND.iter().flat_map(|(names, _)| names.split(", "));
            let explained = *column == "path" || names.any(|name| words.starts_with(name));
            assert!(explained, "{words}: {legend}");
        }
    }
}
