//! The text about marks of links, and the peer's copies and fragments.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::word;

/// Lines about marks of links, the windows of copies, the signals, and the packets in fragments;
/// empty if there are none.
pub(super) fn lines(state: &Value) -> String {
    let mut text = marked_paths(state);
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
    if sends_copies_instead(state) {
        text += "the peer is older and restores no fragments: it gets full copies\n";
    }
    text
}

/// A line about the datagrams that links marked on their way to this node; empty if none is.
fn marked_paths(state: &Value) -> String {
    let paths = state["paths"].as_array().into_iter().flatten();
    let marked = paths.filter_map(|path| {
        let count = path["marked"].as_u64().filter(|count| *count > 0)?;
        Some(format!("{count} on {}", word(&path["name"])))
    });
    let marked: Vec<String> = marked.collect();
    if marked.is_empty() {
        return String::new();
    }
    format!(
        "datagrams marked by congested links: {}\n",
        marked.join(", ")
    )
}

/// Whether packets would go in fragments if the peer restored them.
fn sends_copies_instead(state: &Value) -> bool {
    let Some(features) = state["features"].as_array() else {
        return false;
    };
    let splits = state["policy"]["parameters"]["recovery"].is_u64();
    splits && state["established"] == true && !features.iter().any(|name| name == "fragments")
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

    #[test]
    fn paths_on_which_links_mark_are_named() {
        let paths = |dsl: u64, lte: u64| {
            lines(&json!({ "paths": [
                { "name": "dsl", "marked": dsl }, { "name": "lte", "marked": lte },
            ] }))
        };
        assert_eq!(paths(0, 0), "");
        assert_eq!(
            paths(0, 7),
            "datagrams marked by congested links: 7 on lte\n"
        );
        assert!(paths(3, 7).contains("3 on dsl, 7 on lte"));
    }

    #[test]
    fn a_peer_that_restores_no_fragments_is_named() {
        let state = |recovery: Value, features: Value| {
            lines(&json!({
                "established": true, "features": features,
                "policy": { "parameters": { "recovery": recovery } },
            }))
        };
        assert!(state(json!(1), json!(["reports"])).contains("full copies"));
        assert_eq!(state(json!(1), json!(["reports", "fragments"])), "");
        assert_eq!(state(Value::Null, json!([])), "");
        assert_eq!(state(json!(1), Value::Null), "", "of an older node");
    }
}
