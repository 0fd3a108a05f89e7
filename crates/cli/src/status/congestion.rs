//! The text about the congestion that copies mask.

use std::fmt::Write as _;

use serde_json::Value;

/// Lines about the windows of copies and the signals; empty under a policy without them.
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
}
