//! The state of a node as text for a terminal.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table};
use polypath_report::table::RULED;
use serde_json::Value;

use super::{arrivals, congestion, measured, policy, spacing, traffic};

/// The maximum length of a path's name in the table, in characters.
const MAX_NAME: usize = 12;

/// The columns of the table of paths.
const COLUMNS: [&str; 10] = [
    "path",
    "state",
    "RTT\nms",
    "jitter\nms",
    "loss\n%",
    "MTU\nB",
    "sent\nMbit/s",
    "received\nMbit/s",
    "silences",
    "idle\ns",
];

/// Renders the status of a node; a dash for unknown values.
pub(super) fn render(state: &Value) -> String {
    let mut text = format!("{}\n{}", node(state), policy::lines(state));
    let _ = writeln!(text, "{}", paths(state));
    text += "loss: heartbeats or their answers lost, in either direction\n";
    text += &incomplete_paths(state);
    text += &traffic::limited_paths(state);
    let _ = writeln!(text, "{}", traffic::volumes(state));
    text += &traffic::classes(state);
    text += &repairs(state);
    text += &congestion::lines(state);
    text += &measured::paths(state);
    text += &arrivals::line(state);
    text += &spacing::line(state);
    for (title, counts) in [
        ("packets dropped", &state["dropped"]),
        ("datagrams rejected", &state["session"]["rejected"]),
    ] {
        let _ = writeln!(text, "{title}: {}", counted(counts));
    }
    for path in state["paths"].as_array().into_iter().flatten() {
        let count = |key: &str| path[key].as_u64().unwrap_or(0);
        if count("misplaced") > count("authentic") {
            let _ = writeln!(
                text,
                "most datagrams on {} belong to another path: the `[[path]]` tables of the nodes differ in order",
                word(&path["name"])
            );
        }
    }
    if let Some(error) = state["reloads"]["last_error"].as_str() {
        let _ = writeln!(text, "the last reload was refused: {error}");
    }
    // Names must not control the terminal.
    text.retain(|c| c == '\n' || !c.is_control());
    text
}

fn node(state: &Value) -> String {
    let session = match state["session"]["age_s"].as_f64() {
        Some(age) => format!("session established, keys {} old", span(age)),
        None => "no session".to_owned(),
    };
    format!(
        "{}: polypath {}, up {}; {session}",
        word(&state["tun_name"]),
        word(&state["software"]),
        state["uptime_s"].as_f64().map_or_else(dash, span),
    )
}

fn paths(state: &Value) -> Table {
    let mut table = Table::new();
    table
        .load_style(RULED)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(COLUMNS);
    for column in table.column_iter_mut() {
        column
            .set_constraint(ColumnConstraint::ContentWidth)
            .set_padding((0, 1));
    }
    for path in state["paths"].as_array().into_iter().flatten() {
        table.add_row(row(path));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(path: &Value) -> [String; 10] {
    let (liveness, rate) = (&path["liveness"], &path["rate"]);
    let scaled = |value: &Value, by: f64, digits: usize| {
        let value = value.as_f64();
        value.map_or_else(dash, |value| format!("{:.digits$}", value * by))
    };
    let number = |value: &Value| {
        value
            .as_u64()
            .map_or_else(dash, |number| number.to_string())
    };
    [
        truncated(word(&path["name"])),
        state_of(path),
        scaled(&liveness["rtt_ms"], 1.0, 1),
        scaled(&liveness["rttvar_ms"], 1.0, 1),
        scaled(&liveness["loss"], 100.0, 1),
        number(&path["mtu_bytes"]),
        scaled(&rate["sent_bit_per_s"], 1e-6, 3),
        scaled(&rate["received_bit_per_s"], 1e-6, 3),
        number(&liveness["silences"]),
        scaled(&path["last_received_s"], 1.0, 1),
    ]
}

/// Truncates a name to [`MAX_NAME`] characters, with an ellipsis.
fn truncated(name: String) -> String {
    if name.chars().count() <= MAX_NAME {
        return name;
    }
    let kept = name.chars().take(MAX_NAME - 1);
    kept.chain(['\u{2026}']).collect()
}

/// The state of a path: what it lacks, whether it is closed, or else the state from heartbeats.
fn state_of(path: &Value) -> String {
    let is = |key: &str| path["usage"][key] == true;
    match path["missing"]["kind"].as_str() {
        Some(what) => format!("no {what}"),
        None if is("closed") || is("closed_by_peer") => "closed".to_owned(),
        None => word(&path["liveness"]["state"]),
    }
}

/// A line for each path that lacks an interface, address or uplink.
fn incomplete_paths(state: &Value) -> String {
    let mut text = String::new();
    for path in state["paths"].as_array().into_iter().flatten() {
        let missing = &path["missing"];
        if let Some(what) = missing["kind"].as_str() {
            let (path, name) = (word(&path["name"]), missing["name"].as_str());
            let name = name.map_or_else(String::new, |name| format!(" {name}"));
            let _ = writeln!(text, "{path} waits for {what}{name}");
        }
    }
    text
}

/// Lines about repairs, the order of packets and reports of paths; empty under a policy without them.
fn repairs(state: &Value) -> String {
    let mut text = String::new();
    let (repair, order) = (&state["repair"], &state["order"]);
    if repair.is_object() {
        let bytes = |key: &str| repair[key].as_f64().unwrap_or(0.0);
        let extra = bytes("repair_bytes") + bytes("copy_bytes");
        let share = 100.0 * extra / bytes("packet_bytes").max(1.0);
        let _ = writeln!(
            text,
            "to the peer: {} packets, and {} repairs and {} copies, {share:.1} % more bytes\n\
             missing in reports and not repaired: {} too late, {} beyond the budget",
            repair["packets"],
            repair["repairs"],
            repair["copies"],
            repair["given_up"],
            repair["unaffordable"],
        );
    }
    if order.is_object() {
        let _ = writeln!(
            text,
            "held until earlier packets arrived: {} packets, {} of them in vain",
            order["held"], order["expired"],
        );
    }
    for path in state["paths"].as_array().into_iter().flatten() {
        let delivery = |key: &str| path["delivery"][key].as_f64();
        if let (Some(delay), Some(queueing), Some(loss)) = (
            delivery("one_way_ms"),
            delivery("queueing_ms"),
            delivery("loss"),
        ) {
            let (name, loss) = (word(&path["name"]), 100.0 * loss);
            let repair = delivery("repair_ms").map_or_else(String::new, |repair| {
                format!(", repaired after {repair:.1} ms")
            });
            let late = if path["delivery"]["repair_is_late"] == true {
                ", beyond the deadline"
            } else {
                ""
            };
            let capacity = delivery("capacity_bit_per_s").map_or_else(String::new, |capacity| {
                format!("; carries {:.2} Mbit/s", capacity / 1e6)
            });
            let _ = writeln!(
                text,
                "reported of {name}: {delay:.1} ms one way, {queueing:.1} ms of them in queues; \
                 {loss:.1} % lost{repair}{late}{capacity}"
            );
        }
    }
    text
}

/// Counts with their reasons, without zeros.
fn counted(counts: &Value) -> String {
    let counts = counts.as_object().into_iter().flatten();
    let counts: Vec<String> = counts
        .filter(|(_, count)| count.as_u64() != Some(0))
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts.join(", ")
}

fn span(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3600.0, "h"), (60.0, "min")];
    let unit = units.into_iter().find(|(unit, _)| seconds >= 2.0 * unit);
    let (unit, name) = unit.unwrap_or((1.0, "s"));
    format!("{:.0} {name}", (seconds / unit).floor())
}

