//! The text about the policy.

use serde_json::Value;

use super::measured;
use super::table::word;

/// A line about the policy, and one with its parameters if it has any.
pub(super) fn lines(state: &Value) -> String {
    let policy = &state["policy"];
    let active = policy["active"].as_str();
    let active = active.map_or_else(String::new, |path| format!(", data on {path}"));
    let line = format!(
        "policy {}{active}, {} switches{}; {} reloads, {} refused\n",
        word(&policy["kind"]),
        policy["switches"],
        measured::guard(policy),
        state["reloads"]["applied"],
        state["reloads"]["refused"],
    );
    match parameters(&policy["parameters"]) {
        Some(parameters) => format!("{line}parameters: {parameters}\n"),
        None => line,
    }
}

/// The parameters with their keys, those of a table in brackets; `None` if there are none.
fn parameters(table: &Value) -> Option<String> {
    let stated = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(_) => Some(format!("({})", parameters(value)?)),
        Value::Array(items) if items.is_empty() => None,
        other => Some(other.to_string()),
    };
    let entries = table.as_object().into_iter().flatten();
    let parts = entries.filter_map(|(key, value)| Some(format!("{key} {}", stated(value)?)));
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_parameters_in_force_are_shown() {
        let with = |parameters: Value| {
            let text = lines(&json!({ "policy": { "kind": "some", "parameters": parameters } }));
            let (_, rest) = text.split_once('\n').unwrap();
            rest.to_owned()
        };
        let in_time = json!({ "deadline": "200 ms", "redundancy": 0.1, "order": "tcp" });
        let line = "parameters: deadline 200 ms, order tcp, redundancy 0.1\n";
        assert_eq!(with(in_time), line);
        let delay_centric = json!({
            "guard": { "kind": "confirm", "least": "1 s", "most": "4 s" }, "hysteresis": "10 ms",
        });
        let line = "parameters: guard (kind confirm, least 1 s, most 4 s), hysteresis 10 ms\n";
        assert_eq!(with(delay_centric), line);
        let single = with(json!({ "path": 0, "leave": null }));
        assert_eq!(single, "parameters: path 0\n");
        assert_eq!(
            with(json!({ "weights": [3, 1] })),
            "parameters: weights [3,1]\n"
        );
        // `duplicate-all`, weights that are not stated, and an older node.
        for none in [json!({}), json!({ "weights": [] }), Value::Null] {
            assert_eq!(with(none), "");
        }
    }
}
