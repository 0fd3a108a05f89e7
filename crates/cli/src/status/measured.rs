//! The text about what a policy measures by itself.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::word;

/// The guard time that runs, as an addition to the line about the policy; empty if none does.
pub(super) fn guard(policy: &Value) -> String {
    let Some(remaining) = policy["guard"]["remaining_ms"].as_f64() else {
        return String::new();
    };
    let seconds = remaining / 1e3;
    match policy["guard"]["to"].as_str() {
        Some(to) => format!(", to {to} in {seconds:.1} s if that is still better"),
        None => format!(", no other switch for {seconds:.1} s"),
    }
}

/// A line about each path that the policy measures, and one about the flows on each.
pub(super) fn paths(state: &Value) -> String {
    let mut text = String::new();
    let all = || state["paths"].as_array().into_iter().flatten();
    let flows = all().filter_map(|path| {
        let flows = path["flows"].as_u64()?;
        Some(format!("{flows} on {}", word(&path["name"])))
    });
    let flows: Vec<String> = flows.collect();
    if !flows.is_empty() {
        let _ = writeln!(text, "flows: {}", flows.join(", "));
    }
    for path in all() {
        let measured = |key: &str| path["measured"][key].as_f64();
        if let (Some(rtt), Some(short), Some(long)) = (
            measured("rtt_ms"),
            measured("short_average_ms"),
            measured("long_average_ms"),
        ) {
            let _ = writeln!(
                text,
                "measured by the policy on {}: RTT {rtt:.1} ms; short-term average {short:.1} ms, \
                 long-term {long:.1} ms",
                word(&path["name"])
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn measurements_and_a_guard_time_are_described() {
        let state = json!({ "paths": [
            { "name": "lte", "measured": {
                "rtt_ms": 40.25, "short_average_ms": 44.0, "long_average_ms": 39.0 } },
            { "name": "dsl" },
        ] });
        let by_flow = json!({ "paths": [
            { "name": "lte", "flows": 2 }, { "name": "dsl", "flows": 0 },
        ] });
        assert_eq!(paths(&by_flow), "flows: 2 on lte, 0 on dsl\n");
        assert_eq!(
            paths(&state),
            "measured by the policy on lte: RTT 40.2 ms; short-term average 44.0 ms, long-term 39.0 ms\n"
        );
        let with = |running: Value| guard(&json!({ "guard": running }));
        assert_eq!(with(Value::Null), "");
        assert_eq!(
            with(json!({ "to": "dsl", "remaining_ms": 1250 })),
            ", to dsl in 1.2 s if that is still better"
        );
        assert_eq!(
            with(json!({ "remaining_ms": 900 })),
            ", no other switch for 0.9 s"
        );
    }
}
