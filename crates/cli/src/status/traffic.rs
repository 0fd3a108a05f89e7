//! The text about the traffic: of applications, of classes, and of paths that are limited.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::word;

/// A line for each path whose traffic is limited, or which the peer has closed.
pub(super) fn limited_paths(state: &Value) -> String {
    let mut text = String::new();
    for path in state["paths"].as_array().into_iter().flatten() {
        let (name, usage) = (word(&path["name"]), &path["usage"]);
        let number = |key: &str| usage[key].as_f64();
        let mut parts = Vec::new();
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
        "from applications: {}\nto applications: {}; refused by the kernel: {} packets",
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
        let _ = writeln!(
            text,
            "class {}: {} packets, {}",
            word(&class["name"]),
            class["packets"],
            bytes(size)
        );
    }
    text
}

/// A number of bytes with a unit in which it is at least 1, to 100 B or three decimals.
fn bytes(count: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(factor, _)| count >= *factor);
    match unit {
        Some((factor, unit)) => {
            let decimals = if factor > 1e3 { 3 } else { 1 };
            format!("{:.decimals$} {unit}", count / factor)
        }
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_of_which_there_is_one() {
        for (count, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.0 kB"),
            (346_455_200.0, "346.455 MB"),
            (2e9, "2.000 GB"),
            (1.5e15, "1500.000 TB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
