//! What the columns of the tables mean, in the words of the help and of the page.

/// What each column means, and its unit: of the table of schemes, then of the table of paths.
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
        "the transfer's seconds less those of plain TCP in the same round, the mean of the pairs: below 0 is faster",
    ),
    (
        "timed out",
        "transfers that were not complete at transfer.timeout; the means count them with the timeout",
    ),
    (
        "pre-buffer",
        "seconds that playout must wait so as not to stop, at the rate that ends with the file",
    ),
    (
        "overhead",
        "kB that both ends sent on all paths beyond what applications handed over; in brackets bytes sent for \
         each byte handed over",
    ),
    (
        "duplicates discarded",
        "copies that came after the first one",
    ),
    (
        "path switches",
        "how often the server's data changed its path",
    ),
    (
        "harm",
        "what background traffic delivered over what it delivered beside plain TCP: below 1, others lost",
    ),
    (
        "intact",
        "whether every file that came is the one that was sent, by its SHA-256",
    ),
    (
        "direction",
        "to client: data of the transfers; to server: their ACKs",
    ),
    (
        "frames, bytes",
        "what the scheme sent there, kB with all headers",
    ),
    (
        "lost",
        "% of these frames that did not arrive, those under way at the end included",
    ),
    (
        "delay p50",
        "ms from end to end that half of the frames did not exceed",
    ),
    ("p95", "ms that 95 % of them did not exceed"),
    ("p99", "ms that 99 % of them did not exceed"),
    (
        "load",
        "% of the capacity of the path's own links (without those that it shares with others) that all traffic took, background included",
    ),
];

/// The legend as lines for a terminal.
#[must_use]
pub fn lines() -> String {
    let line = |(column, meaning): &(&str, &str)| format!("  {column:<21} {meaning}\n");
    LEGEND.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{PATH_COLUMNS, SCHEME_COLUMNS};

    #[test]
    fn every_column_is_explained() {
        let legend = lines();
        for column in SCHEME_COLUMNS.iter().chain(&PATH_COLUMNS) {
            // The unit stands behind the last line feed of those that have one.
            let words = column.replace('\n', " ");
            let mut names = LEGEND.iter().flat_map(|(names, _)| names.split(", "));
            let explained = *column == "path" || names.any(|name| words.starts_with(name));
            assert!(explained, "{words}: {legend}");
        }
    }
}
