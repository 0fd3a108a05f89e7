//! The text about the peer's packets as they arrive.

use serde_json::Value;

/// A line about the packets of the peer; empty before the first.
pub(super) fn line(state: &Value) -> String {
    let arrivals = &state["arrivals"];
    let count = |key: &str| arrivals[key].as_u64().unwrap_or_default();
    let packets = count("packets");
    if packets == 0 {
        return String::new();
    }
    let missing = count("missing");
    let share = 100.0 * missing as f64 / (packets + missing) as f64;
    let jitter = arrivals["jitter_ms"].as_f64().unwrap_or_default();
    format!(
        "of the peer {packets} packets arrived, {missing} are missing ({share:.3} %), {} arrived out of order; \
         jitter {jitter:.2} ms\n",
        count("reordered"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_states_losses_order_and_jitter() {
        assert_eq!(line(&json!({})), "");
        let mut state =
            json!({ "arrivals": { "packets": 0, "missing": 0, "reordered": 0, "jitter_ms": 0.0 } });
        assert_eq!(line(&state), "");
        state["arrivals"] =
            json!({ "packets": 990, "missing": 10, "reordered": 3, "jitter_ms": 1.236 });
        assert_eq!(
            line(&state),
            "of the peer 990 packets arrived, 10 are missing (1.000 %), 3 arrived out of order; jitter 1.24 ms\n"
        );
    }
}
