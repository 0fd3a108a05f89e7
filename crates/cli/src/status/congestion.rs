//! The text about the peer's copies and fragments.

use std::fmt::Write as _;

use serde_json::Value;

/// Lines about the windows of copies, the signals, and the packets in fragments; empty under a
/// policy without them.
pub(super) fn lines(state: &Value) -> String {
    let mut text = String::new();
    let congestion = &state["congestion"];
    if congestion.is_object() {
        let _ = writeln!(
            text,
            "copies from the peer: congestion in {} of {} windows, dropouts in {}\n\
             signals to its flows: {} marks, {} drops; {} packets could not carry a mark",
            congestion["congested"],
            congestion["windows"],
            congestion["dropouts"],
            congestion["marked"],
            congestion["dropped"],
            congestion["unmarkable"],
        );
    }
    let fragments = &state["fragments"];
    if fragments.is_object() {
        let _ = writeln!(
            text,
            "packets from the peer in fragments: {} restored, {} incomplete",
            fragments["restored"], fragments["incomplete"],
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn congestion_is_described_under_a_policy_that_looks_for_it() {
        assert_eq!(lines(&json!({ "congestion": null })), "");
        let state = json!({ "congestion": {
            "windows": 90, "congested": 3, "dropouts": 5,
            "marked": 7, "dropped": 1, "unmarkable": 2,
        } });
        assert_eq!(
            lines(&state),
            "copies from the peer: congestion in 3 of 90 windows, dropouts in 5\n\
             signals to its flows: 7 marks, 1 drops; 2 packets could not carry a mark\n"
        );
    }

    #[test]
    fn packets_in_fragments_are_counted() {
        assert_eq!(lines(&json!({ "fragments": null })), "");
        let state = json!({ "fragments": { "restored": 12, "incomplete": 1 } });
        assert_eq!(
            lines(&state),
            "packets from the peer in fragments: 12 restored, 1 incomplete\n"
        );
    }
}
