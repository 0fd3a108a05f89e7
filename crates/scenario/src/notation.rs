//! The text notations of scenario files, besides those of rates, sizes and durations.

use polypath_document::{MAX_SIZE, Notation, check_notation};
use polypath_link::QueueLimit;

/// The maximum limit of a queue in packets.
pub(crate) const MAX_PACKETS: u32 = 1_000_000;

/// The notations.
pub(crate) const NOTATIONS: &[Notation] = &[Notation {
    definition: "QueueLimit",
    check: |text, maximum| check_notation(text, maximum, &max_limit(text)),
    example: "50 packets",
}];

/// The maximum limit of a queue, in the unit of the text.
fn max_limit(text: &str) -> QueueLimit {
    let text = text.trim();
    if text.ends_with("packets") || text.ends_with("packet") {
        return QueueLimit::Packets(MAX_PACKETS);
    }
    QueueLimit::Bytes(MAX_SIZE)
}

#[cfg(test)]
mod tests;
