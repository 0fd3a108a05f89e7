//! The text about the spacing of packets.

use serde_json::Value;

/// A line about the spacing of packets; empty without one.
pub(super) fn line(state: &Value) -> String {
    let spacing = &state["spacing"];
    let of = |key: &str| spacing[key].as_f64();
    let (Some(microseconds), Some(waiting), Some(wait)) =
        (of("spacing_us"), of("waiting"), of("wait_ms"))
    else {
        return String::new();
    };
    let rate = of("rate_bit_per_s").map_or_else(
        || "any rate".to_owned(),
        |rate| format!("up to {:.2} Mbit/s", rate / 1e6),
    );
    let queue = if waiting > 0.0 {
        format!("{waiting} packets wait, for up to {wait:.1} ms")
    } else {
        "none waits".to_owned()
    };
    format!(
        "packets leave {microseconds:.0} us apart, {rate}: {queue}, {} dropped\n",
        spacing["dropped"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_states_the_spacing_its_rate_and_the_queue() {
        assert_eq!(line(&json!({ "spacing": null })), "");
        let mut state = json!({ "spacing": {
            "spacing_us": 1600.4, "rate_bit_per_s": 6_250_000, "rtt_ms": 40.0, "waiting": 12,
            "wait_ms": 19.2, "dropped": 3,
        } });
        assert_eq!(
            line(&state),
            "packets leave 1600 us apart, up to 6.25 Mbit/s: 12 packets wait, for up to 19.2 ms, \
             3 dropped\n"
        );
        state["spacing"] = json!({ "spacing_us": 0.0, "waiting": 0, "wait_ms": 0.0, "dropped": 0 });
        assert_eq!(
            line(&state),
            "packets leave 0 us apart, any rate: none waits, 0 dropped\n"
        );
    }
}