pub(super) fn word(value: &Value) -> String {
    value.as_str().map_or_else(dash, str::to_owned)
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> Value {
        json!({
            "version": 2, "software": "0.1.0", "uptime_s": 7300.5, "tun_name": "pp0",
            "policy": { "kind": "probe-and-switch", "active": "lte", "switches": 3,
                "parameters": { "path": 1, "hysteresis": true } },
            "reloads": { "applied": 2, "refused": 1, "last_error": "restart the node\u{1b}[2J" },
            "established": true,
            "tun": {
                "from_applications": { "packets": 10, "bytes": 12_340 },
                "to_applications": { "packets": 9, "bytes": 900 },
                "refused": 0,
            },
            "paths": [
                {
                    "name": "lte", "last_received_s": 0.04, "mtu_bytes": 1492,
                    "rate": { "sent_bit_per_s": 1_250_000, "received_bit_per_s": 0 },
                    "liveness": {
                        "state": "live", "rtt_ms": 41.26, "rttvar_ms": 2.5, "loss": 0.015, "silences": 1,
                    },
                },
                { "name": "a very long name of a path", "last_received_s": null, "liveness": null },
                { "name": "crossed", "authentic": 1, "misplaced": 9, "liveness": null },
                { "name": "new", "liveness": { "state": "unproven", "loss": null, "silences": 0 } },
                {
                    "name": "usb", "liveness": { "state": "unproven" },
                    "missing": { "kind": "interface", "name": "usb0" },
                },
            ],
            "dropped": { "duplicate": 12, "not-ip": 0 },
            "session": { "age_s": 59.9, "rejected": { "bad-mac": 0 } },
        })
    }

    #[test]
    fn all_values_are_shown_with_their_units() {
        let text = render(&state());
        for part in [
            "pp0: polypath 0.1.0, up 2 h; session established, keys 59 s old\n",
            "policy probe-and-switch, data on lte, 3 switches; 2 reloads, 1 refused\n\
             parameters: hysteresis true, path 1\n",
            "from applications: 10 packets, 12.3 kB\nto applications: 9 packets, 900 B; refused",
            "\nloss: heartbeats or their answers lost, in either direction\n",
            "packets dropped: duplicate 12\n",
            "\nusb waits for interface usb0\n",
            "datagrams rejected: none\n",
            "most datagrams on crossed belong to another path: ",
            "the last reload was refused: restart the node[2J\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let of = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap();
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let lte = [
            "lte", "live", "41.3", "2.5", "1.5", "1492", "1.250", "0.000", "1", "0.0",
        ];
        assert_eq!(of("lte"), lte);
        assert_eq!(of("new")[..5], ["new", "unproven", "-", "-", "-"]);
        assert!(text.contains("\na very long… "), "{text}");
        assert!(of("a very long").ends_with(&["-".to_owned(), "-".to_owned()]));
        assert_eq!(of("usb ")[..3], ["usb", "no", "interface"]);
        assert!(text.lines().all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn repairs_and_held_packets_are_shown_under_a_policy_with_them() {
        let mut state = state();
        for key in ["repair", "order"] {
            state[key] = Value::Null;
        }
        let without = render(&state);
        assert!(
            !without.contains("repair") && !without.contains("held"),
            "{without}"
        );
        state["repair"] = json!({
            "packets": 1000, "packet_bytes": 1_000_000, "copies": 7, "copy_bytes": 7000,
            "repairs": 20, "repair_bytes": 20_000, "given_up": 3, "unaffordable": 2, "reports": 9,
        });
        state["order"] = json!({ "held": 40, "expired": 1 });
        state["paths"][0]["delivery"] =
            json!({ "one_way_ms": 20.06, "queueing_ms": 0.5, "loss": 0.01, "repair_ms": 75.16 });
        let mut limited = state.clone();
        limited["paths"][0]["delivery"]["capacity_bit_per_s"] = json!(4_000_000);
        assert!(
            render(&limited).contains("1.0 % lost, repaired after 75.2 ms; carries 4.00 Mbit/s\n")
        );
        let mut late = state.clone();
        late["paths"][0]["delivery"]["repair_is_late"] = json!(true);
        assert!(render(&late).contains("repaired after 75.2 ms, beyond the deadline\n"));
        let text = render(&state);
        for line in [
            "to the peer: 1000 packets, and 20 repairs and 7 copies, 2.7 % more bytes\n",
            "missing in reports and not repaired: 3 too late, 2 beyond the budget\n",
            "held until earlier packets arrived: 40 packets, 1 of them in vain\n\
             reported of lte: 20.1 ms one way, 0.5 ms of them in queues; 1.0 % lost, \
             repaired after 75.2 ms\npackets dropped",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn limited_paths_are_shown_with_their_use() {
        let mut state = state();
        assert!(!render(&state).contains("quota"));
        state["paths"][0]["usage"] = json!({
            "quota_bytes": 20_000_000, "used_bytes": 4_999_600, "ceiling_bit_per_s": 2_000_000,
            "closed": false, "closed_by_peer": false,
        });
        let line =
            "lte: 5.000 MB of 20.000 MB used, 25.0 % of its quota; sends at most 2.000 Mbit/s\n";
        let text = render(&state);
        assert!(text.contains(line) && !text.contains("closed"), "{text}");
        let mut cost = state.clone();
        cost["paths"][0]["cost"] = json!(2);
        assert!(render(&cost).contains("lte: cost tier 2; 5.000 MB of"));
        let with = |keys: Value| {
            let mut state = state.clone();
            let usage = state["paths"][0]["usage"].as_object_mut().unwrap();
            usage.extend(keys.as_object().unwrap().clone());
            render(&state)
        };
        let monthly = json!({ "quota_bytes": 20_000_000_000_u64, "used_bytes": 1_250_000_000,
            "renews": "monthly", "renews_on": "2026-12-15" });
        let line =
            "lte: 1.250 GB of 20.000 GB used, 6.2 % of its quota; renews on 2026-12-15; sends";
        assert!(with(monthly.clone()).contains(line), "{}", with(monthly));
        assert!(with(json!({ "renews": "never" })).contains("; never renews; "));
        let unsaved = with(json!({ "unsaved": true, "closed": true }));
        assert!(
            unsaved.contains("; carries nothing until the state file"),
            "{unsaved}"
        );
        for key in ["closed", "closed_by_peer"] {
            let mut closed = state.clone();
            closed["paths"][0]["usage"][key] = json!(true);
            let text = render(&closed);
            let is_row = |line: &str| line.starts_with("lte ") && line.contains(" closed ");
            assert!(text.lines().any(is_row), "{text}");
            assert!(text.contains("; carries nothing"), "{text}");
        }
    }

    #[test]
    fn each_class_has_a_line() {
        let mut state = state();
        assert!(!render(&state).contains("class "));
        state["classes"] = json!([
            { "name": "voice", "treatment": "media", "deadline_ms": 60.0, "packets": 120, "bytes": 24_000 },
            { "name": "all else", "treatment": "single-path", "packets": 0, "bytes": 0 },
        ]);
        let text = render(&state);
        let lines = "\nclass voice, media within 60 ms: 120 packets, 24.0 kB\n\
                     class all else, single-path: 0 packets, 0 B\n";
        assert!(text.contains(lines), "{text}");
    }

    #[test]
    fn missing_values_of_another_version_are_shown_as_dashes() {
        let text = render(&json!({}));
        assert!(
            text.starts_with("-: polypath -, up -; no session\n"),
            "{text}"
        );
    }
}
