//! The text about the traffic: of applications, of classes, and of paths that are limited.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::word;

/// A line for each path that has a cost, whose traffic is limited, or which the peer has closed.
pub(super) fn limited_paths(state: &Value) -> String {
    let mut text = String::new();
    for path in state["paths"].as_array().into_iter().flatten() {
        let (name, usage) = (word(&path["name"]), &path["usage"]);
        let number = |key: &str| usage[key].as_f64();
        let mut parts = Vec::new();
        if let Some(cost) = path["cost"].as_u64().filter(|cost| *cost > 0) {
            parts.push(format!("cost tier {cost}"));
        }
        if let (Some(used), Some(quota)) = (number("used_bytes"), number("quota_bytes")) {
            let share = 100.0 * used / quota;
            let (used, quota) = (bytes(used), bytes(quota));
            parts.push(format!("{used} of {quota} used, {share:.1} % of its quota"));
        }
        match (usage["renews"].as_str(), usage["renews_on"].as_str()) {
            (_, Some(day)) => parts.push(format!("renews on {day}")),
            (Some("never"), None) => parts.push("never renews".to_owned()),
            _ => {}
        }
        if let Some(ceiling) = number("ceiling_bit_per_s") {
            parts.push(format!("sends at most {:.3} Mbit/s", ceiling / 1e6));
        }
        if usage["unsaved"] == true {
            let consequence = if usage["closed"] == true {
                "carries nothing until"
            } else {
                "closes soon unless"
            };
            parts.push(format!("{consequence} the state file can be written"));
        } else if usage["closed"] == true {
            parts.push("carries nothing until the quota is renewed or raised".to_owned());
        }
        if usage["closed_by_peer"] == true {
            parts.push("carries nothing since the peer's quota is used up".to_owned());
        }
        if !parts.is_empty() {
            let _ = writeln!(text, "{name}: {}", parts.join("; "));
        }
    }
    text
}

/// Lines about the packets of the TUN device.
pub(super) fn volumes(state: &Value) -> String {
    let volume = |name: &str| {
        let volume = &state["tun"][name];
        let size = volume["bytes"].as_f64().unwrap_or(0.0);
        format!("{} packets, {}", volume["packets"], bytes(size))
    };
    format!(
        "from applications: {}\nto applications: {}; refused: {} packets",
        volume("from_applications"),
        volume("to_applications"),
        state["tun"]["refused"]
    )
}

/// A line about each class of packets.
pub(super) fn classes(state: &Value) -> String {
    let mut text = String::new();
    for class in state["classes"].as_array().into_iter().flatten() {
        let size = class["bytes"].as_f64().unwrap_or(0.0);
        let mut treatment = word(&class["treatment"]);
        if let Some(deadline) = class["deadline_ms"].as_f64() {
            // Without the last digits of a conversion from seconds.
            let deadline = (deadline * 1e3).round() / 1e3;
            let _ = write!(treatment, " within {deadline} ms");
        }
        let _ = writeln!(
            text,
            "class {}, {treatment}: {} packets, {}",
            word(&class["name"]),
            class["packets"],
            bytes(size)
        );
    }
    text
}

/// A number of bytes in the smallest unit in which it is below 1000 after rounding, at most TB:
/// with one decimal in kB, and three in larger units.
fn bytes(count: f64) -> String {
    for (unit, factor, decimals) in [
        ("B", 1.0, 0),
        ("kB", 1e3, 1),
        ("MB", 1e6, 3),
        ("GB", 1e9, 3),
    ] {
        let rounded = format!("{:.decimals$}", count / factor);
        if rounded.parse().is_ok_and(|value: f64| value < 1000.0) {
            return format!("{rounded} {unit}");
        }
    }
    format!("{:.3} TB", count / 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_smallest_unit_in_which_they_are_below_1000() {
        for (count, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.0 kB"),
            (999_949.0, "999.9 kB"),
            (999_950.0, "1.000 MB"),
            (999_999.0, "1.000 MB"),
            (999_999_499.0, "999.999 MB"),
            (999_999_600.0, "1.000 GB"),
            (999_999_600_000.0, "1.000 TB"),
            (346_455_200.0, "346.455 MB"),
            (2e9, "2.000 GB"),
            (1.5e15, "1500.000 TB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
